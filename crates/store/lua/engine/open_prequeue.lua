-- Lets people join before the sale opens.
--
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, NO_WAITING_ROOM, ALREADY_IN_PHASE, EVENT_NOT_OPEN
-- Changes   prequeue_opened
--#include change
--#include phases

local out = open_once(PHASES)
if out then return out end

if not M.room then
  return no('NO_WAITING_ROOM')
end
if M.phase == 'prequeue' then
  return no_why('ALREADY_IN_PHASE', 'the prequeue is open already; open the sale next')
end
if M.phase ~= 'scheduled' then return phase_refusal(M.phase) end

prequeue_opened()
return commit(DONE)
