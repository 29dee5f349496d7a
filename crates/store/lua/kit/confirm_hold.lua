-- Sells a seat to the user who holds it. Its unit stays taken.
--
-- Keys:     1 seat:status:<event>        hash, as atomic_hold's
--           2 hold:seat:<event>:<seat>   string: the user; it goes
--           3 hold deadlines, optional   as atomic_hold's; default onrush:kit:holds:<key 1>
-- Args:     1 seat · 2 user · 3 payment
-- Reply:    {"HOLD_CONFIRMED"}; the status is SOLD:<user>:<payment> then. The same call again, too
-- Refusals: {"HOLD_EXPIRED"}     nobody has it: the hold has run out, or there was none
--           {"SEAT_UNAVAILABLE"} somebody else has it, or it is sold by another payment

if #KEYS ~= 2 and #KEYS ~= 3 then return redis.error_reply('ERR confirm_hold takes 2 or 3 keys') end
if #ARGV ~= 3 then return redis.error_reply('ERR confirm_hold takes 3 arguments') end
local statuses, hold = KEYS[1], KEYS[2]
local deadlines = KEYS[3] or 'onrush:kit:holds:' .. statuses
local seat, user, payment = ARGV[1], ARGV[2], ARGV[3]
if payment == '' then return redis.error_reply('ERR payment must not be empty') end
-- As atomic_hold, which made the key.
local named = (string.match(statuses, '[^:]+$') or '') .. ':' .. seat
if string.sub(hold, -#named) ~= named then
  return redis.error_reply('ERR key 2 must end with the event of key 1 and the seat')
end

local time = redis.call('TIME')
local now = string.format('%d.%06d', time[1], time[2])
local status = redis.call('HGET', statuses, seat)
local holder = redis.call('GET', hold)
local deadline = redis.call('ZSCORE', deadlines, seat)
local sold = 'SOLD:' .. user .. ':' .. payment
if status == sold then return {'HOLD_CONFIRMED'} end

-- An earlier version of atomic_hold wrote the deadline behind the word.
local is_hold = status == 'HOLD' or (status and string.match(status, '^HOLD:') ~= nil)
if status and status ~= 'AVAILABLE' and not is_hold then return {'SEAT_UNAVAILABLE'} end
if not is_hold or not holder or (deadline and tonumber(deadline) <= tonumber(now)) then
  return {'HOLD_EXPIRED'}
end
if holder ~= user then return {'SEAT_UNAVAILABLE'} end

-- The first write takes no memory: a Redis that is full refuses a script at its first write only, and
-- what is paid for must be sold there, too.
redis.call('DEL', hold)
redis.call('ZREM', deadlines, seat)
redis.call('HSET', statuses, seat, sold)
return {'HOLD_CONFIRMED'}
