-- Holds units for a booking, all or nothing.
--
-- Args      1 booking · 2 user · 3 the lines as JSON · 4 how many pools · then pool and quantity of each · then seats
-- Reply     {"hold":…}; the same booking, user and lines again change nothing
-- Refusals  BOOKING_MISMATCH ZONE_NOT_FOUND SEAT_NOT_FOUND EVENT_NOT_OPEN INVALID_STATE INSUFFICIENT_STOCK
--           SEAT_UNAVAILABLE USER_LIMIT_EXCEEDED
-- Changes   [arrived] hold_placed
--#include begin
--#include change
--#include lines
--#include users
--#include sessions
--#include taking
--#include holds

local out = open({ 'room', 'max_per_user', 'hold_ttl_ms', 'fee_fixed_minor', 'fee_percent_bp' })
if out then
  return out
end

-- The fees on units of this price; half a minor unit counts as one. A price times basis points may be more than a
-- double counts exactly, so the part of the price below 10,000 is taken by itself.
local function fees_on_minor(price)
  if price == 0 then
    return 0
  end
  local percent_bp, rest = tonumber(M.fee_percent_bp or '0'), math.fmod(price, 10000)
  local share = (price - rest) / 10000 * percent_bp + math.floor((rest * percent_bp + 5000) / 10000)
  return tonumber(M.fee_fixed_minor or '0') + share
end

local booking, user, lines = A(1), A(2), lines_from(3)

local known = hold_get(booking)
if known then
  if known.user == user and known.lines == lines.json then
    return commit(hold_reply(known))
  end
  return no('BOOKING_MISMATCH')
end

local stock = stock_read(lines)
local refusal, session = check_lines_exist(lines, stock), nil
if not refusal then
  refusal, session = check_may_take(user)
end
refusal = refusal or check_lines_free(lines, stock)
if refusal then
  return refusal
end
local u = users.get(user)
refusal = check_user_limit(u, lines.units)
if refusal then
  return refusal
end

local price = price_minor(lines, stock)
local fee = fees_on_minor(price)
local hold = {
  booking = booking, state = 'held', user = user, amount = int(price + fee), fee = int(fee), created = int(now),
  time = now + tonumber(M.hold_ttl_ms), payment = '', refund = '0', payments = '0', extensions = '0', checkins = '',
  lines = lines.json,
}
sessions.arrival(user, session)
place_hold(hold, lines, stock, u)
sessions.place_hold(user, session)
users.put(user, u)
return commit(hold_reply(hold))
