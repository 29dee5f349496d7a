-- One claim.
--
-- Args      1 claim · 2 user, or '' for anyone's
-- Reply     {"claim":{…}}
-- Refusals  EVENT_NOT_FOUND, CLAIM_NOT_FOUND
--#include change
--#include claims

local out = open{}
if out then return out end

local claim = claim_get(A(1))
if not claim or (A(2) ~= '' and claim.user ~= A(2)) then return no('CLAIM_NOT_FOUND') end
return commit(claim_reply(claim))
