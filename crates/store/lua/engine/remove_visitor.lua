-- Takes everything from a visitor that is not paid for, and bans them if wished. A hold stays while
-- its payment runs.
--
-- Keys      FIRST_STREAM the user's stream
-- Args      1 user · 2 who and why, as JSON · 3 '1' bans them
-- Reply     {"removed":{…}}; {'busy', ms, seq, epoch} while a node fixes the list of entrants
-- Refusals  EVENT_NOT_FOUND INVALID_SETTINGS (the node's) BAN_LIST_FULL
-- Changes   visitor_removed, then hold_released for each unpaid hold, the latest first, place_left
--           for each waiting place, [session_ended] [slot_freed]; none if there is nothing to take
--           and nobody to ban
--#include change
--#include places
--#include holds
--#include bans

local out = open_once{'barred_until', 'bans', unpack(PLACE_FIELDS)}
if out then return out end

local user = A(1)
local was_banned = is_banned(user)
local banned = A(3) == '1' and not was_banned
local bans = tonumber(M.bans or '0')
if banned and bans >= MAX_BANS_PER_EVENT then
  return no('BAN_LIST_FULL', '"limit":' .. int(MAX_BANS_PER_EVENT))
end

local u, session = users.get(user), sessions.get(user)
local places = users.places_of(u)
if places[1] and M.opened ~= '1' and tonumber(M.barred_until or '0') > now then
  return {'busy', int(tonumber(M.barred_until) - now), int(seq), M.epoch or '0'}
end
local held, paying, bookings = {}, {}, users.bookings_of(u)
for i = #bookings, 1, -1 do
  local hold = hold_get(bookings[i])
  if hold.state == 'paying' then
    paying[#paying + 1] = '"' .. hold.booking .. '"'
  elseif hold.state == 'held' then
    held[#held + 1] = hold
  end
end
local session_ends = session and session.state ~= 'ended'
local reply = '{"removed":{"user":"' .. user .. '","places":' .. int(#places) .. ',"session":'
  .. tostring(session_ends or false) .. ',"released":' .. int(#held) .. ',"paying":['
  .. table.concat(paying, ',')
  .. '],"banned":' .. tostring(banned or was_banned) .. '}}'
if not (banned or held[1] or places[1] or session_ends) then
  return commit(reply)
end

change('{"visitor_removed":{"user":"' .. user .. '","reason":' .. A(2) .. ',"banned":'
  .. tostring(banned) .. '}}')
for _, hold in ipairs(held) do
  change('{"hold_released":{"booking":"' .. hold.booking .. '"}}')
  set_state(hold, 'released', now)
  end_hold(hold, u)
end
for _, place in ipairs(places) do
  place_left(user, u, place, 'removed', PLACES)
end
if session then
  sessions.end_session(user, session, 'removed')
  session.live_holds = session.live_holds - #held
  if paying[1] then
    sessions.put(user, session)
  else
    sessions.free(user, session, u)
  end
end
users.put(user, u)
if banned then
  redis.call('HSET', K.bans, user, ban_text({ at = now, reason = A(2) }))
  put_meta('bans', int(bans + 1))
end
return commit(reply)
