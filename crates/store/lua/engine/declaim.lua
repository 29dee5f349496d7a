-- Gives a claim back.
--
-- Args      1 claim · 2 user
-- Reply     {"claim":…}; again changes nothing
-- Refusals  CLAIM_NOT_FOUND
-- Changes   declaimed
--#include begin
--#include change
--#include claims

local out = open({})
if out then
  return out
end

local claim, user = claim_get(A(1)), A(2)
if not claim or claim.user ~= user then
  return no('CLAIM_NOT_FOUND')
elseif claim.state == 'claimed' then
  -- Its deadline may have passed, and its tick not have come yet.
  declaimed(claim, claim.time and claim.time <= now and 'expired' or 'returned')
end
return commit(claim_reply(claim))
