-- Notes that a user goes to pay for a seat, and gives them the time for it.
--
-- Keys:     1 user_state:<user>:<event> · 2 active_users:<event>
--           3 lock:seat:<event>:<seat> of the seat, optional: without it a single server is needed,
--             and the name is made as it stands
-- Args:     1 user · 2 event · 3 payment · 4 payment_seconds, optional: how long to wait for the
--           payment at least; default 600
-- Reply:    {1, payment, expire_time}: a timeout is to be scheduled for that time too; integer seconds
-- Refusals: {0, "payment_existed", id} a payment was initiated before: go on with that one
--           {0, "invalid_state"}       no seat is selected, or the session is over
--           {0, "seat_unavailable"}    the seat is not the user's any more
--           {0, "seat_changed", seat}  key 3 is not the lock of this seat, the user's: call again
--                                      with its lock

-- Seats of the same name in two events have two locks: each names its event. Tags of Redis Cluster
-- count for nothing here.
local function is_lock_of(key, event, seat)
  local bare_event = string.gsub(event, '[{}]', '')
  local bare_key = string.gsub(key, '[{}]', '')
  local ending = ':' .. bare_event .. ':' .. seat
  return string.sub(bare_key, -#ending) == ending
end

if #KEYS ~= 2 and #KEYS ~= 3 then return redis.error_reply('ERR initiate_payment takes 2 or 3 keys') end
if #ARGV ~= 3 and #ARGV ~= 4 then return redis.error_reply('ERR initiate_payment takes 3 or 4 arguments') end
local user, event, payment, payment_seconds = ARGV[1], ARGV[2], ARGV[3], ARGV[4] or '600'
if payment == '' then return redis.error_reply('ERR a payment is needed') end
if not string.match(payment_seconds, '^%d%d?%d?%d?%d?$') then
  return redis.error_reply('ERR payment_seconds must be 0 to 99999')
end

local session = redis.call('HMGET', KEYS[1], 'state', 'seat_id', 'expire_time', 'payment_id')
-- A state without a number has no session: whoever wrote it, it is over.
local state, seat, deadline = session[1], session[2], tonumber(session[3] or '') or 0
if state == 'payment_pending' or state == 'completed' then return {0, 'payment_existed', session[4] or ''} end
local now = tonumber(redis.call('TIME')[1])
if state ~= 'seat_selected' or now >= deadline then return {0, 'invalid_state'} end
local lock = KEYS[3] or ('lock:seat:' .. event .. ':' .. seat)
if not is_lock_of(lock, event, seat) then return {0, 'seat_changed', seat} end
if redis.call('GET', lock) ~= 'held:' .. user then return {0, 'seat_unavailable'} end
redis.call('ZSCORE', KEYS[2], user) -- fails here, with nothing done, if the key is of another type

-- Slot, seat and state wait for the payment: the timeout of the session would come in the midst of it.
local expire_time = math.max(deadline, now + tonumber(payment_seconds))
redis.call('HSET', KEYS[1], 'state', 'payment_pending', 'payment_id', payment, 'expire_time', expire_time)
redis.call('EXPIRE', KEYS[1], expire_time - now + 100)
redis.call('ZADD', KEYS[2], expire_time, user)
redis.call('EXPIRE', lock, math.max(600, expire_time - now + 100))
return {1, payment, expire_time}
