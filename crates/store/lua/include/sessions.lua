--#include users
--#include line
-- Sessions: the slots of the room, and until when each is somebody's (core/src/waiting_room/session.rs).
--
-- Hash `sessions`: user -> `place|number|state|until|arrive_by|live_holds`, state invited, active
-- or ended; `until` and `arrive_by` are empty where the state has none. Its length is the slots in
-- use. Deadlines of a session: `3:<number>:<user>` (no-show) while invited, `4:<number>:<user>`
-- (end) until it ended.
--
--   local s = sessions.get(user)           nil if there is none; s.place, s.number, s.state,
--                                          s.until_at, s.arrive_by, s.live_holds
--   sessions.parse(text)                   the same of a field's value
--   sessions.put(user, s)                  writes the field, not the deadlines, and counts who is choosing
--   sessions.may_hold(s, at)               whether new holds are possible
--   sessions.arrival(user, s)              who takes something has shown up: if still only invited,
--                                          says so (a change) and drops the no-show's deadline.
--                                          Changes s: put it afterwards (with the hold counted in)
--   sessions.place_hold(user, s)           counts one more live hold and puts it
--   sessions.slot_after(user, s, u)        after a live hold ended by release or expiry: counts it
--                                          down; frees the slot if it was the last of a session
--                                          that is over
--   sessions.session_after(user, s, u, how)
--                                          after a live hold ended by confirmation or decline:
--                                          counts it down; the session ends (`completed`,
--                                          `payment_failed`) and frees its slot unless the user
--                                          holds more
-- The last two emit their changes, so call them right after the hold's own change (core's order),
-- and write; s may be nil (then they do nothing). u = users.get(user): a freed slot lets the user's
-- waiting places be admitted again.
--#include gone
--#include counts
local sessions = {}

function sessions.parse(text)
  if not text then
    return nil
  end
  local s = read_session(text)
  s.counted = counts.is_choosing(s)
  return s
end

-- Counts people who are choosing; `now` is 1 or 0 for this one.
local function count_choosing(s, now)
  counts.add('choosing', now - (s.counted or 0))
  s.counted = now
end

function sessions.get(user)
  return sessions.parse(redis.call('HGET', K.sessions, user))
end

function sessions.put(user, s)
  count_choosing(s, counts.is_choosing(s))
  redis.call('HSET', K.sessions, user, session_text(s))
end

function sessions.may_hold(s, at)
  if s.state == 'invited' then
    return at < s.until_at and at < s.arrive_by
  end
  return s.state == 'active' and at < s.until_at
end

local function deadline_member(kind, user, number)
  return kind .. ':' .. line.member(user, number)
end

-- Gives a user a slot.
function sessions.insert(user, s)
  redis.call('ZADD', K.deadlines, int(s.arrive_by), deadline_member('3', user, s.number),
    int(s.until_at), deadline_member('4', user, s.number))
  sessions.put(user, s)
end

function sessions.arrival(user, s)
  if s and s.state == 'invited' then
    change('{"arrived":{"place":"' .. s.place .. '","user":"' .. user .. '"}}')
    redis.call('ZREM', K.deadlines, deadline_member('3', user, s.number))
    s.state, s.arrive_by = 'active', nil
  end
end

function sessions.place_hold(user, s)
  if s then
    s.live_holds = s.live_holds + 1
    sessions.put(user, s)
  end
end

-- Ends a session for new holds, unless it is over already. Changes s: put it, or free the slot.
function sessions.end_session(user, s, how)
  if s.state ~= 'ended' then
    change('{"session_ended":{"place":"' .. s.place .. '","user":"' .. user .. '","how":"' .. how .. '"}}')
    redis.call('ZREM', K.deadlines, deadline_member('3', user, s.number),
      deadline_member('4', user, s.number))
    s.state, s.until_at, s.arrive_by = 'ended', nil, nil
  end
end

-- Frees the slot of a session that is over.
function sessions.free(user, s, u)
  gone.add(s.place)
  change('{"slot_freed":{"place":"' .. s.place .. '","user":"' .. user .. '"}}')
  count_choosing(s, 0)
  redis.call('HDEL', K.sessions, user)
  line.park(user, u, false)
end

function sessions.slot_after(user, s, u)
  if not s then
    return
  end
  if s.live_holds == 1 and s.state == 'ended' then
    sessions.free(user, s, u)
  else
    s.live_holds = s.live_holds - 1
    sessions.put(user, s)
  end
end

function sessions.session_after(user, s, u, how)
  if not s then
    return
  end
  if s.live_holds > 1 then
    s.live_holds = s.live_holds - 1
    sessions.put(user, s)
  else
    sessions.end_session(user, s, how)
    sessions.free(user, s, u)
  end
end
