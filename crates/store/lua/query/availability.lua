-- Pools and what is left of them; seats by category.
--
-- Reply  '', and beside it: pools (pool, text, …) · blocked units by reason (pool:why, units, …) ·
--        categories (name, text, …)
-- Refusals  EVENT_NOT_FOUND
--#include begin

local out = open{}
if out then return out end

return {
  'ok', int(seq), int(now), '', M.epoch or '0',
  redis.call('HGETALL', K.pools), redis.call('HGETALL', K.blocked), redis.call('HGETALL', K.categories),
}
