-- Ends a session whose payment has failed: seat and slot are free.
--
-- Keys:     1 user_state:<user>:<event> · 2 active_users:<event>
--           3 lock:seat:<event>:<seat> of the seat, optional: without it a single server is needed,
--             and the name is made as it stands
-- Args:     1 event · 2 user · 3 payment, optional but wanted: the one that failed
-- Reply:    {1, seat}: empty if none; a slot is free, so call promote
-- Refusals: {0, "not_found"}          the user has no session
--           {0, "already_completed"}  the seat is sold, and stays so
--           {0, "invalid_payment"}    the payment is not this session's
--           {0, "seat_changed", seat} key 3 is not the lock of this seat, the user's: call again
--             with its lock

-- Seats of the same name in two events have two locks: each names its event. Tags of Redis Cluster
-- count for nothing here.
local function is_lock_of(key, event, seat)
  local bare_event = string.gsub(event, '[{}]', '')
  local bare_key = string.gsub(key, '[{}]', '')
  local ending = ':' .. bare_event .. ':' .. seat
  return string.sub(bare_key, -#ending) == ending
end

if #KEYS ~= 2 and #KEYS ~= 3 then return redis.error_reply('ERR cleanup takes 2 or 3 keys') end
if #ARGV ~= 2 and #ARGV ~= 3 then return redis.error_reply('ERR cleanup takes 2 or 3 arguments') end
local event, user, payment = ARGV[1], ARGV[2], ARGV[3]

local session = redis.call('HMGET', KEYS[1], 'state', 'seat_id', 'payment_id')
local slot = redis.call('ZSCORE', KEYS[2], user)
local state, seat = session[1], session[2] or ''
if not state and not slot then return {0, 'not_found'} end
if state == 'completed' then return {0, 'already_completed'} end
if payment and state and session[3] ~= payment then return {0, 'invalid_payment'} end
local lock = KEYS[3] or ('lock:seat:' .. event .. ':' .. seat)
if seat ~= '' and not is_lock_of(lock, event, seat) then return {0, 'seat_changed', seat} end
local held = seat ~= '' and redis.call('GET', lock) == 'held:' .. user

redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], user)
if held then redis.call('DEL', lock) end
return {1, seat}
