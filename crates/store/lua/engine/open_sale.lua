-- Opens the sale; with a draw, reveals the seed, and wants a public value if one was promised. The drawn
-- order was written before, in chunks (draw_chunk).
--
-- Args      1 seed, or '' · 2 its SHA-256 · 3 public value · 4 1 if there is one · 5 what is wrong
--           with it, a refusal, or '' · 6 entrants · 7 hash of the list that was drawn, or '' if
--           that is the fixed one · 8 version of the line they are of · 9 how long to bar joins and
--           leaves, in ms, or 0 · 10 generation of the draw whose chunks are all written, or ''
-- Reply     done; {'entrants', version, seq, epoch}: the list is wanted, or has changed; {'draw',
--           seq, epoch}: the list is fixed and its order is wanted
-- Refusals  EVENT_NOT_FOUND, ALREADY_IN_PHASE, OTHER_STEP_FIRST, NO_DRAW, INVALID_SETTINGS,
--           SEED_MISMATCH, PUBLIC_VALUE_MISSING, EVENT_NOT_OPEN
-- Changes   (prequeue_closed,) sale_opened
--#include change
--#include phases

local out = open_once{'entrants_hash', 'public_value_source', unpack(PHASES)}
if out then return out end

local seed, seed_hash, public_value, bad_value, generation = A(1), A(2),
  A(4) == '1' and A(3) or nil, A(5), A(10)

if M.phase == 'open' then return no_why('ALREADY_IN_PHASE', 'the sale is open already') end
if M.phase == 'paused' then return no_why('OTHER_STEP_FIRST', 'the sale is paused; resume it instead') end
if M.phase == 'closed' then return phase_refusal(M.phase) end

if not M.seed_hash then
  if seed ~= '' then
    return no_why('INVALID_SETTINGS', 'seed: only an event with a draw takes one', 'seed')
  end
  if public_value then
    return no('NO_DRAW')
  end
  sale_opened(nil, nil)
  return commit(DONE)
end

if seed == '' or seed_hash ~= M.seed_hash then return no('SEED_MISMATCH') end
if bad_value ~= '' then
  return {'no', int(seq), int(now), bad_value, M.epoch, M.mark or ''}
end
if not M.entrants then
  if public_value or M.public_value_source then
    return no_why('OTHER_STEP_FIRST', 'close the prequeue before the public value becomes known')
  end
  out = list_wanted(A(6), A(7), A(8), A(9))
  if out then return out end
elseif M.public_value_source and not public_value then
  return no('PUBLIC_VALUE_MISSING', '"public_value_source":' .. str(M.public_value_source))
end
-- Another list may have been fixed since the node read its own.
local is_of_another = M.entrants and A(7) ~= '' and A(7) ~= M.entrants_hash
if is_of_another or generation == '' or generation ~= M.draw_generation or M.draw_done ~= '1' then
  return {'draw', int(seq), M.epoch}
end

if not M.entrants then prequeue_closed(A(6), A(7)) end
sale_opened(seed, public_value)
put_meta('draw_generation', nil)
put_meta('draw_done', nil)
return commit(DONE)
