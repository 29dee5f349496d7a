-- Every seat.
--
-- Reply  '', and beside it: seats (seat, text, …) · categories (name, text, …)
-- Refusals  EVENT_NOT_FOUND
--#include begin

local out = open{}
if out then return out end

return {
  'ok', int(seq), int(now), '', M.epoch or '0', M.mark or '',
  redis.call('HGETALL', K.seats), redis.call('HGETALL', K.categories),
}
