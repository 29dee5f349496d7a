-- Seats side by side, as core/src/segments.rs: of one row and one category, with no aisle between them.
--
--   segment_of(position)         the segment that the seat at this position (from 0) is in; nil in an
--                                event whose seats an older version added
--   segment_put(segment)         writes a segment whose ids, ranks and free seats (`free`) are lists
--                                and a text; another text of it is removed before
--   segment_ranks(segment)       its seats' ranks, in order
--   segments_follow(seats)       writes which seats are free, after their states changed; gives those
--                                that are kept and were sold, or are so no more. Whether one is kept
--                                stays as it was, unless `is_kept` of it says otherwise
--   segment_ids(segment)         its seats' ids, in order
--   segment_rank(text)           the rank of a segment that is not read otherwise
--   segment_letter(channel)      the sign of a seat that is free in this channel
--
-- A segment: { first, row, category, rank, aisle, section, name, ranks, ids }: first is its first
-- seat's position, row the number of its row, rank the best of its seats'; aisle says whether one
-- follows; section and name (of the row) are encoded (src/redis/segments.rs); ranks are one number
-- if all are the same, else one each; ids and ranks have commas between them. K.segments has them by
-- first, K.segments_free which seats of each are free ('11x0A': x is one that is kept for somebody,
-- K.access knows whom, whether it is free or not; A is free in the first channel, B in the second …), and
-- K.segments_open those with free seats, by how many are side by side (MAX_BEST_QUANTITY stands for
-- more), then by rank.

--#include begin

-- Scores of one number of seats side by side.
local SEGMENT_CLASS = MAX_SEAT_RANK + 1

local function segment_of(position)
  local found = redis.call('ZRANGE', K.segments, int(position), '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1)
  return found[1] and read_segment(found[1])
end

local function segment_ids(segment)
  local ids = {}
  for id in string.gmatch(segment.ids, '[^,]+') do
    ids[#ids + 1] = id
  end
  return ids
end

local function segment_rank(text)
  return tonumber(string.match(text, '^%S+ %S+ %S+ (%S+)'))
end

local function segment_letter(channel)
  return string.char(string.byte('A') + channel.index)
end

local function segment_member(first)
  return string.format('%07d', first)
end

local function segment_put_free(segment, free)
  redis.call('HSET', K.segments_free, int(segment.first), free)
  local longest = 0
  for run in string.gmatch(free, '1+') do
    longest = math.max(longest, #run)
  end
  local member = segment_member(segment.first)
  if longest == 0 then
    redis.call('ZREM', K.segments_open, member)
  else
    local class = math.min(longest, MAX_BEST_QUANTITY)
    redis.call('ZADD', K.segments_open, int(class * SEGMENT_CLASS + segment.rank), member)
  end
end

local function segment_ranks(segment)
  local ranks = {}
  for rank in string.gmatch(segment.ranks, '%d+') do
    ranks[#ranks + 1] = tonumber(rank)
  end
  local _, commas = string.gsub(segment.ids, ',', ',')
  for nth = #ranks + 1, commas + 1 do
    ranks[nth] = ranks[1]
  end
  return ranks
end

local function segment_put(segment)
  local is_even = true
  for _, rank in ipairs(segment.ranks) do
    is_even = is_even and rank == segment.ranks[1]
  end
  local text = {ids = table.concat(segment.ids, ','), ranks = int(segment.ranks[1])}
  if not is_even then
    for nth, rank in ipairs(segment.ranks) do
      text.ranks = nth == 1 and int(rank) or text.ranks .. ',' .. int(rank)
    end
  end
  for _, field in ipairs({'first', 'row', 'category', 'rank', 'aisle', 'section', 'name'}) do
    text[field] = segment[field]
  end
  redis.call('ZADD', K.segments, int(segment.first), segment_text(text))
  segment_put_free(segment, segment.free)
end

local function segments_follow(seats)
  local known, kept = {}, {}
  local function has(segment, seat)
    return segment.first <= seat.index and seat.index < segment.first + #segment.free
  end
  local segment = nil
  for _, seat in ipairs(seats) do
    -- Seats come mostly in order: that of the last one has most of them.
    if not (segment and has(segment, seat)) then
      segment = nil
      for _, it in ipairs(known) do
        segment = segment or has(it, seat) and it or nil
      end
    end
    if not segment then
      segment = segment_of(seat.index)
      if not segment then
        return {}
      end
      segment.free = redis.call('HGET', K.segments_free, int(segment.first))
      segment.before = segment.free
      known[#known + 1] = segment
    end
    local at = seat.index - segment.first
    local sign = seat.state == 'F' and '1' or seat.state == 'A' and seat.sign or '0'
    local is_kept = seat.is_kept
    if is_kept == nil then
      is_kept = string.sub(segment.free, at + 1, at + 1) == 'x'
    end
    if is_kept and seat.is_turned then
      kept[#kept + 1] = seat
    end
    sign = is_kept and 'x' or sign
    segment.free = string.sub(segment.free, 1, at) .. sign .. string.sub(segment.free, at + 2)
  end
  for _, segment in ipairs(known) do
    if segment.free ~= segment.before then
      segment_put_free(segment, segment.free)
    end
  end
  return kept
end
