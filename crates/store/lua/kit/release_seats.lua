-- Gives the seats of a hold back before its deadline.
--
-- Keys:     1 zone:availability:<zone> · 2 user:reservations:<user>:<event> · 3 reservation:<booking>
--           4 expiry index, optional: the one the seats were reserved with; default onrush:kit:expiries
-- Args:     1 booking_id · 2 user_id
-- Reply:    {1, available, user_total}; available is 0 if the zone is gone: it is not made anew
--           from a few seats
-- Refusals: {0, code, message}, the first that applies:
--           RESERVATION_NOT_FOUND no such hold with these keys: never made, released, or its stock
--             returned at the deadline
--           INVALID_BOOKING_ID    the reservation is another booking's
--           INVALID_USER_ID       the reservation is another user's
--           ALREADY_RELEASED      its status is not `reserved`
--           COUNT_BROKEN          the zone's or the user's count is not a whole number from zero
--                                 on; the hold stays as it is

-- A count as Redis writes it: to a number with zeros before it, it adds nothing.
local function whole(text)
  if not text or #text > 15 then return nil end
  if text == '0' or string.match(text, '^[1-9]%d*$') then return tonumber(text) end
end

if #KEYS ~= 3 and #KEYS ~= 4 then return redis.error_reply('ERR release_seats takes 3 or 4 keys') end
if #ARGV ~= 2 then return redis.error_reply('ERR release_seats takes 2 arguments') end
local zone_key, user_key, reservation_key = KEYS[1], KEYS[2], KEYS[3]
local index = KEYS[4] or 'onrush:kit:expiries'

local held = redis.call('HMGET', reservation_key, 'status', 'booking_id', 'user_id', 'quantity')
if not held[1] then return {0, 'RESERVATION_NOT_FOUND', 'no such reservation'} end
if held[2] ~= ARGV[1] then return {0, 'INVALID_BOOKING_ID', 'the reservation is another booking\'s'} end
if held[3] ~= ARGV[2] then return {0, 'INVALID_USER_ID', 'the reservation is another user\'s'} end
if held[1] == 'expired' then return {0, 'RESERVATION_NOT_FOUND', 'the hold has run out'} end
if held[1] ~= 'reserved' then return {0, 'ALREADY_RELEASED', 'the reservation is not held any more'} end

-- The entry of the index is the right to the stock: whoever removes it has to return it, and nobody
-- can twice.
local entry = cjson.encode({reservation_key, zone_key, user_key, held[4]})
local quantity = whole(held[4])
if not quantity or not redis.call('ZSCORE', index, entry) then
  return {0, 'RESERVATION_NOT_FOUND', 'no hold with these keys in this expiry index'}
end
local zone_text = redis.call('GET', zone_key)
local user_text = redis.call('GET', user_key)
local free, user_total = whole(zone_text or '0'), whole(user_text or '0')
if not free then return {0, 'COUNT_BROKEN', 'the zone\'s count is not a whole number'} end
if not user_total then return {0, 'COUNT_BROKEN', 'the user\'s count is not a whole number'} end

redis.call('ZREM', index, entry)
redis.call('DEL', reservation_key)
local available = 0
if zone_text then available = redis.call('INCRBY', zone_key, string.format('%d', quantity)) end
user_total = math.max(0, user_total - quantity)
if user_total == 0 then
  redis.call('DEL', user_key)
else
  redis.call('DECRBY', user_key, string.format('%d', quantity))
end
return {1, available, user_total}
