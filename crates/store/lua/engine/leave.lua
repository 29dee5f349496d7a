-- Gives a place or a session up; an active visitor's unpaid holds are released.
--
-- Keys      FIRST_STREAM the user's stream
-- Args      1 place · 2 user
-- Reply     {"left":"queue"} or {"left":"active"}; {'busy', ms, seq, epoch} while a node fixes the
--           list of entrants
-- Refusals  EVENT_NOT_FOUND, PLACE_NOT_FOUND, CANNOT_CANCEL
-- Changes   place_left, or: hold_released for each hold, the latest first, (session_ended,) slot_freed
--#include change
--#include places
--#include holds

local out = open_once{'barred_until', unpack(PLACE_FIELDS)}
if out then return out end

local user = A(2)
local where, found, u = standing(user, A(1))
if not where then
  return no('PLACE_NOT_FOUND')
end

if where == 'waiting' then
  if M.opened ~= '1' and tonumber(M.barred_until or '0') > now then
    return {'busy', int(tonumber(M.barred_until) - now), int(seq), M.epoch or '0'}
  end
  place_left(user, u, found, 'left', PLACES)
  users.put(user, u)
  return commit('{"left":"queue"}')
end

local live = {}
if found.live_holds > 0 then
  local bookings = users.bookings_of(u)
  for i = #bookings, 1, -1 do
    local hold = hold_get(bookings[i])
    if hold.state == 'paying' then
      return no('CANNOT_CANCEL')
    elseif hold.state == 'held' then
      live[#live + 1] = hold
    end
  end
end
for _, hold in ipairs(live) do
  change('{"hold_released":{"booking":"' .. hold.booking .. '"}}')
  set_state(hold, 'released', now)
  end_hold(hold, u)
end
sessions.end_session(user, found, 'left')
sessions.free(user, found, u)
users.put(user, u)
return commit('{"left":"active"}')
