-- Gives a hold more time. The extension that was the last one again gives no more: it gets the booking
-- as it is.
--
-- Args      1 booking · 2 user · 3 the extension, '' if it has no name
-- Reply     {"hold":…}
-- Refusals  RESERVATION_NOT_FOUND ALREADY_RELEASED ALREADY_CONFIRMED HOLD_EXPIRED INVALID_STATUS
--           EXTENSION_LIMIT CANNOT_CANCEL
-- Changes   hold_extended
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
elseif extension ~= '' and extension == hold.extended_by then
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
  hold.extended_by = extension
end
hold.extensions = int(hold.extensions + 1)
hold_put(hold)
return commit(hold_reply(hold))
