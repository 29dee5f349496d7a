-- One booking.
--
-- Args      1 booking · 2 user, or '' for anyone's
-- Reply     {"hold":{…}}
-- Refusals  EVENT_NOT_FOUND, RESERVATION_NOT_FOUND
--#include change
--#include holds

local out = open{}
if out then return out end

local hold = hold_get(A(1))
if not hold or (A(2) ~= '' and hold.user ~= A(2)) then return no('RESERVATION_NOT_FOUND') end
return commit(hold_reply(hold))
