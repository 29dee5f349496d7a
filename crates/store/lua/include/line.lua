-- The line: who waits, in which order, and until when (core/src/waiting_room/line.rs and mod.rs).
--
-- Sorted sets `queue` (may be admitted) and `parked` (their user is in the room with another
-- place): a place is in exactly one of them, as member `<number, 10 digits>:<user>`. Score: when it
-- was taken, rising by itself (meta.last_score); a draw writes the entrants' ranks
-- 1…n over theirs. The least score any place is given by its time is above every rank. Equal scores
-- go by number. A place's position counts those before it in both sets.
--
-- Sorted set `lapses`: the same members by when they were last seen, less meta.moved_ms (an outage
-- moves all of them on by that one number). Only who was seen, or joined, after the opening has an
-- entry; the others (number <= meta.open_number) were last seen at meta.opened_at, to which
-- moved_ms is added, too (it counts from the opening on). Before the opening nothing lapses.
-- meta.unseen_from: whoever stands before this score is known to have an entry; 'done' if everybody
-- has; absent at first. To fill an event from core's state: moved_ms and unseen_from absent, opened_at
-- the earliest last_seen of a place (no later than the event's time), open_number all that were taken,
-- and an entry for every place that was last seen later.
--
-- meta: taken (places so far), last_score, streams ('1' once a user's stream was written),
-- line_version (phases.lua).
--
-- Its parts, so that each script has only what it needs:
--   line.lua     line.member(user, number), line.waiting(), line.park(user, u, parked): keeps all
--                of a user's places back, or lets them be admitted again
--   queued.lua   a waiting place as its owner sees it
--   joining.lua  a place is taken: line.push
--   places.lua   a place is found, seen, left: line.leave, line.see, line.last_seen, line.position
--   lapses.lua   who lapses next: line.next_lapse
--#include change
--#include users
local line = {}

function line.member(user, number)
  return string.format(NUMBER, number) .. ':' .. user
end

function line.waiting()
  local waiting = redis.call('ZCARD', K.queue)
  -- Nobody is in the room before the opening, and only then can anybody be parked.
  if M.opened == '1' then
    waiting = waiting + redis.call('ZCARD', K.parked)
  end
  return waiting
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
