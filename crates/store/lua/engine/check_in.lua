-- Lets the owner of a ticket in, once. The same scan again gets the first answer.
--
-- Args      1 booking · 2 the ticket's number within it, from 1 · 3 the scan, '' if it has no name
-- Reply     {"hold":…}
-- Refusals  RESERVATION_NOT_FOUND INVALID_STATUS TICKET_NOT_FOUND ALREADY_CHECKED_IN
-- Changes   checked_in
--#include begin
--#include change
--#include lines
--#include holds

local out = open_once({})
if out then
  return out
end

local ticket = tonumber(A(2))
local hold = hold_get(A(1))
if not hold then
  return no('RESERVATION_NOT_FOUND')
elseif hold.state ~= 'confirmed' then
  return no('INVALID_STATUS', '"booking_status":"' .. hold.state .. '"')
end
local tickets = lines_read(hold.lines).units
if ticket < 1 or ticket > tickets then
  return no('TICKET_NOT_FOUND', '"tickets":' .. int(tickets))
end

-- The list stays sorted by ticket, so the new one goes before the first that is higher.
local scan = A(3)
local named = scan == '' and '' or ':' .. scan
local checkins, entry = {}, int(ticket) .. ':' .. int(now) .. named
for known, at, by in string.gmatch(hold.checkins, '(%d+):(%-?%d+):?(%x*)') do
  if tonumber(known) == ticket then
    if scan ~= '' and by == scan then
      return commit(hold_reply(hold))
    end
    return no('ALREADY_CHECKED_IN', '"checked_in_at":' .. at)
  end
  if entry and tonumber(known) > ticket then
    checkins[#checkins + 1], entry = entry, nil
  end
  checkins[#checkins + 1] = known .. ':' .. at .. (by == '' and '' or ':' .. by)
end
checkins[#checkins + 1] = entry

change('{"checked_in":{"booking":"' .. hold.booking .. '","ticket":' .. int(ticket)
  .. (scan == '' and '' or ',"scan":"' .. scan .. '"') .. '}}')
hold.checkins = table.concat(checkins, ',')
hold_put(hold)
return commit(hold_reply(hold))
