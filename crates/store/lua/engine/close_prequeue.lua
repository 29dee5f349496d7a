-- Fixes the list of those who take part in the draw.
--
-- Lua has no SHA-256: the node reads the line, hashes it, and sends what it found with the version
-- of the line it read.
--
-- Args      1 entrants · 2 hash of the list, or '' · 3 version of the line they are of · 4 how long
--           to bar joins and leaves, in ms, or 0
-- Reply     done, or {'entrants', version, seq, epoch}: the list is wanted, or has changed
-- Refusals  EVENT_NOT_FOUND, OTHER_STEP_FIRST, ALREADY_IN_PHASE, EVENT_NOT_OPEN
-- Changes   prequeue_closed
--#include change
--#include phases

local out = open_once(PHASES)
if out then return out end

if M.phase == 'scheduled' then return no_why('OTHER_STEP_FIRST', 'open the prequeue first') end
if M.phase ~= 'prequeue' then return phase_refusal(M.phase) end
if M.entrants then
  return no_why('ALREADY_IN_PHASE', 'the list of entrants is fixed already; open the sale next')
end
out = list_wanted(A(1), A(2), A(3), A(4))
if out then return out end

prequeue_closed(A(1), A(2))
return commit(DONE)
