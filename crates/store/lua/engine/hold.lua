-- Holds units for a booking, all or nothing. (hold_pool.lua does the same for units of one pool,
-- and must agree.)
--
-- Args      1 booking · 2 user · 3 channels that the visitor may use, with commas between them · 4
--           ticket types that are named as JSON, or '' · 5 the lines as JSON · 6 how many pools · then
--           pool and quantity of each · then seats
-- Reply     {"hold":…}; the same booking, user and lines again change nothing
--           {'lost', …} for seats that an older version added, where single seats are refused: the
--           event is rebuilt
-- Refusals  BOOKING_MISMATCH ZONE_NOT_FOUND SEAT_NOT_FOUND EVENT_NOT_OPEN VISITOR_BANNED
--           NOT_YOUR_TURN SESSION_OVER INSUFFICIENT_STOCK SEAT_UNAVAILABLE USER_LIMIT_EXCEEDED
--           TOO_MANY_ENDED LEAVES_SINGLE_SEAT COMPANION_ALONE CHANNEL_NOT_FOUND CHANNEL_QUOTA
--           TYPE_NOT_FOUND TYPE_LIMIT
-- Changes   [arrived] hold_placed
--#include begin
--#include change
--#include lines
--#include users
--#include sessions
--#include taking
--#include holds
--#include prices
--#include types
--#include limits

local out = open({
  'room', 'bans', 'max_per_user', 'limits', 'hold_ttl_ms', 'fee_fixed_minor', 'fee_percent_bp', 'currency',
  'amount_step_minor', 'single_seats', 'prices', 'types',
})
if out then
  return out
end

local booking, user, lines = A(1), A(2), lines_from(5)
local channels, usable, sources = A(3) ~= '' and channels_open(), nil, nil

local known = hold_get(booking)
if known then
  if known.user == user and known.lines == lines.json and known.asked == ''
    and types_asked(known) == A(4) then
    return commit(hold_reply(known))
  end
  return no('BOOKING_MISMATCH')
end

local is_strict = M.single_seats == 'refuse' and lines.seats[1]
if is_strict and redis.call('EXISTS', K.seats) == 1 and redis.call('EXISTS', K.segments) == 0 then
  return {'lost', int(seq), M.epoch or '0'}
end

local stock = stock_read(lines)
local refusal, session = check_lines_exist(lines, stock), nil
if channels and not refusal then
  usable, refusal = channels.may_use(A(3))
end
local types, groups = types_open(A(4)), nil
if types and not refusal then
  groups, refusal = types.groups(lines, stock)
end
refusal = refusal or check_companions(lines) or groups and types.check_limits(groups)
if not refusal then
  refusal, session = check_may_take(user)
end
if refusal then
  return refusal
elseif channels then
  sources, refusal = channels.sources(usable, lines, stock)
else
  refusal = check_lines_free(lines, stock)
end
if refusal then
  return refusal
end
local u = users.get(user)
local limits = limits_open(user, u)
refusal = check_user_limit(u, lines.units)
  or limits and limits.check(limits.asked(lines, stock, groups)) or check_few_ended(u)
if refusal then
  return refusal
end
if is_strict then
--#include singles
  refusal = singles_check(stock.seats, {}, channels and channels.signs(usable))
  if refusal then
    return refusal
  end
end

local hold = new_hold(booking, user, lines.json, prices_minor(lines, stock, groups))
if groups then
  types.keep(hold, groups)
end
hold.sources = channels and sources_text(sources) or ''
if hold.sources ~= '' then
  channels.bring_out(hold, lines, stock, sources)
end
occupy(lines, stock, booking)
sessions.arrival(user, session)
stock_write(stock)
if hold.sources ~= '' then
  channels.write()
end
place_hold(hold, lines.units, u)
sessions.place_hold(user, session)
users.put(user, u)
return commit(hold_reply(hold))
