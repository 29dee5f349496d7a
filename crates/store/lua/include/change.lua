-- How a decision is written down: its changes in the feed, and its number, with the state, in one script.
--
-- change(json)           one change, as serde writes it: change('{"hold_released":{"booking":"' ..
--                        id .. '"}}')
-- put_meta(field, text)  a field of meta that changes with this decision; nil deletes it. M follows at once.
-- record()               writes what was collected as one decision with a number of its own (ticks
--                        make several), and a mark: a hash over it and the mark of the one before.
--                        Two histories with the same mark are the same up to it (src/redis/head.rs)
-- commit(reply)          records, if anything changed, and makes the script's reply: return
--                        commit(DONE). The reply is a Reply as serde writes it: '"done"',
--                        '{"left":"queue"}', '{"hold":{…}}'
--
-- Nothing may fail after the first write: whatever can be refused is refused before.
--#include begin

local changes, new_meta = {}, {}

local function change(json)
  changes[#changes + 1] = json
end

local function put_meta(field, text)
  M[field] = text
  new_meta[field] = text or false
end

local function record()
  if #changes == 0 then return end
  seq = seq + 1
  M.seq, M.at = int(seq), int(now)
  local json, before = '[' .. table.concat(changes, ',') .. ']', M.mark or ''
  M.mark = string.sub(redis.sha1hex(before .. M.at .. json), 1, 16)
  local fields = {'seq', M.seq, 'at', M.at, 'mark', M.mark}
  for field, text in pairs(new_meta) do
    if text then
      fields[#fields + 1] = field
      fields[#fields + 1] = text
    else
      redis.call('HDEL', K.meta, field)
    end
  end
  redis.call('HSET', K.meta, unpack(fields))
  redis.call('XADD', K.feed, M.seq .. '-0', 'at', M.at, 'e', M.epoch or '0', 'p', before,
    'm', M.mark, 'c', json)
  changes, new_meta = {}, {}
end

local function remember(reply)
  -- Not the event's time: a clock that is set for a test would never let go of an answer.
  local minute = math.floor(time_ms() / RECENT_MS)
  local recent = K['recent' .. minute % 2]
  local of_minute = redis.call('HGET', recent, 'minute')
  if of_minute and of_minute ~= int(minute) then redis.call('DEL', recent) end
  redis.call('HSET', recent, 'minute', int(minute), ARGV[4], M.seq .. '|' .. M.at .. '|' .. reply)
  redis.call('PEXPIRE', recent, 3 * RECENT_MS)
end

local DONE = '"done"'

local function commit(reply)
  if #changes > 0 then
    record()
    if remembers then remember(reply) end
  end
  return {'ok', int(seq), int(now), reply, M.epoch or '0', M.mark or ''}
end
