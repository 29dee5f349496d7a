-- Gives a hold more time. An extension that gave some and is asked for again gives no more: it gets the
-- booking as it is.
--
-- Args      1 booking · 2 user · 3 the extension, '' if it has no name
-- Reply     {"hold":…}
-- Refusals  RESERVATION_NOT_FOUND ALREADY_RELEASED ALREADY_CONFIRMED HOLD_EXPIRED INVALID_STATUS
--           EXTENSION_LIMIT CANNOT_CANCEL
-- Changes   hold_extended
--
-- Hash `extended`: the names of a booking's extensions, 32 digits each, with commas between them, where
-- some had one. It is a key of its own since an older version reads the hash `holds` as well. That version
-- leaves a field behind as it forgets the booking: of one that was never extended it is an earlier one's.
--#include begin
--#include change
--#include gaps
--#include holds

local out = open_once({ 'hold_ttl_ms', 'hold_max_ms', 'extensions', 'gaps' })
if out then
  return out
end

local hold = booking_of(A(1), A(2))
local extension = A(3)
if not hold then
  return no('RESERVATION_NOT_FOUND')
end

local named = ''
if extension ~= '' and hold.extensions ~= '0' then
  named = redis.call('HGET', K.extended, hold.booking) or ''
end
if extension ~= '' and string.find(named, extension, 1, true) then
  return commit(hold_reply(hold))
elseif hold.state == 'paying' then
  return no('CANNOT_CANCEL')
elseif hold.state ~= 'held' or hold.time <= now then
  return no_longer_held(hold)
end

local longest = tonumber(hold.created) + tonumber(M.hold_max_ms) + gaps.since_ms(hold.created)
local extended = math.min(now + tonumber(M.hold_ttl_ms), longest)
local limit = tonumber(M.extensions)
if tonumber(hold.extensions) >= limit or extended <= hold.time then
  return no('EXTENSION_LIMIT', '"limit":' .. int(limit))
end

change('{"hold_extended":{"booking":"' .. hold.booking .. '","until":' .. int(extended)
  .. (extension == '' and '' or ',"extension":"' .. extension .. '"') .. '}}')
set_state(hold, 'held', extended)
if extension ~= '' then
  redis.call('HSET', K.extended, hold.booking, named == '' and extension or named .. ',' .. extension)
end
hold.extensions = int(hold.extensions + 1)
hold_put(hold)
return commit(hold_reply(hold))
