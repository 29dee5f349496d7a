-- Lets people join before the sale opens.
--
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_STATE, EVENT_NOT_OPEN
-- Changes   prequeue_opened
--#include change
--#include phases

local out = open_once(PHASES)
if out then return out end

if not M.room then
  return no_why('INVALID_STATE', 'the event has no waiting room; open the sale itself')
end
if M.phase == 'prequeue' then
  return no_why('INVALID_STATE', 'the prequeue is open already; open the sale next')
end
if M.phase ~= 'scheduled' then return phase_refusal(M.phase) end

prequeue_opened()
return commit(DONE)
