-- Makes a hold final.
--
-- Keys:     1 reservation:<booking>
--           2 expiry index, optional: the one the seats were reserved with; default onrush:kit:expiries
-- Args:     1 booking_id · 2 user_id · 3 payment_id, optional
-- Reply:    {1, "CONFIRMED", confirmed_at}; seconds with their fraction, as text
-- Refusals: {0, code, message}, the first that applies:
--           RESERVATION_NOT_FOUND no such hold in this index: never made, released, or its time is
--                                 up. One code for the last two, so that the answer at the
--                                 deadline does not depend on when the expiry worker comes
--           INVALID_BOOKING_ID    the reservation is another booking's
--           INVALID_USER_ID       the reservation is another user's
--           ALREADY_CONFIRMED     it is final; its payment_id says by which payment
--           INVALID_STATUS        its status is neither `reserved` nor `confirmed`

if #KEYS ~= 1 and #KEYS ~= 2 then return redis.error_reply('ERR confirm_booking takes 1 or 2 keys') end
if #ARGV ~= 2 and #ARGV ~= 3 then return redis.error_reply('ERR confirm_booking takes 2 or 3 arguments') end
local reservation_key = KEYS[1]
local index = KEYS[2] or 'onrush:kit:expiries'

local held = redis.call('HMGET', reservation_key, 'status', 'booking_id', 'user_id', 'expires_at')
if not held[1] then return {0, 'RESERVATION_NOT_FOUND', 'no such reservation'} end
if held[2] ~= ARGV[1] then return {0, 'INVALID_BOOKING_ID', 'the reservation is another booking\'s'} end
if held[3] ~= ARGV[2] then return {0, 'INVALID_USER_ID', 'the reservation is another user\'s'} end
if held[1] == 'confirmed' then return {0, 'ALREADY_CONFIRMED', 'the reservation is confirmed'} end
if held[1] == 'expired' then return {0, 'RESERVATION_NOT_FOUND', 'the hold has run out'} end
local deadline = tonumber(held[4] or '')
if held[1] ~= 'reserved' or not deadline then return {0, 'INVALID_STATUS', 'the reservation is not held'} end

local time = redis.call('TIME')
local now = string.format('%d.%06d', time[1], time[2])
if tonumber(now) >= deadline then return {0, 'RESERVATION_NOT_FOUND', 'the hold has run out'} end

-- The entry is found by its deadline, because its other keys are not known here. Few can have the
-- same one: it counts microseconds.
local entry
for _, candidate in ipairs(redis.call('ZRANGEBYSCORE', index, held[4], held[4])) do
  local ok, keys = pcall(cjson.decode, candidate)
  if ok and type(keys) == 'table' and keys[1] == reservation_key then entry = candidate end
end
if not entry then return {0, 'RESERVATION_NOT_FOUND', 'no hold of this booking in this expiry index'} end

-- Without its entry nobody can return the stock of this booking any more.
redis.call('ZREM', index, entry)
redis.call('HSET', reservation_key, 'status', 'confirmed', 'confirmed_at', now, 'payment_id', ARGV[3] or '')
redis.call('PERSIST', reservation_key)
return {1, 'CONFIRMED', now}
