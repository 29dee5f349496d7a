-- Shuts an event that lost decisions: until it is open again every script answers that it is lost,
-- to every node.
--
-- An event whose seats an older version added is shut as well: that version did not write which are
-- side by side.
--
-- Keys   1 meta · 2 seats · 3 segments
-- Args   1 epoch, 2 number and 3 mark ('' if not known) of a decision that is known to have been made
-- Reply  {'shut'} · {'fine', epoch, seq, mark} if nothing is missing: somebody has rebuilt it meanwhile
local function field(name)
  return redis.call('HGET', KEYS[1], name)
end

local epoch, seq = tonumber(field('epoch') or '-1'), tonumber(field('seq') or '-1')
local known_epoch, known_seq = tonumber(ARGV[1]), tonumber(ARGV[2])
local mark = field('mark') or ''
local is_same = mark == '' or ARGV[3] == '' or mark == ARGV[3]
local is_older = redis.call('EXISTS', KEYS[2]) == 1 and redis.call('EXISTS', KEYS[3]) == 0
local goes_on = seq > known_seq or (seq == known_seq and is_same)
if not is_older and (epoch > known_epoch or (epoch == known_epoch and goes_on)) then
  return {'fine', string.format('%d', epoch), string.format('%d', seq), mark}
end
-- What the state does not tell is kept. No number and no epoch that any node knows are as low as these.
local kept = {}
for _, name in ipairs({'alive', 'alive_ms', 'clock'}) do kept[name] = field(name) end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'epoch', '-1', 'seq', '-1')
for name, text in pairs(kept) do
  if text then redis.call('HSET', KEYS[1], name, text) end
end
return {'shut'}
