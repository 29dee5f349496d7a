-- Places that are gone, as long as the same request to join could come again (core/src/waiting_room/gone.rs).
--
-- Sorted set `gone`: place by until when it is known, a day after it went. Nothing tells of that
-- day's end: what is over counts no more, and makes room as others go.
--
--   gone.knows(place)   whether it went within the last day
--   gone.add(place)     remembers that it goes now. Writes
--#include begin
local gone = {}

local DROPPED_AT_ONCE = 4

function gone.knows(place)
  local known_until = tonumber(redis.call('ZSCORE', K.gone, place) or nil)
  return known_until ~= nil and now < known_until
end

function gone.add(place)
  local over = redis.call('ZRANGE', K.gone, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, DROPPED_AT_ONCE)
  if #over > 0 then
    redis.call('ZREM', K.gone, unpack(over))
  end
  local is_new = redis.call('ZADD', K.gone, int(now + ENDED_KNOWN_MS), place) == 1
  if is_new and redis.call('ZCARD', K.gone) > MAX_GONE_PLACES then
    redis.call('ZREMRANGEBYRANK', K.gone, 0, 0)
  end
end
