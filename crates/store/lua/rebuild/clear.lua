-- Takes an event that is shut for one node, and throws away what is left of its state.
--
-- Keys   1 meta · 2… the event's other keys
-- Args   1 the epoch that begins with this rebuilding
-- Reply  1 · 0 if the event is open, or a later epoch began
local meta, epoch = KEYS[1], tonumber(ARGV[1])
local taken = tonumber(redis.call('HGET', meta, 'rebuilding') or '0')
if redis.call('HGET', meta, 'epoch') ~= '-1' or taken >= epoch then return 0 end
-- What gives memory back goes first.
redis.call('UNLINK', unpack(KEYS, 2))
-- Prices and types that an attempt before this one wrote. No other field has this sign in its name.
for _, field in ipairs(redis.call('HKEYS', meta)) do
  if string.find(field, ':', 1, true) then redis.call('HDEL', meta, field) end
end
redis.call('HSET', meta, 'rebuilding', ARGV[1], 'rewritten', '0')
return 1
