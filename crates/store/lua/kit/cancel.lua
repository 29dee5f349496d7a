-- Gives up a place in the line, or a session with its seat.
--
-- Keys:     1 waiting_list:<event> · 2 active_users:<event> · 3 user_state:<user>:<event>
--           4 lock:seat:<event>:<seat> of the seat, optional: without it a single server is needed,
--             and the name is made as it stands
-- Args:     1 event · 2 user
-- Reply:    {1, "cancelled_from_queue"}
--           {1, "cancelled_from_active", seat}: empty if none; a slot is free, so call promote
-- Refusals: {0, "cannot_cancel_during_payment"}
--           {0, "not_found"}          no place and no session; a completed booking is not
--                                     cancelled here
--           {0, "seat_changed", seat} key 4 is not the lock of this seat, the user's: call again
--             with its lock

-- Seats of the same name in two events have two locks: each names its event. Tags of Redis Cluster
-- count for nothing here.
local function is_lock_of(key, event, seat)
  local bare_event = string.gsub(event, '[{}]', '')
  local bare_key = string.gsub(key, '[{}]', '')
  local ending = ':' .. bare_event .. ':' .. seat
  return string.sub(bare_key, -#ending) == ending
end

if #KEYS ~= 3 and #KEYS ~= 4 then return redis.error_reply('ERR cancel takes 3 or 4 keys') end
if #ARGV ~= 2 then return redis.error_reply('ERR cancel takes 2 arguments') end
local event, user = ARGV[1], ARGV[2]

local session = redis.call('HMGET', KEYS[3], 'state', 'seat_id')
local slot = redis.call('ZSCORE', KEYS[2], user)
local state, seat = session[1], session[2] or ''
if redis.call('ZSCORE', KEYS[1], user) then
  redis.call('ZREM', KEYS[1], user)
  return {1, 'cancelled_from_queue'}
end
if state == 'payment_pending' then return {0, 'cannot_cancel_during_payment'} end
if state == 'completed' or (not state and not slot) then return {0, 'not_found'} end
local lock = KEYS[4] or ('lock:seat:' .. event .. ':' .. seat)
if seat ~= '' and not is_lock_of(lock, event, seat) then return {0, 'seat_changed', seat} end
local held = seat ~= '' and redis.call('GET', lock) == 'held:' .. user

redis.call('DEL', KEYS[3])
redis.call('ZREM', KEYS[2], user)
if held then redis.call('DEL', lock) end
return {1, 'cancelled_from_active', seat}
