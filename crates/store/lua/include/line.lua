-- The line: who waits, in which order, and until when (core/src/waiting_room/line.rs and mod.rs).
--
-- Sorted sets `queue` (may be admitted) and `parked` (their user is in the room with another place): a place is in exactly
-- one of them, as member `<number, 10 digits>:<user>`. Score: when it was taken, as S4.1 has it, rising by itself
-- (meta.last_score); a draw writes the entrants' ranks 1…n over theirs. The least score any place is given by its time is
-- above every rank. Equal scores go by number. A place's position counts those before it in both sets.
--
-- Sorted set `lapses`: the same members by when they were last seen, less meta.moved_ms (an outage moves all of them on by
-- that one number). Only who was seen, or joined, after the opening has an entry; the others (number <= meta.open_number)
-- were last seen at meta.opened_at, to which moved_ms is added, too (it counts from the opening on). Before the opening nothing lapses.
-- meta.unseen_from: whoever stands before this score is known to have an entry; 'done' if everybody has; absent at first.
-- To fill an event from core's state: moved_ms absent, an entry for every place that has a last_seen, unseen_from 'done'.
--
-- meta: taken (places so far), last_score, streams ('1' once a user's stream was written), line_version (phases.lua).
-- A script that uses these reads LINE_FIELDS with its others: open(line.fields{'room', …}).
--
--   line.waiting()                       how many wait
--   line.first()                         member to admit next, or nil
--   line.position(user, number)          1 is the head; nil if it does not wait
--   line.last_seen(user, number)         nil before the opening
--   line.push(user, number, parked, composite)
--   line.leave(user, number), line.see(user, number)
--   line.park(user, u, parked)           keeps all of a user's places back, or lets them be admitted again
--   line.next_lapse()                    time and member; see there
--#include change
--#include users
-- unseen_moved: whether M.unseen_from got further in this script, and is to be written down.
local line = { unseen_moved = false }

local LINE_FIELDS = {
  'taken', 'line_version', 'last_score', 'moved_ms', 'opened_at', 'open_number', 'unseen_from', 'streams',
  'place_ttl_ms', 'seed_hash',
}

function line.fields(more)
  for _, field in ipairs(LINE_FIELDS) do
    more[#more + 1] = field
  end
  return more
end

local EPOCH_MS = 1704067200000
local COUNTER = 16384
-- No place gets a score below this by its time: ranks of a draw are lower (limits.rs: MAX_QUEUE_SIZE).
local FIRST_MS = 4096
local LAST_MS = 2 ^ 39 - 1

function line.member(user, number)
  return string.format('%010.0f', number) .. ':' .. user
end

-- Number and user of a member.
function line.who(member)
  return tonumber(string.sub(member, 1, 10)), string.sub(member, 12)
end

function line.waiting()
  local waiting = redis.call('ZCARD', K.queue)
  -- Nobody is in the room before the opening, and only then can anybody be parked.
  if M.opened == '1' then
    waiting = waiting + redis.call('ZCARD', K.parked)
  end
  return waiting
end

function line.first()
  return redis.call('ZRANGE', K.queue, 0, 0)[1]
end

-- The score of a place taken now (core/src/score.rs: Scores::next). Without the counter equal scores are told apart by
-- the place's number, so that the order is the same.
local function next_score(composite)
  local last = tonumber(M.last_score)
  local ms = math.min(math.max(now - EPOCH_MS, FIRST_MS), LAST_MS)
  local fresh = ms * COUNTER
  if not last or last < fresh then
    return fresh
  end
  if composite then
    return last + 1
  end
  return math.ceil(last / COUNTER) * COUNTER
end

-- Whoever read the line before the opening finds out that it is another by now.
local function count_version()
  put_meta('line_version', int(tonumber(M.line_version or '0') + 1))
end

function line.push(user, number, parked, composite)
  local score, member = next_score(composite), line.member(user, number)
  redis.call('ZADD', parked and K.parked or K.queue, int(score), member)
  if M.opened == '1' then
    redis.call('ZADD', K.lapses, int(now - (tonumber(M.moved_ms) or 0)), member)
  else
    count_version()
  end
  put_meta('last_score', int(score))
  put_meta('taken', int(number))
end

function line.leave(user, number)
  local member = line.member(user, number)
  if redis.call('ZREM', K.queue, member) == 0 then
    redis.call('ZREM', K.parked, member)
  end
  if M.opened == '1' then
    redis.call('ZREM', K.lapses, member)
  else
    count_version()
  end
end

function line.see(user, number)
  redis.call('ZADD', K.lapses, int(now - (tonumber(M.moved_ms) or 0)), line.member(user, number))
end

function line.last_seen(user, number)
  if M.opened ~= '1' then
    return nil
  end
  local seen = redis.call('ZSCORE', K.lapses, line.member(user, number)) or M.opened_at
  return tonumber(seen) + (tonumber(M.moved_ms) or 0)
end

function line.park(user, u, parked)
  if u.places == '' then
    return
  end
  local from, to = K.parked, K.queue
  if parked then
    from, to = K.queue, K.parked
  end
  for _, place in ipairs(users.places_of(u)) do
    local member = line.member(user, place.number)
    local score = redis.call('ZSCORE', from, member)
    if score then
      redis.call('ZREM', from, member)
      redis.call('ZADD', to, score, member)
    end
  end
end

-- Which of two places stands before the other.
local function before(score, member, other_score, other)
  if score ~= other_score then
    return score < other_score
  end
  return member < other
end

-- How many of a sorted set stand before a place that is not in it. Ties are searched by halves: there are few, unless the
-- counter is switched off.
local function count_before(key, score, member)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = redis.call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZRANGE', key, middle, middle)[1] < member then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

function line.position(user, number)
  local member = line.member(user, number)
  local mine, other = K.queue, K.parked
  local score = redis.call('ZSCORE', mine, member)
  if not score then
    mine, other = other, mine
    score = redis.call('ZSCORE', mine, member)
    if not score then
      return nil
    end
  end
  return redis.call('ZRANK', mine, member) + count_before(other, score, member) + 1
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

-- The first in line who was not seen since the opening: score and member. If there is nobody, nil. If that would take too
-- long to find out at once, nil and true. meta.unseen_from remembers how far this got, so that nobody is looked at twice.
function line.first_unseen()
  local open_number = tonumber(M.open_number or '0')
  for _ = 1, UNSEEN_CALLS do
    if M.unseen_from == 'done' then
      return nil
    end
    local queue, parked = some_from(K.queue, M.unseen_from or '-inf'), some_from(K.parked, M.unseen_from or '-inf')
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
      if tonumber(string.sub(one[2], 1, 10)) > open_number then
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
      -- More of one score than are looked at in one call: only without the counter. Step over all of them together.
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

-- The place that lapses next: when, and its member. Of those last seen in the same millisecond it is the first in line.
-- If it is not known yet who it is: when, nil (another call gets further).
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
