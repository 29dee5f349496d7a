-- Places and sessions as their owners name them (core/src/event/decide_visitor.rs).
--
--   standing(user, place)     'waiting', the place { id, number }, u  ·  'in', the session, u  ·  nil, nil, u
--   place_left(user, u, place, how, stream)   a waiting place goes (how: left|lapsed|removed), with
--                                             its change; put u afterwards
--   leave_stream(stream, number)  takes it out of the stream of its user's places
--   waiting_view(user, place), session_view(user, s, u)   a PlaceView as JSON; nil for a session that is
--                                             over
--   has_lapsed(user, number), see_due(user, number)
--   line.leave(user, number), line.see(user, number)
--   line.position(user, number)   1 is the head; nil if it does not wait
--   line.last_seen(user, number)  nil before the opening
-- They read PLACE_FIELDS. PLACES is the key of the user's stream, where a script is given one.
--#include line
--#include queued
--#include sessions
local PLACES = KEYS[FIRST_STREAM]
local PLACE_FIELDS = { 'line_version', 'moved_ms', 'opened_at', 'streams', 'place_ttl_ms', 'seed_hash' }

function line.leave(user, number)
  local member = line.member(user, number)
  if redis.call('ZREM', K.queue, member) == 0 then
    redis.call('ZREM', K.parked, member)
  end
  if M.opened == '1' then
    redis.call('ZREM', K.lapses, member)
  else
    -- Whoever read the line before the opening finds out that it is another by now.
    put_meta('line_version', int(tonumber(M.line_version or '0') + 1))
  end
end

function line.see(user, number)
  redis.call('ZADD', K.lapses, int(now - (tonumber(M.moved_ms) or 0)), line.member(user, number))
end

function line.last_seen(user, number)
  if M.opened ~= '1' then
    return nil
  end
  local seen = redis.call('ZSCORE', K.lapses, line.member(user, number)) or M.opened_at
  return tonumber(seen) + (tonumber(M.moved_ms) or 0)
end

-- How many of a sorted set stand before a place that is not in it. Ties are searched by halves:
-- there are few, unless the counter is switched off.
local function count_before(key, score, member)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = redis.call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZRANGE', key, middle, middle)[1] < member then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

function line.position(user, number)
  local member = line.member(user, number)
  local mine, other = K.queue, K.parked
  local score = redis.call('ZSCORE', mine, member)
  if not score then
    mine, other = other, mine
    score = redis.call('ZSCORE', mine, member)
    if not score then
      return nil
    end
  end
  return redis.call('ZRANK', mine, member) + count_before(other, score, member) + 1
end

-- When a waiting place lapses; nil before the opening.
local function lapses_at(user, number)
  local last_seen, ttl_ms = line.last_seen(user, number), tonumber(M.place_ttl_ms)
  return last_seen and ttl_ms and last_seen + ttl_ms
end

local function has_lapsed(user, number)
  local at = lapses_at(user, number)
  return at and at <= now
end

local function see_due(user, number)
  local last_seen, ttl_ms = line.last_seen(user, number), tonumber(M.place_ttl_ms)
  if not last_seen or not ttl_ms then
    return false
  end
  -- A short time to live needs more frequent signs than the usual interval gives.
  local unseen_ms = now - last_seen
  return unseen_ms >= math.min(SEEN_INTERVAL_MS, math.floor(ttl_ms / 6)) and unseen_ms < ttl_ms
end

local function standing(user, place)
  local u = users.get(user)
  local session = sessions.get(user)
  if session and session.place == place then
    return 'in', session, u
  end
  local number = tonumber(string.match(u.places, place .. ':(%d+)'))
  if number and not has_lapsed(user, number) then
    return 'waiting', { id = place, number = number }, u
  end
  return nil, nil, u
end

-- The user's stream is an index of their places: an emptied one goes, or each would stay for good
-- (a trap).
local function leave_stream(stream, number)
  if M.streams == '1' and stream then
    redis.call('XDEL', stream, int(number) .. '-0')
    if redis.call('XLEN', stream) == 0 then
      redis.call('DEL', stream)
    end
  end
end

local function place_left(user, u, place, how, stream)
  change('{"place_left":{"place":"' .. place.id .. '","user":"' .. user .. '","how":"' .. how .. '"}}')
  line.leave(user, place.number)
  users.remove_place(u, place.id)
  leave_stream(stream, place.number)
  gone.add(place.id)
end

local function active_view(place, number, until_at, arrive_by, due)
  return '{"place":"' .. place .. '","number":' .. int(number) .. ',"status":"active","until":'
    .. int(until_at)
    .. ',"arrive_by":' .. (arrive_by and int(arrive_by) or 'null')
    .. ',"see_due":' .. (due and 'true' or 'false') .. '}'
end

local function session_view(user, s, u)
  if not sessions.may_hold(s, now) then
    return nil
  end
  local due = false
  for _, place in ipairs(users.places_of(u)) do
    due = due or see_due(user, place.number)
  end
  return active_view(s.place, s.number, s.until_at, s.arrive_by, due)
end

local function waiting_view(user, place)
  local position = positions_mean_something() and line.position(user, place.number)
  return queued_view(place.id, place.number, position, line.waiting(), lapses_at(user, place.number),
    see_due(user, place.number))
end
