-- Who lapses next (core/src/waiting_room/line.rs: seen_longest_ago).
--
--   line.next_lapse()   time and member; see there. Reads LAPSE_FIELDS
--   line.unseen_moved   whether M.unseen_from got further in this script, and is to be written down
--#include line
local LAPSE_FIELDS = { 'moved_ms', 'opened_at', 'open_number', 'unseen_from', 'place_ttl_ms', 'seed_hash' }

line.unseen_moved = false

-- Which of two places stands before the other.
local function before(score, member, other_score, other)
  if score ~= other_score then
    return score < other_score
  end
  return member < other
end

-- Looked at in one call; a call that finds nobody leaves the rest to the next.
local UNSEEN_AT_ONCE = 100
local UNSEEN_CALLS = 20

-- Some of a sorted set from a score on, as { score, member }.
local function some_from(key, from)
  local found = redis.call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', 0, UNSEEN_AT_ONCE, 'WITHSCORES')
  local some = {}
  for i = 1, #found, 2 do
    some[#some + 1] = { tonumber(found[i + 1]), found[i], text = found[i + 1] }
  end
  return some
end

-- The first in line who was not seen since the opening: score and member. If there is nobody, nil.
-- If that would take too long to find out at once, nil and true. meta.unseen_from remembers how far
-- this got, so that nobody is looked at twice.
function line.first_unseen()
  local open_number = tonumber(M.open_number or '0')
  for _ = 1, UNSEEN_CALLS do
    if M.unseen_from == 'done' then
      return nil
    end
    local queue, parked = some_from(K.queue, M.unseen_from or '-inf'),
      some_from(K.parked, M.unseen_from or '-inf')
    local q, p, some, members = 1, 1, {}, {}
    while (q <= #queue or p <= #parked) and #some < UNSEEN_AT_ONCE do
      local from_queue = p > #parked
        or (q <= #queue and before(queue[q][1], queue[q][2], parked[p][1], parked[p][2]))
      local one
      if from_queue then
        one, q = queue[q], q + 1
      else
        one, p = parked[p], p + 1
      end
      some[#some + 1], members[#members + 1] = one, one[2]
    end
    if #some == 0 then
      M.unseen_from, line.unseen_moved = 'done', true
      return nil
    end
    local seen = redis.call('ZMSCORE', K.lapses, unpack(members))
    for i, one in ipairs(some) do
      if tonumber(string.sub(one[2], 1, NUMBER_DIGITS)) > open_number then
        -- Who came after the opening stands behind all who came before, and has an entry.
        M.unseen_from, line.unseen_moved = 'done', true
        return nil
      end
      if not seen[i] then
        if M.unseen_from ~= one.text then
          M.unseen_from, line.unseen_moved = one.text, true
        end
        return one[1], one[2]
      end
    end
    local last = some[#some]
    if last.text == M.unseen_from then
      -- More of one score than are looked at in one call: only without the counter. Step over all
      -- of them together.
      local tied = line.unseen_of_score(last.text)
      if tied then
        return last[1], tied
      end
      M.unseen_from = '(' .. last.text
    elseif #some < UNSEEN_AT_ONCE then
      M.unseen_from = '(' .. last.text
    else
      M.unseen_from = last.text
    end
    line.unseen_moved = true
  end
  return nil, true
end

-- The first place with exactly this score that was not seen since the opening, or nil.
function line.unseen_of_score(score)
  local members = {}
  for _, key in ipairs({ K.queue, K.parked }) do
    for _, member in ipairs(redis.call('ZRANGE', key, score, score, 'BYSCORE')) do
      members[#members + 1] = member
    end
  end
  table.sort(members)
  for _, member in ipairs(members) do
    if not redis.call('ZSCORE', K.lapses, member) then
      return member
    end
  end
end

local function score_in_line(member)
  return tonumber(redis.call('ZSCORE', K.queue, member) or redis.call('ZSCORE', K.parked, member))
end

-- The place that lapses next: when, and its member. Of those last seen in the same millisecond it
-- is the first in line. If it is not known yet who it is: when, nil (another call gets further).
function line.next_lapse()
  local ttl_ms = tonumber(M.place_ttl_ms)
  if M.opened ~= '1' or not ttl_ms then
    return nil
  end
  local lasts = (tonumber(M.moved_ms) or 0) + ttl_ms
  local unseen_score, unseen, unknown = nil, nil, nil
  if M.unseen_from ~= 'done' then
    unseen_score, unseen = line.first_unseen()
    unknown = unseen == true
  end
  local opened_at = tonumber(M.opened_at)
  if unknown then
    return opened_at + lasts, nil
  end
  local first = redis.call('ZRANGE', K.lapses, 0, 0, 'WITHSCORES')
  if not first[1] then
    if unseen then
      return opened_at + lasts, unseen
    end
    return nil
  end
  local seen_at = tonumber(first[2])
  if unseen and opened_at < seen_at then
    return opened_at + lasts, unseen
  end
  -- Without a draw the line is in the order of numbers, and so are equal times.
  local best = first[1]
  if M.seed_hash then
    local best_score = score_in_line(best)
    for _, member in ipairs(redis.call('ZRANGE', K.lapses, first[2], first[2], 'BYSCORE')) do
      local score = score_in_line(member)
      if before(score, member, best_score, best) then
        best, best_score = member, score
      end
    end
  end
  if unseen and opened_at == seen_at and before(unseen_score, unseen, score_in_line(best), best) then
    best = unseen
  end
  return seen_at + lasts, best
end
