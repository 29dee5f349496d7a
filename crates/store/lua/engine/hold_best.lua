-- Holds the best seats there are for a booking, with what is named beside them, all or nothing.
--
-- Args      1 booking · 2 user · 3 what is asked for as JSON · 4 how many seats · 5 must or prefer ·
--           6 the highest price of each, or '' · 7 how many of them are wheelchair places · 8 channels
--           that the visitor may use, with commas between them · 9 ticket types that are named as JSON, or
--           '' · 10 how many seats are wanted most · their ids · how many categories · their names · how
--           many sections · of each its name, and the name encoded · lines beside, if there are any
--           (include/lines)
-- Reply     {"hold":…}; the same booking, user and wish again change nothing
--           {'lost', …} for seats that an older version added: the event is rebuilt
-- Refusals  BOOKING_MISMATCH ZONE_NOT_FOUND SEAT_NOT_FOUND CATEGORY_NOT_FOUND SECTION_NOT_FOUND
--           EVENT_NOT_OPEN VISITOR_BANNED NOT_YOUR_TURN SESSION_OVER INSUFFICIENT_STOCK
--           SEAT_UNAVAILABLE USER_LIMIT_EXCEEDED TOO_MANY_ENDED TOO_FEW_SEATS NOT_TOGETHER
--           LEAVES_SINGLE_SEAT COMPANION_ALONE TOO_FEW_ACCESSIBLE CHANNEL_NOT_FOUND CHANNEL_QUOTA
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
--#include best

local out = open({
  'room', 'bans', 'max_per_user', 'limits', 'hold_ttl_ms', 'fee_fixed_minor', 'fee_percent_bp', 'currency',
  'amount_step_minor', 'sections', 'single_seats', 'prices', 'types',
})
if out then
  return out
end

local booking, user, asked = A(1), A(2), A(3)
local quantity, together, price_max, accessible = tonumber(A(4)), A(5), tonumber(A(6)), tonumber(A(7))

local known = hold_get(booking)
if known then
  if known.user == user and known.asked == asked and types_asked(known) == A(9) then
    return commit(hold_reply(known))
  end
  return no('BOOKING_MISMATCH')
end
if redis.call('EXISTS', K.seats) == 1 and redis.call('EXISTS', K.segments) == 0 then
  return {'lost', int(seq), M.epoch or '0'}
end

