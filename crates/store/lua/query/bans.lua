-- Who is banned.
--
-- Reply  '', and beside it: bans (user, `at|reason`, …), in no order
-- Refusals  EVENT_NOT_FOUND
--#include begin

local out = open{}
if out then return out end

return {
  'ok', int(seq), int(now), '', M.epoch or '0', M.mark or '', redis.call('HGETALL', K.bans),
}
