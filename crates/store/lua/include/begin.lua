-- How every engine script begins: the names of its keys, what it is told, the event's meta hash,
-- and the time.
--
-- Keys   those of the event, in the order of K (shared.lua) · from FIRST_STREAM on streams of users'
--        places
-- Args   1 the highest number of a decision of this event that the node knows · 2 the epoch that
--        number is of · 3 that decision's mark, or '' · 4 request id · 5 a refusal the node has
--        found already, as JSON, or '' · 6… the command's own, see A below
-- Reply  {'ok', seq, at, reply, epoch, mark, …}  it is decided; reply is JSON
--        {'no', seq, at, refusal, epoch, mark}   the rules say no; refusal is JSON
--        {'lost', seq, epoch}              Redis has lost decisions that the node knows of; nothing was done
--        {'away', gap_ms, seq, epoch}      nobody ran the event for so long: run recover first,
--                                          then ask again
--        {'entrants', version} and {'needs', …} belong to the draw and to ticks; see there
--
-- A script reads `open` (or `open_once`, `open_new`) as its first step and returns what that
-- returns, unless it is nil:
--        local out = open{'hold_ttl_ms', 'room'}; if out then return out end
-- Then there are: M (meta fields as text, or nil), now (a number, milliseconds), A(i) (the
-- command's i-th argument).

-- A whole number as JSON and as Redis keep it. (cjson would write 14 digits only.)
local function int(n)
  return string.format('%d', n)
end

--#include shared

-- After a longer silence everything that lasts is moved on, so that an outage empties no queue.
local ALIVE_MS = 30000
-- An answer is remembered for one to two of these.
local RECENT_MS = 60000

local now, seq = 0, 0
-- Named here so that the table need not grow field by field: this is read by every script.
local M = {
  seq = nil, at = nil, epoch = nil, mark = nil, phase = nil, opened = nil, closes_at = nil,
  clock = nil, alive = nil, alive_ms = nil, units_free = nil, choosing = nil,
}

-- Arguments before the command's own.
local OWN = 5

-- The command's own i-th argument.
local function A(i)
  return ARGV[OWN + i]
end

-- A free text as JSON. Ids need no escaping: '"' .. id .. '"' will do.
local function str(s)
  return cjson.encode(s)
end

-- A refusal: no('INSUFFICIENT_STOCK', '"pool":"ga","free":3').
local function no(code, fields)
  local json = '{"code":"' .. code .. '"' .. (fields and ',' .. fields or '') .. '}'
  return {'no', int(seq), int(now), json, M.epoch or '0', M.mark or ''}
end

-- One with a sentence, and the field that it is about if that is one:
-- no_why('SETTINGS_FIXED', '…', 'currency').
local function no_why(code, why, field)
  return no(code, (field and '"field":"' .. field .. '",' or '') .. '"why":' .. str(why))
end

-- The phase, with a closing time counting even before its tick.
local function phase_at(at)
  local closes_at = tonumber(M.closes_at)
  if closes_at and closes_at <= at then return 'closed' end
  return M.phase
end

local BASE = {
  'seq', 'at', 'epoch', 'mark', 'phase', 'opened', 'closes_at', 'clock', 'alive', 'alive_ms',
  'units_free', 'choosing',
}

-- Reads the fields that all scripts need, and more, into M.
local function read_meta(more)
  local fields, base = {unpack(BASE)}, #BASE
  for i = 1, #more do
    fields[base + i] = more[i]
  end
  local values = redis.call('HMGET', K.meta, unpack(fields))
  for i = 1, #fields do
    M[fields[i]] = values[i] or nil
  end
end

local function time_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function read_event(fields)
  read_meta(fields)
  seq = tonumber(M.seq or '0')
  local clock = tonumber(M.clock) or time_ms()
  now = math.max(tonumber(M.at) or clock, clock)
  local epoch, known_epoch = M.epoch or '0', ARGV[2]
  if epoch ~= known_epoch then
    if tonumber(epoch) < tonumber(known_epoch) then return {'lost', int(seq), epoch} end
    return nil
  end
  local known = tonumber(ARGV[1])
  -- Another mark under the same number: this Redis never had the decision that the node knows.
  local is_other = seq == known and ARGV[3] ~= '' and M.mark and M.mark ~= ARGV[3]
  if seq < known or is_other then return {'lost', int(seq), epoch} end
end

local function away()
  local alive, alive_ms = tonumber(M.alive), tonumber(M.alive_ms)
  if not alive_ms then
    if M.clock then return nil end
    alive_ms = ALIVE_MS
  end
  if alive and alive_ms > 0 and now - alive > alive_ms then
    return {'away', int(now - alive), int(seq), M.epoch}
  end
end

-- Whether the answer is to be remembered by the request's id.
local remembers = false

local function complaint()
  if ARGV[5] ~= '' then
    return {'no', int(seq), int(now), ARGV[5], M.epoch or '0', M.mark or ''}
  end
end

-- An event that was archived refuses everything. Its last decision was that.
local function archived()
  if M.phase == 'archived' then return no('EVENT_ARCHIVED', '"archived_at":' .. M.at) end
end

-- Begins a command that its own ids make idempotent, or that may be repeated without harm.
local function open(fields)
  local out = read_event(fields)
  if out then return out end
  if not M.seq then return no('EVENT_NOT_FOUND') end
  return archived() or away() or complaint()
end

-- What was answered to this very request before.
local function remembered()
  for i = 0, 1 do
    local packed = redis.call('HGET', K['recent' .. i], ARGV[4])
    if packed then
      local first_seq, at, json = string.match(packed, '^(%d+)|(%-?%d+)|(.*)$')
      return {'ok', int(math.max(tonumber(first_seq), seq)), at, json, M.epoch, M.mark or ''}
    end
  end
end

-- Begins a command whose effect would double if a client sent it again after a dropped connection:
-- the same request gets the first answer.
local function open_once(fields)
  local out = read_event(fields)
  if out then return out end
  if not M.seq then return no('EVENT_NOT_FOUND') end
  remembers = true
  return remembered() or archived() or away() or complaint()
end

-- Begins the command that creates the event.
local function open_new(fields)
  local out = read_event(fields)
  if out then return out end
  remembers = true
  if M.seq then return remembered() or archived() or no('EVENT_EXISTS') end
  return complaint()
end
