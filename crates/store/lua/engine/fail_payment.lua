-- A payment failed: the hold waits for another, or is released and the session ends.
--
-- Args      1 booking · 2 payment · 3 why, as the gateway says · 4 what becomes of the hold: keep|release
-- Reply     {"hold":…}
-- Refusals  RESERVATION_NOT_FOUND ALREADY_CONFIRMED PAYMENT_MISMATCH
-- Changes   payment_failed [hold_released [session_ended] [slot_freed]]
--           | [hold_expired [slot_freed]] late_payment_failed: the hold ran out, whether its tick
--             has come or not
--#include begin
--#include change
--#include users
--#include sessions
--#include holds

local out = open_once({})
if out then
  return out
end

local payment, then_release = A(2), A(4) == 'release'
local hold = hold_get(A(1))
if not hold then
  return no('RESERVATION_NOT_FOUND')
elseif hold.payment ~= payment then
  return no('PAYMENT_MISMATCH')
elseif hold.state == 'confirmed' then
  return no('ALREADY_CONFIRMED')
end

-- Only these three states have a payment: paying, expired, and confirmed.
local failed = '{"booking":"' .. hold.booking .. '","payment":"' .. payment .. '","why":' .. str(A(3))
local late = '{"late_payment_failed":' .. failed .. '}}'
if hold.state == 'expired' then
  change(late)
  set_state(hold, 'expired', hold.time)
  local u = users.get(hold.user)
  hold_put(hold, u)
  users.put(hold.user, u)
  return commit(hold_reply(hold))
end

local u, session = users.get(hold.user), sessions.get(hold.user)
if hold.time <= now then
  -- The hold ran out already, and its tick has not come yet.
  expiry_of(hold, u, session)
  change(late)
  set_state(hold, 'expired', now)
  hold_put(hold, u)
  users.put(hold.user, u)
  return commit(hold_reply(hold))
end

local till = math.max(now + AFTER_FAILED_PAYMENT_MS, hold.before)
change('{"payment_failed":' .. failed .. ',"until":' .. int(till) .. '}}')
if then_release then
  change('{"hold_released":{"booking":"' .. hold.booking .. '"}}')
  set_state(hold, 'released', now)
  end_hold(hold, u)
  sessions.session_after(hold.user, session, u, 'payment_failed')
  users.put(hold.user, u)
else
  set_state(hold, 'held', till)
  hold_put(hold)
end
return commit(hold_reply(hold))
