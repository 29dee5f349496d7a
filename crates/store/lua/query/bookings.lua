-- A page of a user's bookings, oldest first.
--
-- Args      1 user · 2 the last booking of the page before, or '' · 3 how many at most
-- Reply     [{"hold":{…}},…]
-- Refusals  EVENT_NOT_FOUND, RESERVATION_NOT_FOUND
--#include change
--#include holds

local out = open{}
if out then return out end

local page = users.page_of_bookings(users.get(A(1)), A(2), tonumber(A(3)))
if not page then return no('RESERVATION_NOT_FOUND') end
local found = {}
for _, booking in ipairs(page) do
  found[#found + 1] = hold_reply(hold_get(booking))
end
return commit('[' .. table.concat(found, ',') .. ']')
