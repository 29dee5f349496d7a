-- Takes a place in the queue.
--
-- Keys      FIRST_STREAM the user's stream
-- Args      1 place · 2 user · 3 '0' does not count within the millisecond (flag composite_score off)
-- Reply     {"place":{…}}; {'busy', ms, seq, epoch} while a node fixes the list of entrants
-- Refusals  EVENT_NOT_FOUND, EVENT_NOT_OPEN, NO_WAITING_ROOM, VISITOR_BANNED, DUPLICATE,
--           ALREADY_IN_QUEUE, QUEUE_FULL
-- Changes   place_taken
--#include change
--#include bans
--#include joining
--#include queued
--#include sessions

local PLACES = KEYS[FIRST_STREAM]

local out = open{'room', 'places_per_user', 'max_queue_size', 'barred_until', 'bans', unpack(JOIN_FIELDS)}
if out then return out end

local place, user = A(1), A(2)
local phase = phase_at(now)
if phase == 'scheduled' or phase == 'closed' then
  return no('EVENT_NOT_OPEN', '"phase":"' .. phase .. '"')
end
if not M.room then
  return no('NO_WAITING_ROOM')
end
if is_banned(user) then
  return no('VISITOR_BANNED')
end
if gone.knows(place) then
  return no('DUPLICATE', '"place":"' .. place .. '"')
end

local u = users.get(user)
-- Nobody is in the room before the opening.
local session = M.opened == '1' and sessions.get(user)
local taken, first = 0, nil
if session then
  if session.place == place then
    return no('DUPLICATE', '"place":"' .. place .. '"')
  end
  taken, first = 1, session.place
end
if u.places ~= '' then
  for _, known in ipairs(users.places_of(u)) do
    if known.id == place then
      return no('DUPLICATE', '"place":"' .. place .. '"')
    end
    taken, first = taken + 1, first or known.id
  end
end
if first and taken >= tonumber(M.places_per_user) then
  return no('ALREADY_IN_QUEUE', '"place":"' .. first .. '"')
end
local waiting, number = line.waiting(), tonumber(M.taken or '0') + 1
if waiting >= tonumber(M.max_queue_size) or number > MAX_PLACES_EVER then
  return no('QUEUE_FULL')
end
if M.opened ~= '1' and tonumber(M.barred_until or '0') > now then
  return {'busy', int(tonumber(M.barred_until) - now), int(seq), M.epoch or '0'}
end

change('{"place_taken":{"place":"' .. place .. '","user":"' .. user .. '","number":' .. int(number) .. '}}')
line.push(user, number, session, A(3) ~= '0')
users.add_place(u, place, number)
users.put(user, u)
if PLACES and tonumber(M.places_per_user) > 1 then
  join_stream(PLACES, place, user, number)
end
local lapses = M.opened == '1' and now + tonumber(M.place_ttl_ms)
local position = positions_mean_something() and waiting + 1
return commit('{"place":' .. queued_view(place, number, position, waiting + 1, lapses, false) .. '}')
