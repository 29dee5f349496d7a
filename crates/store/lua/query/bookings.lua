-- A user's bookings, oldest first.
--
-- Args      1 user
-- Reply     [{"hold":{…}},…]
-- Refusals  EVENT_NOT_FOUND
--#include change
--#include holds

local out = open{}
if out then return out end

local found = {}
for _, booking in ipairs(users.bookings_of(users.get(A(1)))) do
  found[#found + 1] = hold_reply(hold_get(booking))
end
return commit('[' .. table.concat(found, ',') .. ']')
