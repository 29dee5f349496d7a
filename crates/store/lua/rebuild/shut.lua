-- Shuts an event that lost decisions: until it is open again every script answers that it is lost,
-- to every node.
--
-- An event whose seats an older version added is shut as well: that version did not write which are
-- side by side.
--
-- An event that the archive has nothing of stays open, unless its stream can give the archive all of it:
-- what is here is nowhere else, and could not be made again.
--
-- Keys   1 meta · 2 seats · 3 segments · 4 feed
-- Args   1 epoch, 2 number and 3 mark ('' if not known) of a decision that is known to have been made
--        · 4 the epoch of an event that the archive has no decision of, else ''
-- Reply  {'shut'} · {'nothing'} if it is shut and was not there before · {'kept'} if it stays open ·
--        {'fine', epoch, seq, mark} if nothing is missing: somebody has rebuilt it meanwhile
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
-- Whether the stream has all from the first decision on, in an epoch that the archive takes.
local function is_all_in_stream()
  local first = redis.call('XRANGE', KEYS[4], '-', '+', 'COUNT', 1)[1]
  if not first or first[1] ~= '1-0' then return false end
  local fields = first[2]
  for i = 1, #fields, 2 do
    if fields[i] == 'e' then return tonumber(fields[i + 1]) >= tonumber(ARGV[4]) end
  end
  return false
end

local is_there = seq >= 0
if is_there and ARGV[4] ~= '' and not is_all_in_stream() then return {'kept'} end
-- Whoever shuts it again, after an attempt in vain, is told the same.
local was_there = is_there or field('was_there') == '1'
-- What the state does not tell is kept. No number and no epoch that any node knows are as low as these.
local kept = {was_there = was_there and '1'}
for _, name in ipairs({'alive', 'alive_ms', 'clock'}) do kept[name] = field(name) end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'epoch', '-1', 'seq', '-1')
for name, text in pairs(kept) do
  if text then redis.call('HSET', KEYS[1], name, text) end
end
return {was_there and 'shut' or 'nothing'}
