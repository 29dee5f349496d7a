-- What is due, one thing after the other: a deadline or an admission each, as
-- core/src/event/tick.rs has them. Any node may run it at any time: capacity and outflow are looked
-- at here.
--
-- Keys      FIRST_STREAM… streams of the users that Args 6… name
-- Args      1 how many things at most · 2 entrants · 3 hash of the list, or '' · 4 version of the
--           line they are of · 5 how long to bar joins and leaves, in ms, or 0 · 6… users whose
--           streams are given (only if an answer asked for them)
-- Reply     {"ticked":{"count":3,"next":1700000000000,"needs":["user",…]}}: things done; when the
--           next is due (0: whatever the clock says, null: never); `needs` is there if the next
--           thing touches the stream of one of these users: ask again with them. {'entrants',
--           version, seq, epoch}: the prequeue of a draw closes now, and its list is wanted
-- Refusals  EVENT_NOT_FOUND
-- Changes   one decision for each thing: prequeue_opened | prequeue_closed | sale_opened | sale_closed |
--           hold_expired (, slot_freed) | declaimed | session_ended (, slot_freed) | place_left | admitted |
--           hold_forgotten | claim_forgotten | price_changed | channel_released
--#include change
--#include phases
--#include places
--#include lapses
--#include outflow
--#include holds
--#include claims
--#include counts
--#include prices

local fields = {'prequeue_at', 'opens_at', 'room_capacity', 'session_ms', 'arrive_ms', 'units_per_visitor',
  'prices'}