local is_category, is_section, first_choice, at = nil, nil, {}, 11
for _ = 1, tonumber(A(10)) do
  first_choice[#first_choice + 1] = A(at)
  at = at + 1
end
local categories_from = at + 1
for _ = 1, tonumber(A(at)) do
  is_category = is_category or {}
  is_category[A(at + 1)] = true
  at = at + 1
end
local categories_to = at
at = at + 1
local sections_from = at + 1
for _ = 1, tonumber(A(at)) do
  is_section = is_section or {}
  is_section[A(at + 2)] = true
  at = at + 2
end
local beside = A(at + 1) and lines_from(at + 1)
  or { json = '', pools = {}, quantities = {}, seats = {}, units = 0 }

local stock = stock_read(beside)
local refusal, session = check_lines_exist(beside, stock) or check_companions(beside), nil
if refusal then
  return refusal
end
stock.categories = categories_get()
local by_name = {}
for _, category in pairs(stock.categories) do
  by_name[category.name] = true
end
for i = categories_from, categories_to do
  if not by_name[A(i)] then
    return no('CATEGORY_NOT_FOUND', '"category":' .. str(A(i)))
  end
end
local sections = ',' .. (M.sections or '') .. ','
for i = sections_from, at, 2 do
  if not M.sections or not string.find(sections, ',' .. A(i + 1) .. ',', 1, true) then
    return no('SECTION_NOT_FOUND', '"section":' .. str(A(i)))
  end
end
first_choice = seats_get(first_choice)
for nth, seat in ipairs(first_choice) do
  if not seat then
    return no('SEAT_NOT_FOUND', '"seat":' .. str(A(10 + nth)))
  end
end
local channels, usable, sources = A(8) ~= '' and channels_open(), {}, {}
if channels then
  usable, refusal = channels.may_use(A(8))
  if refusal then
    return refusal
  end
end
local types, prices, groups = types_open(A(9)), {}, nil
if types then
  groups, refusal = types.groups(beside, stock)
  if refusal then
    return refusal
  end
  prices, refusal = types.best_prices(stock.categories, quantity, groups, is_category)
else
  for index, category in pairs(stock.categories) do
    prices[index] = category_price(category)
  end
end
if not refusal then
  refusal, session = check_may_take(user)
end
if refusal then
  return refusal
elseif channels then
  sources, refusal = channels.sources(usable, beside, stock)
else
  refusal = check_lines_free(beside, stock)
end
if refusal then
  return refusal
end
local u = users.get(user)
local limits = limits_open(user, u)
refusal = check_user_limit(u, beside.units + quantity)
if limits and not refusal then
  local named = limits.asked(beside, stock, groups)
  refusal = limits.best(quantity, named, prices, stock.categories, is_category, types)
end
refusal = refusal or check_few_ended(u)
if refusal then
  return refusal
end

local is_strict = M.single_seats == 'refuse'
local filter = {categories = {}, sections = is_section, named = nil, is_strict = is_strict}
-- No more than so many seats are free for everybody: sections, and whom they are kept for, are not counted.
local free_at_most = 0
for index, category in pairs(stock.categories) do
  local affordable = prices[index] and (not price_max or prices[index] <= price_max)
  if affordable and (not is_category or is_category[category.name]) then
    filter.categories[index] = true
    free_at_most = free_at_most + category.F
  end
end
for _, seat in ipairs(stock.seats) do
  filter.named = filter.named or {}
  filter.named[seat.index] = true
end
-- The units of each type, with these seats; and the refusal.
local function groups_with(lines, seats, chosen)
  local all = {pools = stock.pools, seats = seats, categories = stock.categories}
  local found, wrong = types.groups(lines, all, chosen)
  return found, wrong or types.check_limits(found)
end
local function suits(seats)
  if not types then
    return true
  end
  local chosen = {}
  for nth, seat in ipairs(seats) do
    chosen[nth] = seat.id
  end
  local lines = lines_with_seats(beside, chosen)
  local _, wrong = groups_with(lines, seats_get(lines.seats), chosen)
  return not wrong
end
local best, is_first = nil, false
if accessible > 0 then
--#include accessible
  for _, it in ipairs(usable) do
    if not best and it.left >= quantity then
      filter.channel = it.channel.id
      best = accessible_best(accessible, quantity - accessible, filter, prices, price_max)
    end
  end
  if not best then
    filter.channel = nil
    best, refusal = accessible_best(accessible, quantity - accessible, filter, prices, price_max)
  end
  if refusal then
    return refusal
  end
else
  filter.signs = channels and channels.signs(usable) or nil
  is_first = first_choice[1] and best_let_all(first_choice, filter)
    and not (channels and channels.is_over(usable, first_choice)) and suits(first_choice)
  best = is_first and {} or nil
  for nth, seat in ipairs(is_first and first_choice or {}) do
    best[nth] = seat.id
  end
  for _, it in ipairs(usable) do
    local id = it.channel.id
    if not best and it.left >= quantity and channels.free_seats(id, filter.categories) >= quantity then
      filter.signs = {[channels.letter(id)] = true}
      best = best_seats(quantity, together, filter)
    end
  end
  filter.signs = nil
  best = best or free_at_most >= quantity and best_seats(quantity, together, filter)
end
if not best then
  local free, longest = 0, 0
  if free_at_most > 0 then
    free, longest = best_shortage(filter)
  end
  if free < quantity then
    return no('TOO_FEW_SEATS', '"free":' .. int(free))
  end
  return no('NOT_TOGETHER', '"longest":' .. int(longest) .. ',"free":' .. int(free))
end

local lines = lines_with_seats(beside, best)
stock.seats = seats_get(lines.seats)
if is_strict and (beside.seats[1] or is_first) then
--#include singles
  -- A first choice that is had is like seats that are named.
  local exempt = {}
  for _, seat in ipairs(is_first and {} or seats_get(best)) do
    exempt[seat.index] = true
  end
  refusal = singles_check(stock.seats, exempt, channels and channels.signs(usable))
  if refusal then
    return refusal
  end
end
if types then
  groups, refusal = groups_with(lines, stock.seats, best)
  if refusal then
    return refusal
  end
end
local hold = new_hold(booking, user, lines.json, prices_minor(lines, stock, groups))
hold.asked = asked
if groups then
  types.keep(hold, groups)
end
if channels then
  for nth, seat in ipairs(stock.seats) do
    sources[#lines.pools + nth] = seat.state == 'A' and seat.of or ''
  end
  hold.sources = sources_text(sources)
end
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
