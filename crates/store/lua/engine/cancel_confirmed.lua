-- Takes a confirmed booking back; its units are free again.
--
-- Args      1 booking · 2 by · 3 why · 4 the user, if a buyer cancels by the event's rules, or '' ·
--           5 the least that the buyer agreed to get back, or '' · or what the organiser gives back, in
--           minor units; '' is all that was paid
-- Reply     {"hold":…}; again changes nothing, and is refused to an organiser who gives back another amount
-- Refusals  RESERVATION_NOT_FOUND INVALID_STATUS ALREADY_CHECKED_IN NOT_CANCELLABLE REFUND_EXCEEDS_PAID
--           REFUND_BETWEEN_STEPS REFUND_LOWERED
-- Changes   confirmed_cancelled
--#include begin
--#include change
--#include lines
--#include users
--#include holds

local out = open({ 'starts_at', 'refunds', 'currency', 'amount_step_minor' })
if out then
  return out
end

local DAY_MS = 24 * 3600000

-- The refund of a buyer who cancels now, in percent of the units' price; nil if they cannot.
-- M.refunds is 'days_before:percent,…'.
local function refund_percent()
  local starts_at, best_days, best_percent = tonumber(M.starts_at), nil, nil
  if not starts_at then
    return nil
  end
  local days_left = math.floor((starts_at - now) / DAY_MS)
  for days, percent in string.gmatch(M.refunds or '', '(%d+):(%d+)') do
    days = tonumber(days)
    if days <= days_left and days >= (best_days or 0) then
      best_days, best_percent = days, tonumber(percent)
    end
  end
  return best_percent
end

local buyer, wanted = A(4), tonumber(A(5))
local hold = hold_get(A(1))
if not hold or (buyer ~= '' and hold.user ~= buyer) then
  return no('RESERVATION_NOT_FOUND')
elseif hold.state == 'cancelled' then
  -- What goes back is decided once: nobody is told that another amount does.
  if buyer == '' and (wanted or tonumber(hold.amount)) ~= tonumber(hold.refund) then
    return no('INVALID_STATUS', '"booking_status":"cancelled"')
  end
  return commit(hold_reply(hold))
elseif hold.state ~= 'confirmed' then
  return no('INVALID_STATUS', '"booking_status":"' .. hold.state .. '"')
elseif hold.checkins ~= '' then
  return no('ALREADY_CHECKED_IN', '"checked_in_at":' .. string.match(hold.checkins, '^%d+:(%-?%d+)'))
end

local amount = tonumber(hold.amount)
local refund = wanted or amount
if buyer ~= '' then
  local percent = refund_percent()
  if not percent then
    return no('NOT_CANCELLABLE')
  end
  -- An amount that is no multiple of a step was paid where steps do not count.
  refund = math.min(share_minor(amount - tonumber(hold.fee), percent, 100, true), amount)
  if wanted and refund < wanted then
    return no('REFUND_LOWERED', '"refund_minor":' .. int(refund))
  end
elseif refund < 0 or refund > amount then
  return no('REFUND_EXCEEDS_PAID', '"paid_minor":' .. hold.amount)
elseif refund ~= amount and math.fmod(refund, step_minor()) ~= 0 then
  return no('REFUND_BETWEEN_STEPS', '"step_minor":' .. int(step_minor()))
end

local u, lines = users.get(hold.user), lines_read(hold.lines)
local stock = stock_read(lines)
give_back_sold(lines, stock)
local channels = hold.sources ~= '' and channels_open()
if channels then
  channels.give_back(hold, lines, stock)
end
u.units = u.units - lines.units
assert(u.units >= 0, 'a user gives back only what they have')
count_payers(hold, -lines.units)
change('{"confirmed_cancelled":{"booking":"' .. hold.booking .. '","reason":{"by":' .. str(A(2))
  .. ',"why":' .. str(A(3))
  .. '},"refund_minor":' .. int(refund) .. '}}')
set_state(hold, 'cancelled', now)
hold.refund = int(refund)
stock_write(stock)
if channels then
  channels.write()
end
hold_put(hold, u)
users.put(hold.user, u)
return commit(hold_reply(hold))
