-- A sign of life from a waiting visitor; it is written down only from time to time.
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
local where, found = standing(user, place)
if not where then
  return no('PLACE_NOT_FOUND')
end
if where == 'waiting' and see_due(user, found.number) then
  change('{"place_seen":{"place":"' .. place .. '","user":"' .. user .. '"}}')
  line.see(user, found.number)
end
return commit(DONE)
