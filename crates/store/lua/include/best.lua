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
-- Nothing is written, and what was read of segments is not read again.

--#include begin
--#include seats

-- Segments that are looked up at a time, first of all; twice as many with each further look.
local BEST_PAGE = 16
-- A call that reads many segments takes a third of the time for each: that is worth it unless most of them
-- are of no use. Segments that come one after the other are read one by one until they were such a part of
-- all; of those that are known before, neighbours are read together if such a part of them is wanted. Those
-- are near each other that are not such a part of all that are wanted away.
local BEST_PARTS = { read = 8, wanted = 4, near = 16 }

-- What was read of segments, by their first seats' positions: their texts, and which seats are free. Its
-- functions are in one table: a script has no more than 200 names of its own.
--
--   house.text(first)            the text of the segment whose first seat is at this position
--   house.read(firsts)           reads the texts of these segments, which are in order
--   house.read_frees(firsts)     reads which seats of them are free
--   house.of_signs(signs, least) the first positions of segments with so many seats of these signs side by
--                                side, in order: all are looked at
--   house.lets(text, filter)     whether the filter lets a segment, by its text: most of those that are
--                                looked at are of no use, and not read otherwise
--   house.nth(first)             which segment the one is whose first seat is at this position, from 0
--   house.row_of(nth)            the number of its row; nil if there are not so many segments. Its first
--                                position is in house.firsts, its text is read, and which seats are free
local house = {}
house.texts, house.frees, house.singly, house.size, house.all_frees = {}, {}, 0, nil, nil
house.firsts, house.nths, house.rows = {}, {}, {}

local function best_lets(category, section, filter)
  return filter.categories[category] and (not filter.sections or filter.sections[section])
end

function house.lets(text, filter)
  local category, section = string.match(text, '^%S+ %S+ (%S+) %S+ %S+ ([^ ]*)')
  return best_lets(tonumber(category), section, filter)
end

function house.read_between(from, to)
  for _, text in ipairs(redis.call('ZRANGE', K.segments, from, to, 'BYSCORE')) do
    house.texts[tonumber(string.match(text, '^%d+'))] = text
  end
end

function house.text(first)
  if not house.texts[first] then
    house.size = house.size or redis.call('ZCARD', K.segments)
    if house.singly < house.size / BEST_PARTS.read then
      house.singly = house.singly + 1
      house.read_between(int(first), int(first))
    else
      house.read_between('-inf', '+inf')
    end
  end
  return house.texts[first]
end

