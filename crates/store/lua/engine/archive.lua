-- Frees everything that is kept of a closed event, for good: a small meta hash is left, and every
-- script answers from it that the event was archived. The stream goes once the archive has it
-- (archiver.rs), and the answers kept for a while by themselves.
--
-- Args      1 who and why, as JSON
-- Reply     done
-- Refusals  EVENT_NOT_FOUND EVENT_ARCHIVED INVALID_SETTINGS (the node's) OTHER_STEP_FIRST EVENT_IN_USE
-- Changes   event_archived
--#include change

-- What stays in meta: the rest is the event's, or is counted no more.
local KEPT = { seq = 1, at = 1, epoch = 1, mark = 1, phase = 1, clock = 1, alive_ms = 1 }

local out = open_once{'starts_at'}
if out then return out end

if M.phase ~= 'closed' then return no_why('OTHER_STEP_FIRST', 'close the sale first') end
local waiting = redis.call('ZCARD', K.queue) + redis.call('ZCARD', K.parked)
local inside, held, confirmed = redis.call('HLEN', K.sessions), 0, 0
for _, text in ipairs(redis.call('HVALS', K.pools)) do
  local pool = read_pool('', text)
  held, confirmed = held + pool.held, confirmed + pool.sold - pool.claimed
end
for _, text in ipairs(redis.call('HVALS', K.categories)) do
  local category = read_category('', text)
  held, confirmed = held + category.H, confirmed + category.S
end
-- A booking is a promise until its event is over, and nothing brings an archived one back.
local starts_at = tonumber(M.starts_at)
if confirmed > 0 and starts_at and now < starts_at then
  return no_why('OTHER_STEP_FIRST',
    'bookings are confirmed; cancel them first, or archive the event once it begins (starts_at)')
end
if waiting > 0 or inside > 0 or held > 0 then
  return no('EVENT_IN_USE',
    '"waiting":' .. int(waiting) .. ',"inside":' .. int(inside) .. ',"held":' .. int(held))
end

for _, field in ipairs(redis.call('HKEYS', K.meta)) do
  if not KEPT[field] then put_meta(field, nil) end
end
put_meta('phase', 'archived')
change('{"event_archived":{"reason":' .. A(1) .. '}}')
local reply = commit(DONE)
for part, key in pairs(K) do
  if part ~= 'meta' and part ~= 'feed' and part ~= 'recent0' and part ~= 'recent1' then
    redis.call('UNLINK', key)
  end
end
return reply
