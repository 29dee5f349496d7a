-- Every channel.
--
-- Reply  '', and beside it: channels (channel, text, …)
-- Refusals  EVENT_NOT_FOUND
--#include begin

local out = open{}
if out then return out end

return {
  'ok', int(seq), int(now), '', M.epoch or '0', M.mark or '', redis.call('HGETALL', K.channels),
}
