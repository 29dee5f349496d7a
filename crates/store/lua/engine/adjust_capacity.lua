-- Sets how many units a pool has.
--
-- Args      1 pool · 2 capacity · 3 reason as JSON
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_SETTINGS (the node's), ZONE_NOT_FOUND, CAPACITY_BELOW_COMMITTED
-- Changes   capacity_adjusted
--#include change
--#include pools

local out = open_once{}
if out then return out end

local id, capacity = A(1), tonumber(A(2))
local pool = pools_get{id}[1]
if not pool then return no('ZONE_NOT_FOUND', '"pool":"' .. id .. '"') end
local committed = pool.held + pool.sold + pool.blocked
if capacity < committed then
  return no('CAPACITY_BELOW_COMMITTED', '"committed":' .. int(committed))
end

change('{"capacity_adjusted":{"pool":"' .. id .. '","before":' .. int(pool.capacity) .. ',"after":'
  .. int(capacity)
  .. ',"reason":' .. A(3) .. '}}')
pool.capacity = capacity
pools_put{pool}
return commit(DONE)
