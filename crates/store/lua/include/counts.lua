-- Counts by which people are let in (core/src/settings.rs, RoomSettings::finds_something):
-- meta.units_free, units on sale in pools and seats, and meta.choosing, people in the room who may
-- take something and have nothing yet.
--
--   counts.add(field, more)     goes on counting, with the next decision
--   counts.is_choosing(s)       1 or 0 for a session
--   counts.anew()               both, from the state: units, people
--   counts.queued()             units that may be had through channels whose buyers come through the
--                               waiting room
--   counts.begin()              counts anew what an older version did not count; before any write
--   counts.finds_something()    whether one more visitor would, after begin(); needs
--                               M.units_per_visitor
--
-- Where the fields are absent, nothing goes on until the next tick counts anew.
--#include change
local counts = {}

function counts.add(field, more)
  if more ~= 0 and M[field] then
    put_meta(field, int(tonumber(M[field]) + more))
  end
end

function counts.is_choosing(s)
  return s.state ~= 'ended' and s.live_holds == 0 and 1 or 0
end

function counts.anew()
  local free, choosing = 0, 0
  for _, text in ipairs(redis.call('HVALS', K.pools)) do
    local pool = read_pool('', text)
    free = free + pool.capacity - pool.held - pool.sold - pool.blocked
  end
  for _, text in ipairs(redis.call('HVALS', K.categories)) do
    free = free + read_category('', text).F
  end
  for _, text in ipairs(redis.call('HVALS', K.sessions)) do
    choosing = choosing + counts.is_choosing(read_session(text))
  end
  return free, choosing
end

function counts.begin()
  if not M.units_free then
    local free, choosing = counts.anew()
    M.units_free, M.choosing = int(free), int(choosing)
    redis.call('HSET', K.meta, 'units_free', M.units_free, 'choosing', M.choosing)
  end
end

function counts.queued()
  local queued, free, units = {}, {}, 0
  local channels = redis.call('HGETALL', K.channels)
  for i = 1, #channels, 2 do
    local channel = read_channel(channels[i], channels[i + 1])
    if channel.state == 'open' and string.find(channel.spec, '"queued":true', 1, true) then
      queued[#queued + 1] = channel
    end
  end
  -- What is blocked may be thousands of counts, and ticks ask often.
  local blocked = queued[1] and redis.call('HGETALL', K.blocked) or {}
  for i = 1, #blocked, 2 do
    local id = string.match(blocked[i], '^[^:]*@([^@]*)$')
    if id then
      free[id] = (free[id] or 0) + tonumber(blocked[i + 1])
    end
  end
  for _, channel in ipairs(queued) do
    local quota = tonumber(string.match(channel.spec, '"quota":(%d+)'))
    local left = quota and math.max(quota - channel.taken, 0) or math.huge
    units = units + math.min(free[channel.id] or 0, left)
  end
  return units
end

function counts.finds_something()
  local choosing, each = tonumber(M.choosing), tonumber(M.units_per_visitor) or 1
  local function is_enough(free)
    return free >= (choosing + 1) * each or (free > 0 and choosing == 0)
  end
  local free = tonumber(M.units_free)
  if is_enough(free) or is_enough(free + counts.queued()) then
    return true
  end
  -- A sale without stock of its own is a waiting room for a shop elsewhere.
  return redis.call('EXISTS', K.pools, K.seats) == 0
end
