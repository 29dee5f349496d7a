-- The best free seats, as core/src/segments.rs chooses them: the order in which choices are compared
-- is told there.
--
--   best_seats(quantity, together, filter)   ids of the best seats, or nil; together is must|prefer
--   best_let_all(seats, filter)              whether each of these seats may be chosen
--   best_shortage(filter)                    how many are free, and how many side by side at most
--
-- A filter: { categories = {[index] = true}, sections = {[encoded name] = true} or nil for all of
-- them, named = {[position] = true} or nil, is_strict: whether a choice that leaves single seats comes
-- after all that leave none, signs = {[sign] = true}: those of seats that may be taken, in
-- K.segments_free, or nil for everybody's, channel: the id of the one they are taken from, or nil }.
-- Positions count from 0; a run is { first, past, segment }.
-- Nothing is written.

--#include begin
--#include segments

-- Segments that are looked up at a time.
local BEST_PAGE = 16

local function best_lets(segment, filter)
  return filter.categories[segment.category] and (not filter.sections or filter.sections[segment.section])
end

-- The segment whose first seat is at this position.
local function best_segment(first)
  local segment = read_segment(redis.call('ZRANGE', K.segments, first, first, 'BYSCORE')[1])
  segment.all_ranks = segment_ranks(segment)
  return segment
end

-- Which seats of a segment may be taken: 1, or another sign.
local function best_free(first, signs)
  local free = redis.call('HGET', K.segments_free, int(first))
  if not signs then
    return free
  end
  return (string.gsub(free, '[A-Z01]', function(sign) return signs[sign] and '1' or '0' end))
end

-- The runs of free seats of a segment that are not named beside.
local function best_runs(segment, filter)
  local free = best_free(segment.first, filter.signs)
  if filter.named then
    local signs = {}
    for at = 1, #free do
      signs[at] = filter.named[segment.first + at - 1] and '0' or string.sub(free, at, at)
    end
    free = table.concat(signs)
  end
  local runs = {}
  for first, past in string.gmatch(free, '()1+()') do
    runs[#runs + 1] = {first = segment.first + first - 1, past = segment.first + past - 1, segment = segment}
  end
  return runs
end

-- What choices are compared by, the lower the better: the worst rank, then single seats; where these
-- are refused, whether there are any comes first. Ranks have seven digits, and singles two.
local function best_weight(worst, singles, filter)
  return worst * 100 + singles + (filter.is_strict and singles > 0 and 1e12 or 0)
end

-- The best choice of so many seats of a segment that has these runs; in `only` alone, if it is given.
local function best_of(segment, runs, quantity, filter, only)
  local best = nil
  for nth, run in ipairs(runs) do
    local others = 0
    for other, it in ipairs(runs) do
      others = other == nth and others or math.max(others, it.past - it.first)
    end
    local last = (not only or only.first == run.first) and run.past - quantity or run.first - 1
    for start = run.first, last do
      local left, right = start - run.first, run.past - start - quantity
      local worst = 0
      for seat = start, start + quantity - 1 do
        worst = math.max(worst, segment.all_ranks[seat - segment.first + 1])
      end
      local singles = (left == 1 and 1 or 0) + (right == 1 and 1 or 0)
      local longest, weight = math.max(left, right, others), best_weight(worst, singles, filter)
      if not best or weight < best.weight or (weight == best.weight and longest > best.longest) then
        best = {
          weight = weight, worst = worst, singles = singles, longest = longest, start = start,
          size = quantity, segment = segment,
        }
      end
    end
  end
  return best
end

-- Goes through the segments with so many free seats side by side, the best first: gives the first
-- seat's position as text, and the rank.
local function best_first(quantity)
  local cursors = {}
  for class = math.min(quantity, MAX_BEST_QUANTITY), MAX_BEST_QUANTITY do
    cursors[#cursors + 1] = {from = class * SEGMENT_CLASS, offset = 0, found = {}, next = 1}
  end
  local function head(cursor)
    if cursor.next > #cursor.found and not cursor.is_over then
      local to = '(' .. int(cursor.from + SEGMENT_CLASS)
      cursor.found = redis.call('ZRANGE', K.segments_open, int(cursor.from), to, 'BYSCORE', 'LIMIT',
        int(cursor.offset), BEST_PAGE, 'WITHSCORES')
      cursor.offset, cursor.next = cursor.offset + BEST_PAGE, 1
      cursor.is_over = #cursor.found == 0
    end
    local member = cursor.found[cursor.next]
    return member and tonumber(member), member and tonumber(cursor.found[cursor.next + 1]) - cursor.from
  end
  return function()
    local best, best_position, best_rank = nil, nil, nil
    for _, cursor in ipairs(cursors) do
      local position, rank = head(cursor)
      if position and (not best or rank < best_rank or (rank == best_rank and position < best_position)) then
        best, best_position, best_rank = cursor, position, rank
      end
    end
    if best then
      best.next = best.next + 2
    end
    return best_position, best_rank
  end
end

-- The first positions, as text, of segments with so many seats of these signs side by side: all are
-- looked at.
local function best_of_signs(signs, least)
  local sign, found = '[', {}
  for each in pairs(signs) do
    sign = sign .. each
  end
  local run = string.rep(sign .. ']', least)
  local all = redis.call('HGETALL', K.segments_free)
  for i = 1, #all, 2 do
    if string.find(all[i + 1], run) then
      found[#found + 1] = all[i]
    end
  end
  return found
end

-- Goes through the segments with seats of these signs as best_first does. Of each its rank alone is
-- read before it comes.
local function best_first_of(signs, quantity)
  local segments, nth = {}, 0
  for _, first in ipairs(best_of_signs(signs, quantity)) do
    local rank = segment_rank(redis.call('ZRANGE', K.segments, first, first, 'BYSCORE')[1])
    segments[#segments + 1] = {first = tonumber(first), rank = rank}
  end
  table.sort(segments, function(one, other)
    return one.rank < other.rank or (one.rank == other.rank and one.first < other.first)
  end)
  return function()
    nth = nth + 1
    local segment = segments[nth]
    return segment and segment.first, segment and segment.rank
  end
end

local function best_together(quantity, filter)
  local best = nil
  for first, rank in filter.signs and best_first_of(filter.signs, quantity) or best_first(quantity) do
    if best and best.weight <= best_weight(rank, 0, filter) then
      break
    end
    local segment = best_segment(first)
    if best_lets(segment, filter) then
      local choice = best_of(segment, best_runs(segment, filter), quantity, filter)
      local is_better = choice and (not best or choice.weight < best.weight)
      best = is_better and choice or best
    end
  end
  return best and {best}
end

-- All segments with so many free seats side by side that the filter lets, as they were added.
local function best_open(least, filter)
  local firsts = filter.signs and best_of_signs(filter.signs, least)
    or redis.call('ZRANGE', K.segments_open, int(least * SEGMENT_CLASS), '+inf', 'BYSCORE')
  table.sort(firsts, function(one, other) return tonumber(one) < tonumber(other) end)
  local segments = {}
  for _, first in ipairs(firsts) do
    local segment = best_segment(tonumber(first))
    if best_lets(segment, filter) then
      segments[#segments + 1] = segment
    end
  end
  return segments
end

-- So many groups of these runs, the longest first.
local function best_groups(runs, groups, quantity, filter)
  for nth, run in ipairs(runs) do
    run.nth = nth
  end
  table.sort(runs, function(one, other)
    local a, b = one.past - one.first, other.past - other.first
    return a > b or (a == b and one.nth < other.nth)
  end)
  local room = 0
  for nth = 1, math.min(groups, #runs) do
    room = room + runs[nth].past - runs[nth].first
  end
  if #runs < groups or room < quantity then
    return nil
  end
  local chosen, left = {worst = 0, singles = 0}, quantity
  for nth = 1, groups do
    local run = runs[nth]
    local size = math.min(run.past - run.first, left - 2 * (groups - nth))
    chosen[nth] = best_of(run.segment, run.segment.runs, size, filter, run)
    chosen.worst = math.max(chosen.worst, chosen[nth].worst)
    chosen.singles = chosen.singles + chosen[nth].singles
    left = left - size
  end
  chosen.weight = best_weight(chosen.worst, chosen.singles, filter)
  return chosen
end

local function best_apart(quantity, filter)
  local rows, numbers = {}, {}
  for _, segment in ipairs(best_open(2, filter)) do
    segment.runs = best_runs(segment, filter)
    for _, run in ipairs(segment.runs) do
      if run.past - run.first >= 2 then
        if not rows[segment.row] then
          rows[segment.row] = {}
          numbers[#numbers + 1] = segment.row
        end
        table.insert(rows[segment.row], run)
      end
    end
  end
  for groups = 2, math.floor(quantity / 2) do
    local best = nil
    for _, first in ipairs(numbers) do
      local runs = {}
      for row = first, first + groups - 1 do
        for _, run in ipairs(rows[row] or {}) do
          if run.segment.section == rows[first][1].segment.section then
            runs[#runs + 1] = run
          end
        end
      end
      local chosen = best_groups(runs, groups, quantity, filter)
      local is_better = chosen and (not best or chosen.weight < best.weight)
      best = is_better and chosen or best
    end
    if best then
      return best
    end
  end
end

local function best_seats(quantity, together, filter)
  local chosen = best_together(quantity, filter)
  if not chosen and together == 'prefer' then
    chosen = best_apart(quantity, filter)
  end
  if not chosen then
    return nil
  end
  local ids = {}
  for _, choice in ipairs(chosen) do
    local all = segment_ids(choice.segment)
    for seat = choice.start, choice.start + choice.size - 1 do
      ids[#ids + 1] = all[seat - choice.segment.first + 1]
    end
  end
  return ids
end

local function best_let_all(seats, filter)
  for _, seat in ipairs(seats) do
    local segment = segment_of(seat.index)
    local free = best_free(segment.first, filter.signs)
    local at = seat.index - segment.first + 1
    local is_named = filter.named and filter.named[seat.index]
    if string.sub(free, at, at) ~= '1' or is_named or not best_lets(segment, filter) then
      return false
    end
  end
  return true
end

local function best_shortage(filter)
  local free, longest = 0, 0
  for _, segment in ipairs(best_open(1, filter)) do
    for _, run in ipairs(best_runs(segment, filter)) do
      free, longest = free + run.past - run.first, math.max(longest, run.past - run.first)
    end
  end
  return free, longest
end
