-- Ends the sale.
--
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, ALREADY_IN_PHASE
-- Changes   sale_closed
--#include change
--#include phases

local out = open_once(PHASES)
if out then return out end

if M.phase == 'closed' then return no_why('ALREADY_IN_PHASE', 'the sale is closed already') end

sale_closed()
return commit(DONE)
