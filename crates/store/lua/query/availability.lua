-- Pools and what is left of them; seats by category.
--
-- Reply  '', and beside it: pools (pool, text, …) · blocked units by reason (pool:why, units, …) ·
--        categories (name, text, …) · what follows their prices (price:c:name or price:p:pool, text, …)
--        · their ticket types (types:c:name or types:p:pool, text, …) · what amounts are multiples of
-- Refusals  EVENT_NOT_FOUND
--#include begin
--#include money

local out = open{'prices', 'types', 'currency', 'amount_step_minor'}
if out then return out end

local pools, categories = redis.call('HGETALL', K.pools), redis.call('HGETALL', K.categories)
local ladders, types = {}, {}
local function add_fields(found, begin, flat)
  for i = 1, #flat, 2 do
    local field = begin .. flat[i]
    local text = redis.call('HGET', K.meta, field)
    if text then
      found[#found + 1], found[#found + 2] = field, text
    end
  end
end
if M.prices == '1' then
  add_fields(ladders, 'price:p:', pools)
  add_fields(ladders, 'price:c:', categories)
end
if M.types then
  add_fields(types, 'types:p:', pools)
  add_fields(types, 'types:c:', categories)
end
return {
  'ok', int(seq), int(now), '', M.epoch or '0', M.mark or '',
  pools, redis.call('HGETALL', K.blocked), categories, ladders, types,
  int(step_minor()),
}
