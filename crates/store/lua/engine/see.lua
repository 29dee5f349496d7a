-- A sign of life from a visitor, for all places with which they wait; it is written down only from
-- time to time.
--
-- Args      1 place · 2 user
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, PLACE_NOT_FOUND
-- Changes   place_seen, or none
--#include change
--#include places

local out = open(PLACE_FIELDS)
if out then return out end

local place, user = A(1), A(2)
local where, _, u = standing(user, place)
if not where then
  return no('PLACE_NOT_FOUND')
end
for _, found in ipairs(users.places_of(u)) do
  if see_due(user, found.number) then
    change('{"place_seen":{"place":"' .. found.id .. '","user":"' .. user .. '"}}')
    line.see(user, found.number)
  end
end
return commit(DONE)
