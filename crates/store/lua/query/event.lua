-- An event as a whole.
--
-- Reply  '', and beside it: fields of meta (field, text, …) · people waiting · slots in use · pools
--        (pool, text, …) · categories (name, text, …) · people who are choosing · units that may be had
--        through channels whose buyers come through the waiting room
-- Refusals  EVENT_NOT_FOUND
--#include counts

local FIELDS = {
  'settings', 'taken', 'entrants', 'entrants_hash', 'entrants_at', 'seed', 'public_value', 'gaps',
}
local out = open(FIELDS)
if out then return out end

local meta = {'phase', phase_at(now)}
for _, field in ipairs(FIELDS) do
  if M[field] then
    meta[#meta + 1] = field
    meta[#meta + 1] = M[field]
  end
end
return {
  'ok', int(seq), int(now), '', M.epoch or '0', M.mark or '', meta,
  redis.call('ZCARD', K.queue) + redis.call('ZCARD', K.parked), redis.call('HLEN', K.sessions),
  redis.call('HGETALL', K.pools), redis.call('HGETALL', K.categories),
  tonumber(M.choosing) or select(2, counts.anew()), counts.queued(),
}