for _, part in ipairs{PHASES, PLACE_FIELDS, LAPSE_FIELDS, OUTFLOW_FIELDS} do
  for _, field in ipairs(part) do fields[#fields + 1] = field end
end
local out = open(fields)
if out then return out end

counts.begin()
local most = tonumber(A(1))
local streams = {}
for i = 6, #ARGV - OWN do
  streams[A(i)] = KEYS[FIRST_STREAM + i - 6]
end

-- When the sale's phase changes by itself, and to what.
local function next_schedule()
  local closes_at, opens_at, prequeue_at = tonumber(M.closes_at), tonumber(M.opens_at), nil
  if M.phase == 'scheduled' then
    prequeue_at = M.room and tonumber(M.prequeue_at)
  elseif M.phase == 'prequeue' then
    -- Once the list is fixed, a draw waits for its seed.
    if M.seed_hash and M.entrants then opens_at = nil end
  elseif M.phase == 'closed' then
    return nil
  else
    opens_at = nil
  end
  local at = math.min(closes_at or math.huge, opens_at or math.huge, prequeue_at or math.huge)
  if at == math.huge then
    return nil
  elseif at == closes_at then
    return at, 'close'
  elseif at == opens_at then
    return at, 'open'
  end
  return at, 'prequeue'
end

-- The next deadline: when, its kind (a digit, as they sort), and what it is about. `all` also finds
-- a lapse that is not due.
local function first_deadline(all)
  local at, what = next_schedule()
  local kind = at and '0'
  local first = redis.call('ZRANGE', K.deadlines, 0, 0, 'WITHSCORES')
  if first[1] and (not at or tonumber(first[2]) < at) then
    at, kind, what = tonumber(first[2]), string.sub(first[1], 1, 1), string.sub(first[1], 3)
  end
  if M.opened == '1' and M.room then
    -- Nobody was last seen before the opening. (Who came after an outage was not moved on by it.)
    local earliest = tonumber(M.opened_at) + tonumber(M.place_ttl_ms)
    if all or earliest <= now then
      local lapse, member = line.next_lapse()
      if lapse and (not at or lapse < at or (lapse == at and '5' < kind)) then
        at, kind, what = lapse, '5', member
      end
    end
  end
  return at, kind, what
end

-- Whether somebody may be admitted: the member, and from when on (nil: at once).
local function admission_due()
  if not M.room or M.phase ~= 'open' or redis.call('HLEN', K.sessions) >= tonumber(M.room_capacity) then
    return nil
  end
  local member = redis.call('ZRANGE', K.queue, 0, 0)[1]
  if member and counts.finds_something() then
    return member, outflow.due()
  end
end

-- Number and user of a member of the line.
local function who(member)
  return tonumber(string.sub(member, 1, NUMBER_DIGITS)), string.sub(member, NUMBER_DIGITS + 2)
end

local needs = {}

-- Whether a user's stream may be written. If not, the user is named to the node, together with who
-- will be next.
local function stream_given(user)
  if M.streams ~= '1' or streams[user] then
    return true
  end
  needs[1] = '"' .. user .. '"'
  for _, member in ipairs(redis.call('ZRANGE', K.queue, 0, most - 1)) do
    local _, next_user = who(member)
    needs[#needs + 1] = '"' .. next_user .. '"'
  end
  return false
end

-- A waiting place by its member: user, their things, the place.
local function place_of(member)
  local number, user = who(member)
  local u = users.get(user)
  for _, place in ipairs(users.places_of(u)) do
    if place.number == number then
      return user, u, place
    end
  end
end

local function session_over(what, how)
  local _, user = who(what)
  local session = sessions.get(user)
  sessions.end_session(user, session, how)
  if session.live_holds == 0 then
    sessions.free(user, session, users.get(user))
  else
    sessions.put(user, session)
  end
end

-- Gives what stands in the way of deciding it, or nil.
local function decide_deadline(kind, what)
  if kind == '0' then
    if what == 'close' then
      sale_closed()
    elseif what == 'prequeue' then
      prequeue_opened()
    elseif M.seed_hash then
      -- The seed of a draw is not known here: whoever keeps it opens the sale once the list is fixed.
      local wanted = list_wanted(A(2), A(3), A(4), A(5))
      if wanted then return wanted end
      prequeue_closed(A(2), A(3))
    else
      sale_opened(nil, nil)
    end
  elseif kind == '1' then
    expire_hold(what)
  elseif kind == '2' then
    expire_claim(what)
  elseif kind == '3' then
    session_over(what, 'no_show')
  elseif kind == '4' then
    session_over(what, 'timeout')
  elseif kind == '5' then
    -- It is not known yet who lapses: the next tick looks further down the line.
    if not what then return {} end
    local user, u, place = place_of(what)
    if not stream_given(user) then return {} end
    place_left(user, u, place, 'lapsed', streams[user])
    users.put(user, u)
  elseif kind == '6' then
    forget_hold(what)
  elseif kind == '7' then
    forget_claim(what)
  elseif kind == '8' then
    price_step(what)
  else
    channels_open().planned_release(what)
  end
end

local function decide_admission(member)
  local user, u, place = place_of(member)
  if not stream_given(user) then return {} end
  local until_at = now + tonumber(M.session_ms)
  local arrive_by = math.min(now + tonumber(M.arrive_ms), until_at)
  change('{"admitted":{"place":"' .. place.id .. '","user":"' .. user .. '","until":' .. int(until_at)
    .. ',"arrive_by":' .. int(arrive_by) .. '}}')
  outflow.count()
  line.leave(user, place.number)
  users.remove_place(u, place.id)
  leave_stream(streams[user], place.number)
  local live_holds = 0
  for _, booking in ipairs(users.bookings_of(u)) do
    -- What was held while the event had no room.
    if hold_get(booking).waits_in == '1:' then live_holds = live_holds + 1 end
  end
  sessions.insert(user, {
    place = place.id, number = place.number, state = 'invited', until_at = until_at, arrive_by = arrive_by,
    live_holds = live_holds,
  })
  line.park(user, u, true)
  users.put(user, u)
end

local count, in_the_way = 0, nil
while count < most do
  local at, kind, what = first_deadline(false)
  if at and at <= now then
    in_the_way = decide_deadline(kind, what)
  else
    local member, due = admission_due()
    if not member or (due and due > now) then break end
    in_the_way = decide_admission(member)
  end
  if in_the_way then break end
  record()
  count = count + 1
end
if in_the_way and in_the_way[1] and count == 0 then
  return in_the_way
end

local next_at = first_deadline(true)
local member, due = admission_due()
if member then
  next_at = due and math.min(due, next_at or due) or 0
end

-- Somebody runs this event: see away() in begin.lua.
if now - (tonumber(M.alive) or 0) >= 1000 then
  redis.call('HSET', K.meta, 'alive', int(now))
end
if line.unseen_moved then
  redis.call('HSET', K.meta, 'unseen_from', M.unseen_from)
end
local wanted = needs[1] and ',"needs":[' .. table.concat(needs, ',') .. ']' or ''
return commit('{"ticked":{"count":' .. int(count) .. ',"next":'
  .. (next_at and int(next_at) or 'null') .. wanted .. '}}')
