-- Single seats, as core/src/segments/single_seats.rs: free seats that a choice would leave alone, and
-- where else it could sit. Included where single seats are refused and nowhere else: making all of
-- best.lua costs each run.
--
--   singles_check(seats, exempt, signs)
--                                  the refusal, or nil; seats are free, as seats_get gives them; groups
--                                  with all their positions in `exempt` are fine, and those with seats
--                                  that are kept for somebody; signs are those of a filter of best.lua
--
-- Nothing is written.

--#include begin
--#include segments
--#include best

-- The groups of these seats side by side: { first, size, segment, free, is_kept }; some seats may be
-- kept for somebody.
local function singles_groups(seats, signs)
  local groups, last = {}, nil
  for _, seat in ipairs(seats) do
    local goes_on = last and last.first + last.size == seat.index
      and seat.index < last.segment.first + #last.free
    if goes_on then
      last.size = last.size + 1
    else
      last = {first = seat.index, size = 1, segment = segment_of(seat.index)}
      last.free = best_free(last.segment.first, signs)
      groups[#groups + 1] = last
    end
    local at = seat.index - last.segment.first + 1
    last.is_kept = last.is_kept or string.sub(last.free, at, at) == 'x'
  end
  return groups
end

-- The free seats that a group of a choice leaves alone, by position.
local function singles_of(group, chosen)
  local function is_left(seat)
    local at = seat - group.segment.first + 1
    return at > 0 and string.sub(group.free, at, at) == '1' and not chosen[seat]
  end
  local singles, before, after = {}, group.first - 1, group.first + group.size
  if is_left(before) and not is_left(before - 1) then
    singles[#singles + 1] = before
  end
  if is_left(after) and not is_left(after + 1) then
    singles[#singles + 1] = after
  end
  return singles
end

-- As many seats of the group's category that leave none alone: the nearest of its segment, else the best.
local function singles_moved(group, others, signs)
  local filter = {
    categories = {[group.segment.category] = true}, named = others, is_strict = true, signs = signs,
  }
  local nearest = nil
  for _, run in ipairs(best_runs(group.segment, filter)) do
    for start = run.first, run.past - group.size do
      local left, right = start - run.first, run.past - start - group.size
      local far = math.abs(start - group.first)
      if left ~= 1 and right ~= 1 and (not nearest or far < nearest.far) then
        nearest = {far = far, start = start, segment = group.segment}
      end
    end
  end
  if nearest then
    return nearest
  end
  local best = best_together(group.size, filter)
  return best and best[1].singles == 0 and best[1] or nil
end

local function singles_listed(ids)
  local listed = {}
  for nth, id in ipairs(ids) do
    listed[nth] = str(id)
  end
  return '[' .. table.concat(listed, ',') .. ']'
end

-- The refusal of a group that can sit elsewhere; nil if it leaves nobody alone, or cannot.
local function singles_refusal(group, seats, chosen, signs)
  local singles = singles_of(group, chosen)
  if not singles[1] then
    return nil
  end
  local others, instead = {}, {}
  for _, seat in ipairs(seats) do
    if seat.index < group.first or group.first + group.size <= seat.index then
      others[seat.index] = true
      instead[#instead + 1] = {index = seat.index, id = seat.id}
    end
  end
  local moved = singles_moved(group, others, signs)
  if not moved then
    return nil
  end
  local ids = segment_ids(moved.segment)
  for seat = moved.start, moved.start + group.size - 1 do
    instead[#instead + 1] = {index = seat, id = ids[seat - moved.segment.first + 1]}
  end
  table.sort(instead, function(one, other) return one.index < other.index end)
  for nth, seat in ipairs(instead) do
    instead[nth] = seat.id
  end
  ids = segment_ids(group.segment)
  for nth, seat in ipairs(singles) do
    singles[nth] = ids[seat - group.segment.first + 1]
  end
  return no('LEAVES_SINGLE_SEAT',
    '"seats":' .. singles_listed(singles) .. ',"instead":' .. singles_listed(instead))
end

local function singles_check(all, exempt, signs)
  local seats, chosen = {}, {}
  for nth, seat in ipairs(all) do
    seats[nth] = seat
    chosen[seat.index] = true
  end
  table.sort(seats, function(one, other) return one.index < other.index end)
  for _, group in ipairs(singles_groups(seats, signs)) do
    local is_exempt = true
    for seat = group.first, group.first + group.size - 1 do
      is_exempt = is_exempt and exempt[seat]
    end
    local refusal = not is_exempt and not group.is_kept and singles_refusal(group, seats, chosen, signs)
    if refusal then
      return refusal
    end
  end
end
