-- Bookings, from their hold on until they are forgotten, as core/src/bookings.rs and hold.rs.
--
--   hold_get(booking)            the booking, or nil
--   booking_of(booking, user)    the user's own booking, or nil: another's is as good as none
--   hold_put(hold, u)            writes it and its deadline; a hold that ends is counted in u,
--                                which the others need not give
--   hold_reply(hold)             the Reply about it, as JSON
--   no_longer_held(hold)         the refusal for a booking that is neither held nor paid for any more
--   set_state(hold, state, time, payment, before)   its new state; time is its deadline or since
--                                                   when. Writes nothing
--   new_hold(booking, user, lines, prices, price)   a hold of these lines (JSON), at these prices
--                                as prices.lua gives them, with fees on them all. Writes nothing
--   place_hold(hold, units, u)   writes a new hold, with its change; its units are taken by the caller
--   end_hold(hold, u)            after set_state on a live hold: its units are sold if it is
--                                confirmed, else free. Writes
--   confirm_late(hold, u)        after set_state on an expired hold: takes its units again, and
--                                sells them. Writes
--   expiry_of(hold, u, session)  the end of a live hold by its deadline, with its changes
-- These change u (the user, of users.lua) and do not write it: put it as the last thing.
--   expire_hold(booking), forget_hold(booking), move_hold(booking, gap_ms)   what ticks and recoveries do
--
-- A booking: { booking, state, user, amount, fee, created, time, before, payment, refund, payments,
-- extensions, checkins, lines, prices, sources, types, payers, asked }: state
-- held|paying|confirmed|released|expired|cancelled; `before` is nil unless paying; payment is '' for
-- none; checkins is 'ticket:at[:scan],…' by ticket; lines is JSON, and so is asked, '' unless seats were left
-- to the rules; prices are as prices.lua gives them, and sources as channels.lua does; types are
-- id,price,proof,name,line:quantity,…/…;asked: the units of each type (names encoded, lines counted
-- from 0), and what was named as JSON; payers are as payers.lua gives them. In the hash these are one
-- field, prices;@sources;#types;&payers;asked, without those that are ''.
-- All are texts as in the hash, except the numbers `time` and `before`. In the hash all but the id
-- stand between bars, as shared.lua reads and writes them. Deadlines: 1:<booking> when it expires,
-- 6:<booking> when it may be forgotten.

--#include begin
--#include change
--#include lines
--#include channels
--#include users
--#include sessions
--#include money
--#include payers

-- The kind and time of the one deadline a booking has, if it has one.
local function hold_deadline(hold)
  local state = hold.state
  if state == 'held' or state == 'paying' then
    return '1:', hold.time
  end
  -- Money may still arrive for a hold that ran out under a payment: then its lines are needed.
  if state == 'released' or state == 'cancelled' or (state == 'expired' and hold.payment == '') then
    return '6:', hold.time + ENDED_KNOWN_MS
  end
end

local function hold_get(booking)
  local text = redis.call('HGET', K.holds, booking)
  if not text then
    return nil
  end
  local hold = read_hold(booking, text)
  hold.prices, hold.asked = string.match(hold.more, '^([%d,]*);?(.*)$')
  hold.sources = ''
  if string.sub(hold.asked, 1, 1) == '@' then
    hold.sources, hold.asked = string.match(hold.asked, '^@([^;]*);(.*)$')
  end
  hold.types = ''
  if string.sub(hold.asked, 1, 1) == '#' then
    hold.types, hold.asked = string.match(hold.asked, '^#([^;]*;[^;]*);(.*)$')
  end
  hold.payers = ''
  if string.sub(hold.asked, 1, 1) == '&' then
    hold.payers, hold.asked = string.match(hold.asked, '^&([^;]*);(.*)$')
  end
  hold.waits_in = hold_deadline(hold)
  return hold
end

local function booking_of(booking, user)
  local hold = hold_get(booking)
  return hold and hold.user == user and hold or nil
end

