-- Adds a pool.
--
-- Args      1 pool · 2 capacity · 3 price of a unit, in minor units
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_SETTINGS (the node's), EVENT_LIMIT, POOL_EXISTS
-- Changes   pool_added
--#include change
--#include pools

local out = open_once{}
if out then return out end

local pool, capacity, price = A(1), A(2), A(3)
local index = redis.call('HLEN', K.pools)
if index >= MAX_POOLS_PER_EVENT then
  return no_why('EVENT_LIMIT', 'pools: an event has at most ' .. int(MAX_POOLS_PER_EVENT))
end
if redis.call('HEXISTS', K.pools, pool) == 1 then
  return no('POOL_EXISTS', '"pool":"' .. pool .. '"')
end

pools_put{{
  id = pool, index = index, capacity = tonumber(capacity), price = tonumber(price),
  held = 0, sold = 0, blocked = 0, claimed = 0, claimed_by_services = 0,
}}
change('{"pool_added":{"spec":{"pool":"' .. pool .. '","capacity":' .. capacity
  .. ',"price_minor":' .. price .. '}}}')
return commit(DONE)
