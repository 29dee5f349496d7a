-- An admitted visitor shows up.
--
-- Args      1 place · 2 user
-- Reply     {"place":{…}}
-- Refusals  EVENT_NOT_FOUND, PLACE_NOT_FOUND, NOT_YOUR_TURN, SESSION_OVER
-- Changes   arrived, or none if the user was there already
--#include change
--#include places

local out = open(PLACE_FIELDS)
if out then return out end

local user = A(2)
local where, session, u = standing(user, A(1))
if not where then
  return no('PLACE_NOT_FOUND')
end
if where == 'waiting' then
  return no('NOT_YOUR_TURN')
end
if not sessions.may_hold(session, now) then
  return no('SESSION_OVER')
end
if session.state == 'invited' then
  sessions.arrival(user, session)
  sessions.put(user, session)
end
return commit('{"place":' .. session_view(user, session, u) .. '}')
