-- The phases of a sale: scheduled → prequeue → open ⇄ paused → closed. As core's event/evolve.rs
-- and decide_organiser.rs.
--
-- meta fields  phase · opened 0|1 · opened_at (ms) · open_number (places taken by then) · entrants,
--              entrants_hash, entrants_last, entrants_at (ms; the list of those who take part in a
--              draw, once it is fixed) · seed, public_value · line_version (raised by every join and
--              leave before the opening) · barred_until (no joins and leaves before that time) ·
--              draw_generation, draw_done (see draw_chunk)
--
--   PHASES                            the fields a script reads that uses these
--   phase_refusal(phase)              the sale's phase does not allow it
--   list_wanted(count, hash, version, bar_ms)
--                                     nil if the list of entrants that the node sends is the
--                                     present one; else the reply that asks for it:
--                                     {'entrants', version, seq, epoch}. Unless `bar_ms` is 0,
--                                     nobody joins or leaves for so long, so that the node does
--                                     not lose the race again.
--   prequeue_opened(), prequeue_closed(count, hash), sale_opened(seed, public_value), sale_closed()
--                                     each collects the change and applies it
--#include change

local PHASES = {
  'opened_at', 'taken', 'entrants', 'seed_hash', 'room', 'line_version', 'draw_generation', 'draw_done',
}

local function phase_refusal(phase)
  return no('EVENT_NOT_OPEN', '"phase":"' .. phase .. '"')
end

local function list_wanted(count, hash, version, bar_ms)
  local present = M.line_version or '0'
  -- A list that was read while another node wrote the drawn order may lack some: then its count is wrong.
  if hash ~= '' and version == present and tonumber(count) == redis.call('ZCARD', K.queue) then return nil end
  if bar_ms ~= '0' then
    redis.call('HSET', K.meta, 'barred_until', int(now + tonumber(bar_ms)))
  end
  return {'entrants', present, int(seq), M.epoch or '0'}
end

local function prequeue_opened()
  change('"prequeue_opened"')
  put_meta('phase', 'prequeue')
end

local function prequeue_closed(count, hash)
  change('{"prequeue_closed":{"entrants":' .. count .. ',"entrants_hash":"' .. hash .. '"}}')
  put_meta('phase', 'prequeue')
  put_meta('entrants', count)
  put_meta('entrants_hash', hash)
  put_meta('entrants_last', M.taken or '0')
  put_meta('entrants_at', int(now))
  put_meta('barred_until', nil)
end

-- From now on places lapse. Those taken so far were seen now: they need no entry of their own.
local function places_seen_now()
  put_meta('opened', '1')
  put_meta('opened_at', int(now))
  put_meta('open_number', M.taken or '0')
  put_meta('barred_until', nil)
end

local function sale_opened(seed, public_value)
  local fields = {}
  if seed then fields[#fields + 1] = '"seed":"' .. seed .. '"' end
  if public_value then fields[#fields + 1] = '"public_value":' .. str(public_value) end
  change('{"sale_opened":{' .. table.concat(fields, ',') .. '}}')
  put_meta('phase', 'open')
  put_meta('seed', seed)
  put_meta('public_value', public_value)
  places_seen_now()
end

local function sale_closed()
  change('"sale_closed"')
  put_meta('phase', 'closed')
  -- Nobody can be admitted any more: those who came in vain may lapse.
  if M.opened ~= '1' then places_seen_now() end
end
