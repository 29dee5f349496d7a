-- What was decided from some decision on, and how far the event is.
--
-- Args      1 the number of the first decision that is wanted · 2 how many at most
-- Reply     '', and beside it: the phase · the decisions, as they stand in the stream
-- Refusals  EVENT_NOT_FOUND, EVENT_ARCHIVED
--#include begin

local out = open{}
if out then return out end

return {
  'ok', int(seq), int(now), '', M.epoch or '0', M.mark or '', phase_at(now),
  redis.call('XRANGE', K.feed, A(1) .. '-0', '+', 'COUNT', A(2)),
}
