-- Wheelchair places and their companions' seats, as core/src/seats/accessible.rs chooses them.
-- Included where they are asked for and nowhere else.
--
--   accessible_best(count, companions, filter, prices, price_max)
--       ids of so many places, with so many companions' seats of theirs; or nil and the refusal
--
-- A filter as in best.lua; its categories are those of the places. prices are what a seat of each
-- category costs, by index, or nil where it cannot be had. Nothing is written.

--#include begin
--#include seats

-- All seats that the plan keeps for somebody, in order, with `kept` as K.access has it.
local function accessible_all()
  local all, ids, kept = redis.call('HGETALL', K.access), {}, {}
  for i = 1, #all, 2 do
    ids[#ids + 1] = all[i]
    kept[all[i]] = read_access(all[i], all[i + 1])
  end
  local seats = seats_get(ids)
  for _, seat in ipairs(seats) do
    seat.kept = kept[seat.id]
  end
  table.sort(seats, function(one, other) return one.index < other.index end)
  return seats
end

-- The free places of what is asked for, in order: { seat, companions }.
local function accessible_places(filter, prices, price_max)
  local free, places, place_of = {}, {}, {}
  for _, seat in ipairs(accessible_all()) do
    local price = prices[seat.category]
    local affordable = price and (not price_max or price <= price_max)
    local is_free = seat.state == (filter.channel and 'A' or 'F')
      and (not filter.channel or seat.of == filter.channel)
    if is_free and affordable and not (filter.named and filter.named[seat.index]) then
      free[#free + 1] = seat
    end
  end
  for _, seat in ipairs(free) do
    local is_asked = filter.categories[seat.category]
      and (not filter.sections or filter.sections[seat.kept.of])
    if seat.kept.kind == 'W' and is_asked then
      local place = {seat = seat, companions = {}}
      places[#places + 1], place_of[seat.id] = place, place
    end
  end
  for _, seat in ipairs(free) do
    local place = seat.kept.kind == 'C' and place_of[seat.kept.of]
    if place then
      place.companions[#place.companions + 1] = seat
    end
  end
  return places
end

-- So many places from this one on: { first, worst, room }; nil if they are not of one section.
local function accessible_choice(places, first, count)
  local choice = {first = first, worst = 0, room = 0}
  for nth = first, first + count - 1 do
    if places[nth].seat.kept.of ~= places[first].seat.kept.of then
      return nil
    end
    choice.worst = math.max(choice.worst, places[nth].seat.kept.rank)
    choice.room = choice.room + #places[nth].companions
  end
  return choice
end

local function accessible_ids(places, first, count, companions)
  local ids, most = {}, 0
  for nth = first, first + count - 1 do
    ids[#ids + 1] = places[nth].seat.id
    most = math.max(most, #places[nth].companions)
  end
  for turn = 1, most do
    for nth = first, first + count - 1 do
      local companion = places[nth].companions[turn]
      if companion and #ids < count + companions then
        ids[#ids + 1] = companion.id
      end
    end
  end
  return ids
end

local function accessible_best(count, companions, filter, prices, price_max)
  local places = accessible_places(filter, prices, price_max)
  if #places < count then
    return nil, no('TOO_FEW_ACCESSIBLE', '"free":' .. int(#places))
  end
  local best, longest, free = nil, 0, #places
  for _, place in ipairs(places) do
    free = free + #place.companions
  end
  for first = 1, #places - count + 1 do
    local choice = accessible_choice(places, first, count)
    if choice then
      longest = math.max(longest, count + choice.room)
      local fits = choice.room >= companions
      best = fits and (not best or choice.worst < best.worst) and choice or best
    end
  end
  if not best then
    return nil, no('NOT_TOGETHER', '"longest":' .. int(longest) .. ',"free":' .. int(free))
  end
  return accessible_ids(places, best.first, count, companions)
end
