-- Users: who has to do with the event, and what is theirs (core/src/users.rs).
--
-- Hash `users`: user -> `units|place:number,place:number|booking,booking|ended|pool:claimed,…`
--   units     what they hold, have confirmed, or claimed
--   places    their waiting places, in the order they are served; a place's score is in the line
--             only, since a draw changes it
--   bookings  all of their bookings that are known, oldest first
--   ended     how many of their bookings and claims wait to be forgotten; absent, with its bar,
--             while they have no bookings and none ended
--   claimed   how many units of each pool their live claims have, by pool; absent, with its bar, while
--             they have none; an older version counted these in units alone
-- A user who has nothing of these has no field (core's tidy); sessions are in the hash `sessions`.
--
--   local u = users.get(user)        never nil; u.units and u.ended numbers, u.places and
--                                    u.bookings texts as stored, and so u.claimed unless it is nil
--   users.put(user, u)               writes it, or deletes the field if nothing is left: once a
--                                    script, at the end
--   users.count_forgotten(u)         one fewer of what ended is known (in u)
--   users.add_booking(u, booking)    as their latest (in u; write it with put)
--   users.remove_booking(u, booking) wherever it stands (in u)
--   users.bookings_of(u)             a table of their bookings, oldest first
--   users.page_of_bookings(u, after, limit)
--                                    the same of at most `limit` that come after one ('' for the
--                                    first page); nil if that is none of theirs
--   users.add_place(u, place, number), users.remove_place(u, place)
--   users.places_of(u) -> {{id=, number=}, ...}
local users = {}

-- How many of these bookings ended: asked for users who were written before that was counted.
local function ended_among(bookings)
  local ended = 0
  for booking in string.gmatch(bookings, '[^,]+') do
    local text = redis.call('HGET', K.holds, booking)
    local hold = read_hold(booking, text)
    local state = hold.state
    if state == 'released' or state == 'cancelled' or (state == 'expired' and hold.payment == '') then
      ended = ended + 1
    end
  end
  return ended
end

function users.get(user)
  local text = redis.call('HGET', K.users, user)
  if not text then
    return { units = 0, places = '', bookings = '', ended = 0 }
  end
  local u = read_user(text)
  u.ended = tonumber(u.more)
  if not u.ended then
    local ended = nil
    ended, u.claimed = string.match(u.more, '^(%d*)|?(.*)$')
    u.ended = tonumber(ended) or ended_among(u.bookings)
  end
  return u
end

function users.put(user, u)
  if u.units == 0 and u.places == '' and u.bookings == '' and u.ended == 0 then
    redis.call('HDEL', K.users, user)
  else
    local ended = (u.bookings ~= '' or u.ended > 0) and int(u.ended) or ''
    local more = (u.claimed or '') == '' and ended or ended .. '|' .. u.claimed
    redis.call('HSET', K.users, user, user_text(u, more))
  end
end

-- A list is a text with commas: nearly every list has one item, and no table is made for it.
local function added(list, item)
  if list == '' then
    return item
  end
  return list .. ',' .. item
end

local function without(list, item)
  local from, to = string.find(',' .. list .. ',', ',' .. item .. ',', 1, true)
  if not from then
    return list
  end
  -- Positions in the list itself are one less, for the comma put before it.
  local before, after = string.sub(list, 1, math.max(from - 2, 0)), string.sub(list, to)
  if before == '' or after == '' then
    return before .. after
  end
  return before .. ',' .. after
end

-- Claims that ended before they were counted are forgotten uncounted.
function users.count_forgotten(u)
  u.ended = math.max(u.ended - 1, 0)
end

function users.add_booking(u, booking)
  u.bookings = added(u.bookings, booking)
end

function users.remove_booking(u, booking)
  u.bookings = without(u.bookings, booking)
end

function users.bookings_of(u)
  local found = {}
  for booking in string.gmatch(u.bookings, '[^,]+') do
    found[#found + 1] = booking
  end
  return found
end

function users.page_of_bookings(u, after, limit)
  local from = 1
  if after ~= '' then
    local _, to = string.find(',' .. u.bookings .. ',', ',' .. after .. ',', 1, true)
    if not to then
      return nil
    end
    -- Positions in the list itself are one less, and the comma behind it is passed over.
    from = to
  end
  local found = {}
  while #found < limit and from <= #u.bookings do
    local to = string.find(u.bookings, ',', from, true) or #u.bookings + 1
    found[#found + 1] = string.sub(u.bookings, from, to - 1)
    from = to + 1
  end
  return found
end

function users.add_place(u, place, number)
  u.places = added(u.places, place .. ':' .. int(number))
end

function users.remove_place(u, place)
  local item = string.match(u.places, place .. ':%d+')
  u.places = without(u.places, item)
end

function users.places_of(u)
  local found = {}
  for id, number in string.gmatch(u.places, '(%x+):(%d+)') do
    found[#found + 1] = { id = id, number = tonumber(number) }
  end
  return found
end
