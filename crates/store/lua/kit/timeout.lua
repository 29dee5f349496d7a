-- Ends a session at its deadline: seat and slot are free. The message only wakes
-- somebody up; the deadline that decides is in the state.
--
-- Keys:     1 user_state:<user>:<event> · 2 active_users:<event>
--           3 lock:seat:<event>:<seat> of the seat, optional: without it a single server is needed,
--             and the name is made as it stands
-- Args:     1 event · 2 user · 3 expire_time, optional: the one the message was scheduled for
-- Reply:    {1, "timeout_processed", seat}: empty if none; a slot is free, so call promote
-- Refusals: {0, "already_completed"}            paid: the user only leaves the room, if still there
--           {0, "not_found"}                    the user has no session: the message is done with
--           {0, "stale", expire_time}           the message is an earlier session's; this one ends
--                                               at expire_time
--           {0, "payment_pending", expire_time} the user is paying, and has until then
--           {0, "not_due", expire_time}         too early: call again then
--           {0, "seat_changed", seat}           key 3 is not the lock of this seat, the user's:
--                                               call again with its lock

-- Seats of the same name in two events have two locks: each names its event. Tags of Redis Cluster
-- count for nothing here.
local function is_lock_of(key, event, seat)
  local bare_event = string.gsub(event, '[{}]', '')
  local bare_key = string.gsub(key, '[{}]', '')
  local ending = ':' .. bare_event .. ':' .. seat
  return string.sub(bare_key, -#ending) == ending
end

if #KEYS ~= 2 and #KEYS ~= 3 then return redis.error_reply('ERR timeout takes 2 or 3 keys') end
if #ARGV ~= 2 and #ARGV ~= 3 then return redis.error_reply('ERR timeout takes 2 or 3 arguments') end
local event, user, scheduled = ARGV[1], ARGV[2], tonumber(ARGV[3] or '')

local session = redis.call('HMGET', KEYS[1], 'state', 'seat_id', 'expire_time')
local slot = redis.call('ZSCORE', KEYS[2], user)
local state, seat = session[1], session[2] or ''
if not state and not slot then return {0, 'not_found'} end
if state == 'completed' then
  redis.call('ZREM', KEYS[2], user)
  return {0, 'already_completed'}
end
-- A state without a number is over at once; the slot's own time stands in for one.
local expire_time = tonumber(session[3] or '') or tonumber(slot or '') or 0
if tonumber(redis.call('TIME')[1]) < expire_time then
  if state == 'payment_pending' then return {0, 'payment_pending', expire_time} end
  if scheduled and scheduled ~= expire_time then return {0, 'stale', expire_time} end
  return {0, 'not_due', expire_time}
end
local lock = KEYS[3] or ('lock:seat:' .. event .. ':' .. seat)
if seat ~= '' and not is_lock_of(lock, event, seat) then return {0, 'seat_changed', seat} end
-- Somebody else may have the seat by now, if its lock ran out first.
local held = seat ~= '' and redis.call('GET', lock) == 'held:' .. user

redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], user)
if held then redis.call('DEL', lock) end
return {1, 'timeout_processed', seat}
