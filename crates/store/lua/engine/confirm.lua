-- Makes a hold final: with its payment, or without one if nothing is to be paid.
--
-- Money that comes after the hold ran out still buys the same units, if they are free.
--
-- Args      1 booking · 2 user · 3 the payment that succeeded, or ''
-- Reply     {"hold":…}; the same payment again changes nothing
-- Refusals  RESERVATION_NOT_FOUND EVENT_NOT_OPEN INSUFFICIENT_STOCK SEAT_UNAVAILABLE USER_LIMIT_EXCEEDED
--           PAYER_LIMIT_EXCEEDED CHANNEL_QUOTA ALREADY_RELEASED ALREADY_CONFIRMED HOLD_EXPIRED INVALID_STATUS
--           PAYMENT_REQUIRED PAYMENT_MISMATCH
-- Changes   hold_confirmed [session_ended] [slot_freed] | [hold_expired [slot_freed]] hold_confirmed_late
--#include begin
--#include change
--#include lines
--#include users
--#include sessions
--#include taking
--#include holds
--#include limits

local out = open({ 'max_per_user', 'limits', 'max_per_email', 'max_per_card', 'prices' })
if out then
  return out
end

local payment = A(3)
local hold = booking_of(A(1), A(2))
if not hold then
  return no('RESERVATION_NOT_FOUND')
end

local live = hold.state == 'held' or hold.state == 'paying'
local pays_late = payment ~= '' and payment == hold.payment
  and (hold.state == 'expired' or (hold.state == 'paying' and hold.time <= now))

if pays_late then
  local refusal = check_may_buy_late()
  if refusal then
    return refusal
  end
  local u = users.get(hold.user)
  if live then
    -- The hold ran out already, and its tick has not come yet: its units are still its own.
    expiry_of(hold, u, sessions.get(hold.user))
  else
    local lines = lines_read(hold.lines)
    local stock = stock_read(lines)
    if hold.sources == '' then
      refusal = check_lines_free(lines, stock)
    else
      refusal = channels_open().check_again(hold, lines, stock)
    end
    local limits = limits_open(hold.user, u)
    refusal = refusal or check_user_limit(u, lines.units) or limits and limits.check(limits.of_hold(hold))
      or check_payers(hold, lines.units)
    if refusal then
      return refusal
    end
  end
  change('{"hold_confirmed_late":{"booking":"' .. hold.booking .. '","payment":"' .. payment .. '"}}')
  set_state(hold, 'confirmed', now, payment)
  confirm_late(hold, u)
  users.put(hold.user, u)
  return commit(hold_reply(hold))
end

if hold.state == 'confirmed' and hold.payment == payment then
  return commit(hold_reply(hold))
elseif not live or hold.time <= now then
  return no_longer_held(hold)
elseif hold.amount ~= '0' and payment == '' then
  return no('PAYMENT_REQUIRED', '"amount_minor":' .. hold.amount)
elseif hold.state == 'paying' and payment ~= hold.payment then
  return no('PAYMENT_MISMATCH')
end

local u, session = users.get(hold.user), sessions.get(hold.user)
local paid = payment == '' and '' or ',"payment":"' .. payment .. '"'
change('{"hold_confirmed":{"booking":"' .. hold.booking .. '"' .. paid .. '}}')
set_state(hold, 'confirmed', now, payment)
end_hold(hold, u)
sessions.session_after(hold.user, session, u, 'completed')
users.put(hold.user, u)
return commit(hold_reply(hold))