local function hold_put(hold, u)
  local kind, at = hold_deadline(hold)
  if kind == '6:' then
    -- Who paid for what has ended is forgotten.
    hold.payers = ''
  end
  local more = (hold.prices == '' and '' or hold.prices .. ';')
    .. (hold.sources == '' and '' or '@' .. hold.sources .. ';')
    .. (hold.types == '' and '' or '#' .. hold.types .. ';')
    .. (hold.payers == '' and '' or '&' .. hold.payers .. ';') .. hold.asked
  redis.call('HSET', K.holds, hold.booking, hold_text(hold, more))
  if hold.waits_in and hold.waits_in ~= kind then
    redis.call('ZREM', K.deadlines, hold.waits_in .. hold.booking)
  end
  if kind then
    redis.call('ZADD', K.deadlines, int(at), kind .. hold.booking)
  end
  if kind == '6:' and hold.waits_in ~= kind then
    u.ended = u.ended + 1
  end
  hold.waits_in = kind
end

local function set_state(hold, state, time, payment, before)
  hold.state, hold.time, hold.payment, hold.before = state, time, payment or '', before
end

-- Where a hold's lines come from, as JSON.
local function hold_sources(hold)
  if hold.sources == '' then
    return ''
  end
  local sources = {}
  for source in string.gmatch(hold.sources .. ',', '([^,]*),') do
    sources[#sources + 1] = source == '' and 'null' or '"' .. source .. '"'
  end
  return ',"sources":[' .. table.concat(sources, ',') .. ']'
end

-- The types of a hold's units, as JSON.
local function hold_types(hold)
  if hold.types == '' then
    return ''
  end
  local held, asked = string.match(hold.types, '^([^;]*);(.*)$')
  local all = {}
  local each = '([^,/]+),(%d+),(%d),([^,]*),([^/]+)'
  for id, price, proof, name, units in string.gmatch(held, each) do
    name = string.gsub(name, '%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end)
    units = string.gsub(units, '(%d+):(%d+)', '[%1,%2]')
    all[#all + 1] = '{"id":"' .. id .. '","name":' .. str(name) .. (proof == '1' and ',"proof":true' or '')
      .. ',"price_minor":' .. price .. ',"units":[' .. units .. ']}'
  end
  return ',"types":{' .. (asked == '' and '' or '"asked":' .. asked .. ',')
    .. '"held":[' .. table.concat(all, ',') .. ']}'
end

local function hold_terms(hold)
  local fee = hold.fee == '0' and '' or ',"fee_minor":' .. hold.fee
  local asked = hold.asked == '' and '' or ',"asked":' .. hold.asked
  local prices = hold.prices == '' and '' or ',"prices_minor":[' .. hold.prices .. ']'
  return '"booking":"' .. hold.booking .. '","user":"' .. hold.user .. '","lines":' .. hold.lines
    .. asked .. prices .. hold_sources(hold) .. hold_types(hold)
    .. ',"amount_minor":' .. hold.amount .. fee .. ',"created_at":' .. hold.created
end

local function hold_state(hold)
  local state = '"status":"' .. hold.state .. '"'
  local payment = hold.payment == '' and '' or ',"payment":"' .. hold.payment .. '"'
  if hold.state == 'held' then
    return state .. ',"until":' .. int(hold.time)
  elseif hold.state == 'paying' then
    return state .. ',"until":' .. int(hold.time) .. ',"before":' .. int(hold.before) .. payment
  elseif hold.state == 'cancelled' then
    return state .. ',"at":' .. int(hold.time) .. ',"refund_minor":' .. hold.refund
  end
  return state .. ',"at":' .. int(hold.time) .. payment
end

local function hold_reply(hold)
  local checked_in = ''
  if hold.checkins ~= '' then
    checked_in = string.gsub(hold.checkins, '(%d+):(%-?%d+):?(%x*)', function(ticket, at, scan)
      return '{"ticket":' .. ticket .. ',"at":' .. at
        .. (scan == '' and '' or ',"scan":"' .. scan .. '"') .. '}'
    end)
    checked_in = ',"checked_in":[' .. checked_in .. ']'
  end
  return '{"hold":{' .. hold_terms(hold) .. ',' .. hold_state(hold) .. ',"payments":' .. hold.payments
    .. ',"extensions":' .. hold.extensions .. checked_in .. '}}'
end

local function no_longer_held(hold)
  if hold.state == 'confirmed' then
    return no('ALREADY_CONFIRMED')
  elseif hold.state == 'released' then
    return no('ALREADY_RELEASED')
  elseif hold.state == 'cancelled' then
    return no('INVALID_STATUS', '"booking_status":"cancelled"')
  end
  return no('HOLD_EXPIRED')
end

-- The fees on units of this price; half a step counts as one.
local function fees_on_minor(price)
  if price == 0 then
    return 0
  end
  local share = share_minor(price, tonumber(M.fee_percent_bp or '0'), 10000, false)
  return tonumber(M.fee_fixed_minor or '0') + share
end

local function new_hold(booking, user, lines, prices, price)
  local fee = fees_on_minor(price)
  return {
    booking = booking, state = 'held', user = user, amount = int(price + fee), fee = int(fee),
    created = int(now), time = now + tonumber(M.hold_ttl_ms), payment = '', refund = '0',
    payments = '0', extensions = '0', checkins = '',
    lines = lines, prices = prices, sources = '', types = '', payers = '', asked = '',
  }
end

local function place_hold(hold, units, u)
  change('{"hold_placed":{"terms":{' .. hold_terms(hold) .. '},"until":' .. int(hold.time) .. '}}')
  hold_put(hold)
  u.units = u.units + units
  users.add_booking(u, hold.booking)
end

local function end_hold(hold, u)
  assert(hold.waits_in == '1:', 'only a live hold ends')
  local lines = lines_read(hold.lines)
  local stock = stock_read(lines)
  if hold.state == 'confirmed' then
    sell(lines, stock, hold.booking)
  else
    give_back_held(lines, stock)
    u.units = u.units - lines.units
    assert(u.units >= 0, 'a user gives back only what they have')
    count_payers(hold, -lines.units)
  end
  local channels = hold.state ~= 'confirmed' and hold.sources ~= '' and channels_open()
  if channels then
    channels.give_back(hold, lines, stock)
  end
  stock_write(stock)
  if channels then
    channels.write()
  end
  hold_put(hold, u)
end

local function confirm_late(hold, u)
  local lines = lines_read(hold.lines)
  local stock = stock_read(lines)
  local channels = hold.sources ~= '' and channels_open()
  if channels then
    channels.bring_out(hold, lines, stock, channels.sources_again(hold, lines, stock))
  end
  occupy(lines, stock, hold.booking)
  sell(lines, stock, hold.booking)
  u.units = u.units + lines.units
  count_payers(hold, lines.units)
  stock_write(stock)
  if channels then
    channels.write()
  end
  hold_put(hold)
end

local function expiry_of(hold, u, session)
  change('{"hold_expired":{"booking":"' .. hold.booking .. '"}}')
  set_state(hold, 'expired', now, hold.payment)
  end_hold(hold, u)
  sessions.slot_after(hold.user, session, u)
end

local function expire_hold(booking)
  local hold = hold_get(booking)
  local u = users.get(hold.user)
  expiry_of(hold, u, sessions.get(hold.user))
  users.put(hold.user, u)
end

local function forget_hold(booking)
  local hold = hold_get(booking)
  local u = users.get(hold.user)
  change('{"hold_forgotten":{"booking":"' .. booking .. '"}}')
  redis.call('HDEL', K.holds, booking)
  if hold.extensions ~= '0' then
    redis.call('HDEL', K.extended, booking)
  end
  redis.call('ZREM', K.deadlines, hold.waits_in .. booking)
  users.remove_booking(u, booking)
  users.count_forgotten(u)
  users.put(hold.user, u)
end

local function move_hold(booking, gap_ms)
  local hold = hold_get(booking)
  hold.time = hold.time + gap_ms
  hold.before = hold.before and hold.before + gap_ms
  hold_put(hold)
end
