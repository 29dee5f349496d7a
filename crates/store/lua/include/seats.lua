-- Seats, as core/src/seats.rs: each is free, or somebody's, or blocked for a reason; categories count them.
--
--   seats_get(ids)         the seats with these ids, in their order; false where there is none
--   seats_put(seats)       writes them, all in one call
--   categories_get()       all categories, by their index (from 0)
--   categories_put(all)    writes those of them that seat_set changed, and counts what is on sale
--   seat_set(seat, categories, state, of)   gives a seat a new state, and its category new counts;
--                                           writes nothing
--
-- A seat: { id, index, category, state, of, sign }; state is F(ree), H(eld), S(old), B(locked) or
-- A(llotted): free in a channel; `of` is the booking it is held for or sold to, why it is blocked, or
-- the channel, else ''; `sign` is that channel's, of channels.lua. A category: { name, index, price, F,
-- H, S, B }, counts by state: what is allotted is counted as blocked.

--#include counts
--#include segments

local function seats_get(ids)
  local seats = {}
  if ids[1] then
    for i, text in ipairs(redis.call('HMGET', K.seats, unpack(ids))) do
      seats[i] = text and read_seat(ids[i], text)
    end
  end
  return seats
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
  segments_follow(seats)
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
  seat.state, seat.of = state, of
end
