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
-- Fields that are asked for at once: a hotel's year has thousands of pools, and each call costs.
local AT_ONCE = 500
local function add_fields(found, begin, flat)
  for first = 1, #flat, 2 * AT_ONCE do
    local fields = {}
    for i = first, math.min(first + 2 * AT_ONCE, #flat) - 1, 2 do
      fields[#fields + 1] = begin .. flat[i]
    end
    for i, text in ipairs(redis.call('HMGET', K.meta, unpack(fields))) do
      if text then
        found[#found + 1], found[#found + 2] = fields[i], text
      end
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
