-- Where one of a user's places stands; reads only.
--
-- Keys      FIRST_STREAM the user's stream
-- Args      1 user · 2 place, or '' for the session or else the place served first · 3 '1' reads
--           the order of the user's places from the stream (flag streams_queue), else '0'
-- Reply     a PlaceView as JSON
-- Refusals  EVENT_NOT_FOUND, PLACE_NOT_FOUND
--#include change
--#include places
--#include ended

local out = open(PLACE_FIELDS)
if out then return out end

local user, place = A(1), A(2)

if place ~= '' then
  local where, found, u = standing(user, place)
  local view
  if where == 'waiting' then
    view = waiting_view(user, found)
  elseif where == 'in' then
    view = session_view(user, found, u) or ended_view(found, u)
  end
  if view then return commit(view) end
  return no('PLACE_NOT_FOUND')
end

local session, u = sessions.get(user), users.get(user)
local view = session and session_view(user, session, u)
if view then return commit(view) end

-- The user's places in the order of the stream. It lacks what was taken before the event allowed
-- several places, and after a rebuild one may be left that names others: then they are as they were.
local function as_streamed(places)
  if #places == 0 or redis.call('XLEN', PLACES) ~= #places then
    return places
  end
  local ids, streamed = {}, {}
  for _, known in ipairs(places) do
    ids[known.number] = known.id
  end
  for _, entry in ipairs(redis.call('XRANGE', PLACES, '-', '+')) do
    local id, number = entry[2][2], tonumber(string.match(entry[1], '^%d+'))
    if ids[number] ~= id then
      return places
    end
    streamed[#streamed + 1] = { id = id, number = number }
  end
  return streamed
end

local places = users.places_of(u)
if A(3) == '1' and PLACES then
  places = as_streamed(places)
end
for _, known in ipairs(places) do
  if not has_lapsed(user, known.number) then
    return commit(waiting_view(user, known))
  end
end
if session then return commit(ended_view(session, u)) end
return no('PLACE_NOT_FOUND')
