-- Stops admission and new holds; clocks run on.
--
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, ALREADY_IN_PHASE, EVENT_NOT_OPEN
-- Changes   sale_paused
--#include change
--#include phases

local out = open_once{}
if out then return out end

local phase = phase_at(now)
if phase == 'paused' then return no_why('ALREADY_IN_PHASE', 'the sale is paused already') end
if phase ~= 'open' then return phase_refusal(phase) end

change('"sale_paused"')
put_meta('phase', 'paused')
return commit(DONE)
