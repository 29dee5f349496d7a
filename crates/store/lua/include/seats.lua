-- Seats, as core/src/seats.rs: each is free, or somebody's, or blocked for a reason; categories count them.
--
--   seats_get(ids)         the seats with these ids, in their order; false where there is none
--   seats_put(seats)       writes them, all in one call, and who may take the companions' seats of those
--                          that are wheelchair places, as core/src/seats/accessible.rs
--   categories_get()       all categories, by their index (from 0)
--   categories_put(all)    writes those of them that seat_set changed, and counts what is on sale
--   seat_set(seat, categories, state, of)   gives a seat a new state, and its category new counts;
--                                           writes nothing
--
-- A seat: { id, index, category, state, of, sign, is_turned }; state is F(ree), H(eld), S(old), B(locked)
-- or A(llotted): free in a channel; `of` is the booking it is held for or sold to, why it is blocked, or
-- the channel, else ''; `sign` is that channel's, of channels.lua; is_turned says that it was sold here,
-- or is so no more. A category: { name, index, price, F, H, S, B }, counts by state: what is allotted is
-- counted as blocked.

--#include counts
--#include segments

-- Seats in one call: Lua's stack takes no more than 8,000 values at a time.
local SEATS_CHUNK = 2000

local function seats_get(ids)
  local seats = {}
  for from = 1, #ids, SEATS_CHUNK do
    local last = math.min(from + SEATS_CHUNK - 1, #ids)
    for i, text in ipairs(redis.call('HMGET', K.seats, unpack(ids, from, last))) do
      local id = ids[from + i - 1]
      seats[from + i - 1] = text and read_seat(id, text)
    end
  end
  return seats
end

-- Writes who may take the companions' seats of these places: they are kept until their place is sold.
-- Seats that are no places have none.
local function companions_follow(places)
  local state_of, ids, is_kept = {}, {}, {}
  for _, place in ipairs(places) do
    state_of[place.id] = place.state
  end
  local all = redis.call('HGETALL', K.access)
  for i = 1, #all, 2 do
    local access = read_access(all[i], all[i + 1])
    if access.kind == 'C' and state_of[access.of] then
      ids[#ids + 1] = access.seat
      is_kept[access.seat] = state_of[access.of] ~= 'S'
    end
  end
  local companions = seats_get(ids)
  for _, seat in ipairs(companions) do
    seat.is_kept = is_kept[seat.id]
    if seat.state == 'A' then
      seat.sign = segment_letter(read_channel(seat.of, redis.call('HGET', K.channels, seat.of)))
    end
  end
  segments_follow(companions)
end

local function seats_put(seats)
  if not seats[1] then
    return
  end
  local args = {}
  for _, seat in ipairs(seats) do
    args[#args + 1] = seat.id
    args[#args + 1] = seat_text(seat, seat.of)
  end
  redis.call('HSET', K.seats, unpack(args))
  local turned = segments_follow(seats)
  if turned[1] then
    companions_follow(turned)
  end
end

local function categories_get()
  local categories = {}
  local all = redis.call('HGETALL', K.categories)
  for i = 1, #all, 2 do
    local category = read_category(all[i], all[i + 1])
    category.counted = category.F
    categories[category.index] = category
  end
  return categories
end

local function categories_put(categories)
  local args, more = {}, 0
  for _, category in pairs(categories) do
    if category.changed then
      more = more + category.F - (category.counted or 0)
      category.counted = category.F
      args[#args + 1] = category.name
      args[#args + 1] = category_text(category)
    end
  end
  if args[1] then
    counts.add('units_free', more)
    redis.call('HSET', K.categories, unpack(args))
  end
end

local function seat_set(seat, categories, state, of)
  local category = categories[seat.category]
  local before, after = seat.state == 'A' and 'B' or seat.state, state == 'A' and 'B' or state
  category[before] = category[before] - 1
  category[after] = category[after] + 1
  category.changed = true
  seat.is_turned = seat.is_turned or before == 'S' or after == 'S'
  seat.state, seat.of = state, of
end
