-- Holds seats of a zone for a booking until they are confirmed, released or have run out.
--
-- Keys:     1 zone:availability:<zone>          integer: free seats
--           2 user:reservations:<user>:<event>  integer: seats the user holds or has bought; no TTL
--           3 reservation:<booking>             hash; lives a day longer than its hold,
--                                               without limit once confirmed
--           4 expiry index, optional            sorted set: one entry a hold, by deadline; default
--                                               onrush:kit:expiries
-- Args:     1 quantity · 2 max_per_user · 3 user_id · 4 booking_id · 5 zone_id · 6 event_id · 7 show_id
--           8 unit_price, minor units, as the server knows it: never what a client says · 9 ttl_seconds
-- Reply:    {1, remaining, user_total}; for a booking that stands already with the same arguments
--           too: nothing is held twice
-- Refusals: {0, code, message}, the first that applies:
--           INVALID_QUANTITY    not a whole number above zero
--           BOOKING_MISMATCH    the booking id was used for something else, or for a hold that has run out
--           ZONE_NOT_FOUND      no such zone
--           COUNT_BROKEN        the zone's or the user's count is not a whole number from zero on:
--                               somebody else wrote it
--           INSUFFICIENT_STOCK  fewer seats are free
--           USER_LIMIT_EXCEEDED the user would have more than max_per_user

-- The hash outlives the hold, so that nothing is lost while no worker runs; the entry of the index
-- outlives both.
local DAY = 86400
local TTL_MAX = 3650 * DAY

-- Fifteen digits, so that no sum of two leaves what a Lua number holds exactly.
local function whole(text)
  if text and #text <= 15 and string.match(text, '^%d+$') then return tonumber(text) end
end

-- A stored count as Redis writes it: to a number with zeros before it, it adds nothing.
local function count(text)
  local number = whole(text)
  if number and string.format('%d', number) == text then return number end
end

if #KEYS ~= 3 and #KEYS ~= 4 then return redis.error_reply('ERR reserve_seats takes 3 or 4 keys') end
if #ARGV ~= 9 then return redis.error_reply('ERR reserve_seats takes 9 arguments') end
local zone_key, user_key, reservation_key = KEYS[1], KEYS[2], KEYS[3]
local index = KEYS[4] or 'onrush:kit:expiries'
local max_per_user, unit_price, ttl = whole(ARGV[2]), whole(ARGV[8]), whole(ARGV[9])
if not max_per_user then return redis.error_reply('ERR max_per_user must be a whole number') end
if not unit_price then return redis.error_reply('ERR unit_price must be a whole number of minor units') end
if not ttl or ttl < 1 or ttl > TTL_MAX then
  return redis.error_reply('ERR ttl_seconds must be 1 to ' .. TTL_MAX)
end

local quantity = whole(ARGV[1])
if not quantity or quantity < 1 then
  return {0, 'INVALID_QUANTITY', 'quantity must be a whole number above zero'}
end

-- Everything is read before anything is written: a key of the wrong type fails here, with nothing done.
local zone_text = redis.call('GET', zone_key)
local user_text = redis.call('GET', user_key)
local before = redis.call('HMGET', reservation_key,
  'status', 'quantity', 'user_id', 'booking_id', 'zone_id', 'event_id', 'show_id', 'unit_price', 'expires_at')
local entry = cjson.encode({reservation_key, zone_key, user_key, string.format('%d', quantity)})
local indexed = redis.call('ZSCORE', index, entry)
local time = redis.call('TIME')
local created_at = string.format('%d.%06d', time[1], time[2])
local expires_at = string.format('%d.%06d', time[1] + ttl, time[2])

local free = count(zone_text)
local user_total = 0
if user_text then
  user_total = count(user_text)
  if not user_total then return {0, 'COUNT_BROKEN', 'the user\'s count is not a whole number'} end
end
if zone_text and not free then return {0, 'COUNT_BROKEN', 'the zone\'s count is not a whole number'} end

if before[1] or indexed then
  local wanted = {string.format('%d', quantity), ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7],
    string.format('%d', unit_price)}
  local same = before[1] == 'confirmed'
    or (before[1] == 'reserved' and indexed and tonumber(created_at) < tonumber(before[9]))
  for i = 1, #wanted do same = same and before[i + 1] == wanted[i] end
  if not same then
    return {0, 'BOOKING_MISMATCH', 'this booking id was used for something else, or its hold has run out'}
  end
  return {1, free or 0, user_total}
end

if not free then return {0, 'ZONE_NOT_FOUND', 'no such zone'} end
if free < quantity then
  return {0, 'INSUFFICIENT_STOCK', string.format('%d seats are free', free)}
end
if user_total + quantity > max_per_user then
  return {0, 'USER_LIMIT_EXCEEDED',
    string.format('%d of at most %d seats are taken', user_total, max_per_user)}
end

redis.call('DECRBY', zone_key, string.format('%d', quantity))
redis.call('INCRBY', user_key, string.format('%d', quantity))
-- The count lasts as long as what it counts: a TTL of an older script would end it too early.
redis.call('PERSIST', user_key)
redis.call('HSET', reservation_key,
  'booking_id', ARGV[4], 'user_id', ARGV[3], 'zone_id', ARGV[5], 'event_id', ARGV[6], 'show_id', ARGV[7],
  'quantity', string.format('%d', quantity), 'unit_price', string.format('%d', unit_price),
  'status', 'reserved',
  'created_at', created_at, 'expires_at', expires_at)
redis.call('EXPIRE', reservation_key, ttl + DAY)
redis.call('ZADD', index, expires_at, entry)
return {1, free - quantity, user_total + quantity}
