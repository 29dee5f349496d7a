-- Starts a payment for a hold; if one runs already, that one stays, and the answer names it.
--
-- Args      1 booking · 2 user · 3 payment
-- Reply     {"hold":…}
-- Refusals  RESERVATION_NOT_FOUND NOTHING_TO_PAY ALREADY_RELEASED ALREADY_CONFIRMED HOLD_EXPIRED
--           INVALID_STATUS TOO_MANY_ATTEMPTS
-- Changes   payment_begun
--#include begin
--#include change
--#include gaps
--#include holds

local out = open({ 'hold_max_ms', 'payment_window_ms', 'payment_attempts', 'gaps' })
if out then
  return out
end

local hold = booking_of(A(1), A(2))
if not hold then
  return no('RESERVATION_NOT_FOUND')
elseif (hold.state ~= 'held' and hold.state ~= 'paying') or hold.time <= now then
  return no_longer_held(hold)
elseif hold.state == 'paying' then
  return commit(hold_reply(hold))
elseif hold.amount == '0' then
  return no('NOTHING_TO_PAY')
end
local limit = tonumber(M.payment_attempts)
if tonumber(hold.payments) >= limit then
  return no('TOO_MANY_ATTEMPTS', '"limit":' .. int(limit))
end

local longest = tonumber(hold.created) + tonumber(M.hold_max_ms) + gaps.since_ms(hold.created)
local moved = math.max(math.min(now + tonumber(M.payment_window_ms), longest), hold.time)
change('{"payment_begun":{"booking":"' .. hold.booking .. '","payment":"' .. A(3) .. '","until":'
  .. int(moved) .. '}}')
set_state(hold, 'paying', moved, A(3), hold.time)
hold.payments = int(hold.payments + 1)
hold_put(hold)
return commit(hold_reply(hold))
