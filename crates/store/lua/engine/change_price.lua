-- Sets what units of a pool, or seats of a category, cost from now on, and what later.
--
-- Args      1 c:<category> or p:<pool> · 2 price of one unit, in minor units · 3 what it costs later,
--           from:price;… · 4 reason as JSON
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_SETTINGS (the node's, and for times that are past),
--           CATEGORY_NOT_FOUND, ZONE_NOT_FOUND
-- Changes   price_changed
--#include change
--#include pools
--#include seats
--#include prices

local out = open_once{'prices'}
if out then return out end

local key, price, later = A(1), tonumber(A(2)), A(3)
local from = ladder_first(later)
if from and from <= now then
  return no_why('INVALID_SETTINGS', 'later: use times that are to come, until the year 9999', 'later')
end
local kind, name = string.sub(key, 1, 1), string.sub(key, 3)
local before
if kind == 'c' then
  local text = redis.call('HGET', K.categories, name)
  if not text then return no('CATEGORY_NOT_FOUND', '"category":' .. str(name)) end
  before = set_category_price(name, text, price)
else
  local pool = pools_get{name}[1]
  if not pool then return no('ZONE_NOT_FOUND', '"pool":"' .. name .. '"') end
  before = set_pool_price(pool, price)
end
price_changed(key, before, price, later, A(4))
return commit(DONE)
