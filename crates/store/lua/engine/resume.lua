-- Ends a pause.
--
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, ALREADY_IN_PHASE, EVENT_NOT_OPEN
-- Changes   sale_resumed
--#include change
--#include phases

local out = open_once{}
if out then return out end

local phase = phase_at(now)
if phase == 'open' then return no_why('ALREADY_IN_PHASE', 'the sale is not paused') end
if phase ~= 'paused' then return phase_refusal(phase) end

change('"sale_resumed"')
put_meta('phase', 'open')
return commit(DONE)
