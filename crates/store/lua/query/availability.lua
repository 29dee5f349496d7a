-- Pools and what is left of them; seats by category.
--
-- Reply  '', and beside it: pools (pool, text, …) · blocked units by reason (pool:why, units, …) ·
--        categories (name, text, …) · what follows their prices (price:c:name or price:p:pool, text, …)
-- Refusals  EVENT_NOT_FOUND
--#include begin

local out = open{'prices'}
if out then return out end

local pools, categories = redis.call('HGETALL', K.pools), redis.call('HGETALL', K.categories)
local ladders = {}
local function add_ladders(begin, flat)
  for i = 1, #flat, 2 do
    local field = begin .. flat[i]
    local text = redis.call('HGET', K.meta, field)
    if text then
      ladders[#ladders + 1], ladders[#ladders + 2] = field, text
    end
  end
end
if M.prices == '1' then
  add_ladders('price:p:', pools)
  add_ladders('price:c:', categories)
end
return {
  'ok', int(seq), int(now), '', M.epoch or '0',
  pools, redis.call('HGETALL', K.blocked), categories, ladders,
}