function house.read(firsts)
  local wanted, from = {}, 1
  for _, first in ipairs(firsts) do
    if not house.texts[first] then
      wanted[#wanted + 1] = first
    end
  end
  local near = wanted[1] and (wanted[#wanted] - wanted[1]) / BEST_PARTS.near
  for nth, first in ipairs(wanted) do
    local after = wanted[nth + 1]
    if not after or after - first > near then
      local many = (nth - from + 1) * BEST_PARTS.wanted
      if nth == from or redis.call('ZCOUNT', K.segments, int(wanted[from]), int(first)) <= many then
        house.read_between(int(wanted[from]), int(first))
      else
        for each = from, nth do
          house.read_between(int(wanted[each]), int(wanted[each]))
        end
      end
      from = nth + 1
    end
  end
end

function house.read_frees(firsts)
  local wanted = {}
  for _, first in ipairs(firsts) do
    if not house.frees[first] then
      wanted[#wanted + 1] = int(first)
    end
  end
  for from = 1, #wanted, SEATS_CHUNK do
    local last = math.min(from + SEATS_CHUNK - 1, #wanted)
    for nth, free in ipairs(redis.call('HMGET', K.segments_free, unpack(wanted, from, last))) do
      house.frees[tonumber(wanted[from + nth - 1])] = free
    end
  end
end

-- Segments are read in parcels of those that stand one after the other.
function house.row_of(nth)
  if nth >= 0 and not house.rows[nth] then
    local from = nth - nth % (4 * BEST_PAGE)
    local texts, firsts = redis.call('ZRANGE', K.segments, int(from), int(from + 4 * BEST_PAGE - 1)), {}
    for i, text in ipairs(texts) do
      local first, row = string.match(text, '^(%d+) (%d+)')
      local at = from + i - 1
      firsts[i] = tonumber(first)
      house.texts[firsts[i]], house.nths[firsts[i]] = text, at
      house.firsts[at], house.rows[at] = firsts[i], tonumber(row)
    end
    house.read_frees(firsts)
  end
  return house.rows[nth]
end

function house.nth(first)
  if not house.nths[first] then
    house.row_of(redis.call('ZCOUNT', K.segments, '-inf', '(' .. int(first)))
  end
  return house.nths[first]
end

function house.of_signs(signs, least)
  local sign, found = '[', {}
  for each in pairs(signs) do
    sign = sign .. each
  end
  local run = string.rep(sign .. ']', least)
  house.all_frees = house.all_frees or redis.call('HGETALL', K.segments_free)
  for i = 1, #house.all_frees, 2 do
    local free = house.all_frees[i + 1]
    if string.find(free, run) then
      local first = tonumber(house.all_frees[i])
      found[#found + 1], house.frees[first] = first, free
    end
  end
  table.sort(found)
  return found
end

-- Which seats of a segment may be taken: 1, or another sign.
local function best_free(first, signs)
  local free = house.frees[first] or redis.call('HGET', K.segments_free, int(first))
  if not signs then
    return free
  end
  return (string.gsub(free, '[A-Z01]', function(sign) return signs[sign] and '1' or '0' end))
end

-- The same, with seats that are named beside as ones that are not free.
function house.open_seats(first, filter)
  local free = best_free(first, filter.signs)
  if filter.named then
    local signs = {}
    for at = 1, #free do
      signs[at] = filter.named[first + at - 1] and '0' or string.sub(free, at, at)
    end
    free = table.concat(signs)
  end
  return free
end

-- The runs of free seats of a segment that are not named beside.
local function best_runs(segment, filter)
  local runs = {}
  for first, past in string.gmatch(house.open_seats(segment.first, filter), '()1+()') do
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
  segment.all_ranks = segment.all_ranks or segment_ranks(segment)
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
-- seat's position, and the rank.
local function best_first(quantity)
  local cursors = {}
  for class = math.min(quantity, MAX_BEST_QUANTITY), MAX_BEST_QUANTITY do
    cursors[#cursors + 1] = {
      from = class * SEGMENT_CLASS, offset = 0, page = BEST_PAGE, found = {}, next = 1,
    }
  end
  local function head(cursor)
    if cursor.next > #cursor.found and not cursor.is_over then
      local to = '(' .. int(cursor.from + SEGMENT_CLASS)
      cursor.found = redis.call('ZRANGE', K.segments_open, int(cursor.from), to, 'BYSCORE', 'LIMIT',
        int(cursor.offset), int(cursor.page), 'WITHSCORES')
      cursor.offset, cursor.page, cursor.next = cursor.offset + cursor.page, 2 * cursor.page, 1
      cursor.is_over = #cursor.found == 0
    end
    local member = cursor.found[cursor.next]
    return member and tonumber(member), member and tonumber(cursor.found[cursor.next + 1]) - cursor.from
  end
  return function()
    local best, best_position, best_rank = nil, nil, nil
    for nth = #cursors, 1, -1 do
      local position, rank = head(cursors[nth])
      if not position then
        table.remove(cursors, nth)
      elseif not best or rank < best_rank or (rank == best_rank and position < best_position) then
        best, best_position, best_rank = cursors[nth], position, rank
      end
    end
    if best then
      best.next = best.next + 2
    end
    return best_position, best_rank
  end
end

-- Goes through the segments with seats of a filter's signs as best_first does, and leaves out those that it
-- does not let. They are sorted as numbers: a rank, and seven digits for the position.
local function best_first_of(quantity, filter)
  local firsts, keys, nth = house.of_signs(filter.signs, quantity), {}, 0
  house.read(firsts)
  for _, first in ipairs(firsts) do
    local text = house.text(first)
    if house.lets(text, filter) then
      keys[#keys + 1] = segment_rank(text) * 1e7 + first
    end
  end
  table.sort(keys)
  return function()
    nth = nth + 1
    local rank = keys[nth] and math.floor(keys[nth] / 1e7)
    return rank and keys[nth] - rank * 1e7, rank
  end
end

local function best_together(quantity, filter)
  local best = nil
  for first, rank in filter.signs and best_first_of(quantity, filter) or best_first(quantity) do
    if best and best.weight <= best_weight(rank, 0, filter) then
      break
    end
    local text = house.text(first)
    if house.lets(text, filter) then
      local segment = read_segment(text)
      local choice = best_of(segment, best_runs(segment, filter), quantity, filter)
      local is_better = choice and (not best or choice.weight < best.weight)
      best = is_better and choice or best
    end
  end
  return best and {best}
end

-- The first positions of all segments with so many free seats side by side that the filter lets, in order.
-- They are read, and which of their seats are free.
local function best_open(least, filter)
  local all, firsts = nil, {}
  if filter.signs then
    all = house.of_signs(filter.signs, least)
  else
    all = redis.call('ZRANGE', K.segments_open, int(least * SEGMENT_CLASS), '+inf', 'BYSCORE')
    for nth, member in ipairs(all) do
      all[nth] = tonumber(member)
    end
    table.sort(all)
  end
  house.read(all)
  for _, first in ipairs(all) do
    if house.lets(house.text(first), filter) then
      firsts[#firsts + 1] = first
    end
  end
  house.read_frees(firsts)
  return firsts
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

-- Goes through the segments by rank, which no choice with seats of one is better than, and tries the rows
-- around each until nothing better can come, as View::apart in core/src/segments/choice.rs does.
local function best_apart(quantity, filter)
  -- Rows that were read, by their numbers: the first positions of their segments that are let and have two
  -- free seats side by side, and `runs`, those of at least two seats, once they were wanted.
  local rows = {}
  local function row_of(first)
    return tonumber(string.match(house.text(first), '^%S+ (%S+)'))
  end
  -- Where half of all segments have such seats or fewer, all of these are read, and no others.
  local many = redis.call('ZCOUNT', K.segments_open, int(2 * SEGMENT_CLASS), '+inf')
  local are_read = filter.signs or 2 * many <= redis.call('ZCARD', K.segments)
  for _, first in ipairs(are_read and best_open(2, filter) or {}) do
    local number = row_of(first)
    rows[number] = rows[number] or {}
    table.insert(rows[number], first)
  end
  -- Reads these rows; the nth segment is in one of them.
  local function read_rows(nth, least, most)
    while (house.row_of(nth - 1) or -1) >= math.max(least, 0) do
      nth = nth - 1
    end
    local number, row = nil, nil
    while (house.row_of(nth) or math.huge) <= most do
      if house.row_of(nth) ~= number then
        number = house.row_of(nth)
        row = not rows[number] and {} or nil
        rows[number] = rows[number] or row
      end
      local first = house.firsts[nth]
      if row and string.find(house.frees[first], '11') and house.lets(house.texts[first], filter) then
        row[#row + 1] = first
      end
      nth = nth + 1
    end
  end
  local function runs_of(number)
    local row = rows[number] or {}
    if not row.runs then
      row.runs = {}
      for _, first in ipairs(row) do
        local segment = read_segment(house.texts[first])
        segment.runs = best_runs(segment, filter)
        for _, run in ipairs(segment.runs) do
          row.runs[#row.runs + 1] = run.past - run.first >= 2 and run or nil
        end
      end
    end
    return row.runs
  end
  -- The runs of so many rows of one section, from this one on; nil if it has none itself.
  local function runs_from(begin, groups)
    local own, runs = runs_of(begin)[1], {}
    for number = begin, own and begin + groups - 1 or begin - 1 do
      for _, run in ipairs(runs_of(number)) do
        if run.segment.section == own.segment.section then
          runs[#runs + 1] = run
        end
      end
    end
    return own and runs
  end
  for groups = 2, math.floor(quantity / 2) do
    local best, tried = nil, {}
    -- One of so many groups has at least so many seats.
    local least = math.ceil(quantity / groups)
    for first, rank in filter.signs and best_first_of(least, filter) or best_first(least) do
      -- Nothing from here on is better than that, or as good and of rows that were added first.
      if best and best.weight < best_weight(rank, 0, filter) then
        break
      end
      local nth = not are_read and house.nth(first)
      if house.lets(house.texts[first], filter) then
        local row = row_of(first)
        local from = row - groups + 1
        while from <= row and tried[from] do
          from = from + 1
        end
        if nth and from <= row then
          read_rows(nth, from, row + groups - 1)
        end
        for begin = from, row do
          local runs = not tried[begin] and runs_from(begin, groups)
          local chosen = runs and best_groups(runs, groups, quantity, filter)
          tried[begin] = true
          if chosen and (not best or chosen.weight < best.weight
            or (chosen.weight == best.weight and begin < best.begin)) then
            best, chosen.begin = chosen, begin
          end
        end
      end
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
    local is_let = best_lets(segment.category, segment.section, filter)
    if string.sub(free, at, at) ~= '1' or is_named or not is_let then
      return false
    end
  end
  return true
end

local function best_shortage(filter)
  local free, longest = 0, 0
  for _, first in ipairs(best_open(1, filter)) do
    for run in string.gmatch(house.open_seats(first, filter), '1+') do
      free, longest = free + #run, math.max(longest, #run)
    end
  end
  return free, longest
end
