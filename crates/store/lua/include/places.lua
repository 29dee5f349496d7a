-- Places as their owners see them (core/src/event/decide_visitor.rs).
--
--   standing(user, place)     'waiting', the place { id, number }, u  ·  'in', the session, u  ·  nil, nil, u
--   place_left(user, u, place, how, stream)   a waiting place goes (how: left|lapsed), with its change; put u afterwards
--   waiting_view(user, place), session_view(s)   a PlaceView as JSON; nil for a session that is over
--   has_lapsed(user, number), see_due(user, number)
--   positions_mean_something()
--   join_stream(stream, place, user, number), leave_stream(stream, number)   the stream of a user's places (S4.4)
-- They need LINE_FIELDS of line.lua. PLACES is the key of the user's stream, where a script is given one.
--#include line
--#include sessions
local PLACES = KEYS[17]

-- Before a draw nobody is ahead of anybody.
local function positions_mean_something()
  return not M.seed_hash or M.opened == '1'
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

local SEEN_INTERVAL_MS = 300000

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

-- The event stands in braces in each of its keys.
local EVENT = string.match(K.meta, '{(.-)}')

-- Places are told apart by their numbers, so an entry needs no other id. A stream may be left over from decisions that Redis
-- lost, with higher numbers: it is written anew.
local function join_stream(stream, place, user, number)
  local entry = { 'XADD', stream, int(number) .. '-0', 'token', place, 'event_id', EVENT, 'user_id', user, 'timestamp', int(now) }
  if redis.pcall(unpack(entry)).err then
    redis.call('DEL', stream)
    redis.call(unpack(entry))
  end
  if M.streams ~= '1' then
    put_meta('streams', '1')
  end
end

-- The user's stream is an index of his places: an emptied one goes, or each would stay for good (a trap of S4).
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
end

local function active_view(place, number, until_at, arrive_by)
  return '{"place":"' .. place .. '","number":' .. int(number) .. ',"status":"active","until":' .. int(until_at)
    .. ',"arrive_by":' .. (arrive_by and int(arrive_by) or 'null') .. '}'
end

local function session_view(s)
  if not sessions.may_hold(s, now) then
    return nil
  end
  return active_view(s.place, s.number, s.until_at, s.arrive_by)
end

local function queued_view(place, number, position, total, at, due)
  return '{"place":"' .. place .. '","number":' .. int(number) .. ',"status":"queued","position":'
    .. (position and int(position) or 'null') .. ',"total":' .. int(total) .. ',"lapses_at":'
    .. (at and int(at) or 'null') .. ',"see_due":' .. (due and 'true' or 'false') .. '}'
end

local function waiting_view(user, place)
  local position = positions_mean_something() and line.position(user, place.number)
  return queued_view(place.id, place.number, position, line.waiting(), lapses_at(user, place.number),
    see_due(user, place.number))
end
