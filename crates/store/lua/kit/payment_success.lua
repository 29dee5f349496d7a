-- Completes a booking whose payment has succeeded: the seat is sold for good, the slot is free.
--
-- Keys:     1 user_state:<user>:<event>, TTL 3600 s from here on · 2 active_users:<event>
--           3 lock:seat:<event>:<seat>: sold:<user>:<payment> from here on, without TTL
-- Args:     1 event · 2 user · 3 seat · 4 payment
-- Reply:    {1, "completed", seat}: a slot is free, so call promote
-- Refusals: {0, "already_completed", seat} by this very payment: the message came twice
--           {0, "not_found"}        no session: the money came after its end, and goes back
--           {0, "invalid_state"}    no payment is pending
--           {0, "invalid_payment"}  another payment is pending
--           {0, "invalid_seat"}     the payment is for another seat
--           {0, "seat_unavailable"} the seat went to somebody else meanwhile, and the money goes back

-- Seats of the same name in two events have two locks: each names its event. Tags of Redis Cluster
-- count for nothing here.
local function is_lock_of(key, event, seat)
  local bare_event = string.gsub(event, '[{}]', '')
  local bare_key = string.gsub(key, '[{}]', '')
  local ending = ':' .. bare_event .. ':' .. seat
  return string.sub(bare_key, -#ending) == ending
end

if #KEYS ~= 3 then return redis.error_reply('ERR payment_success takes 3 keys') end
if #ARGV ~= 4 then return redis.error_reply('ERR payment_success takes 4 arguments') end
local event, user, seat, payment = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if seat == '' or not is_lock_of(KEYS[3], event, seat) then
  return redis.error_reply('ERR key 3 must end with the event and the seat')
end

-- The seat remembers who paid for it, however often the user has come back since.
local lock = redis.call('GET', KEYS[3])
local sold = 'sold:' .. user .. ':' .. payment
if lock == sold then return {0, 'already_completed', seat} end
local session = redis.call('HMGET', KEYS[1], 'state', 'seat_id', 'payment_id')
if not session[1] then return {0, 'not_found'} end
if session[1] ~= 'payment_pending' then return {0, 'invalid_state'} end
if session[3] ~= payment then return {0, 'invalid_payment'} end
if session[2] ~= seat then return {0, 'invalid_seat'} end
-- A lock that ran out before anybody else came is still the user's: nothing has ended the session.
if lock and lock ~= 'held:' .. user then return {0, 'seat_unavailable'} end
redis.call('ZSCORE', KEYS[2], user) -- fails here, with nothing done, if the key is of another type

-- The first write takes no memory: a Redis that is full refuses a script at its first write only, and
-- what is paid for must be sold there, too.
redis.call('ZREM', KEYS[2], user)
redis.call('SET', KEYS[3], sold)
redis.call('HSET', KEYS[1], 'state', 'completed')
redis.call('EXPIRE', KEYS[1], 3600)
return {1, 'completed', seat}
