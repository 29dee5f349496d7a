-- A place is taken (core/src/score.rs, core/src/waiting_room/mod.rs).
--
--   line.push(user, number, parked, composite)   reads JOIN_FIELDS
--   join_stream(stream, place, user, number)     the stream of a user's places
--#include line
local JOIN_FIELDS = {
  'taken', 'line_version', 'last_score', 'moved_ms', 'streams', 'place_ttl_ms', 'seed_hash',
}

-- The score of a place taken now (core/src/score.rs: Scores::next). Without the counter equal
-- scores are told apart by the place's number, so that the order is the same.
local function next_score(composite)
  local last = tonumber(M.last_score)
  local ms = math.min(math.max(now - SCORE_EPOCH_MS, SCORE_FIRST_MS), SCORE_LAST_MS)
  local fresh = ms * SCORE_COUNTER
  if not last or last < fresh then
    return fresh
  end
  if composite then
    return last + 1
  end
  return math.ceil(last / SCORE_COUNTER) * SCORE_COUNTER
end

function line.push(user, number, parked, composite)
  local score, member = next_score(composite), line.member(user, number)
  redis.call('ZADD', parked and K.parked or K.queue, int(score), member)
  if M.opened == '1' then
    redis.call('ZADD', K.lapses, int(now - (tonumber(M.moved_ms) or 0)), member)
  else
    -- Whoever read the line before the opening finds out that it is another by now.
    put_meta('line_version', int(tonumber(M.line_version or '0') + 1))
  end
  put_meta('last_score', int(score))
  put_meta('taken', int(number))
end

-- The event stands in braces in each of its keys.
local EVENT = string.match(K.meta, '{(.-)}')

-- Places are told apart by their numbers, so an entry needs no other id. A stream may be left over
-- from decisions that Redis lost, with higher numbers: it is written anew.
local function join_stream(stream, place, user, number)
  local entry = { 'XADD', stream, int(number) .. '-0', 'token', place, 'event_id', EVENT,
    'user_id', user, 'timestamp', int(math.floor(now / 1000)) }
  if redis.pcall(unpack(entry)).err then
    redis.call('DEL', stream)
    redis.call(unpack(entry))
  end
  if M.streams ~= '1' then
    put_meta('streams', '1')
  end
end
