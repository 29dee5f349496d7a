-- Says who pays for a booking; another payer of the same kind takes the place of the one before.
--
-- Args      1 booking · 2 user · 3 email|card · 4 payer
-- Reply     {"hold":…}; the same payer again changes nothing, and so does any where there is no limit
-- Refusals  RESERVATION_NOT_FOUND TOO_MANY_ATTEMPTS ALREADY_RELEASED ALREADY_CONFIRMED HOLD_EXPIRED
--           INVALID_STATUS PAYER_LIMIT_EXCEEDED
-- Changes   payer_named
--#include begin
--#include change
--#include lines
--#include holds
--#include payers

local out = open({ 'max_per_email', 'max_per_card', 'payment_attempts' })
if out then
  return out
end

local by, payer = A(3), A(4)
local hold = booking_of(A(1), A(2))
if not hold then
  return no('RESERVATION_NOT_FOUND')
end
local email, card = payers_of(hold)
local before = by == 'email' and email or card
if hold.state == 'held' and hold.time > now then
  local limit = tonumber(M.payment_attempts)
  if before ~= payer and tonumber(hold.payments) >= limit then
    return no('TOO_MANY_ATTEMPTS', '"limit":' .. int(limit))
  end
elseif hold.state ~= 'paying' and not (hold.state == 'expired' and hold.payment ~= '')
  and not (hold.state == 'confirmed' and before == payer) then
  -- What ran out under its payment may still be paid for.
  return no_longer_held(hold)
end
if before == payer or not M['max_per_' .. by] then
  return commit(hold_reply(hold))
end

local units = lines_read(hold.lines).units
local refusal = check_payer(by, payer, units)
if refusal then
  return refusal
end
change('{"payer_named":{"booking":"' .. hold.booking .. '","by":"' .. by .. '","payer":"' .. payer .. '"}}')
if hold.state ~= 'expired' then
  count_payer(by, before, -units)
  count_payer(by, payer, units)
end
hold.payers = by == 'email' and payer .. ',' .. card or email .. ',' .. payer
hold_put(hold)
return commit(hold_reply(hold))
