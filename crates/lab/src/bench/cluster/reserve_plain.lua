-- A hold as plainly as it can be: no feed, no index of deadlines, no retry recognised. What
-- we compare with.
local quantity, limit, ttl = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[9])
if not quantity or quantity <= 0 then
  return {0, 'INVALID_QUANTITY', 'quantity must be positive'}
end
local available = redis.call('GET', KEYS[1])
if not available then
  return {0, 'ZONE_NOT_FOUND', 'no such zone'}
end
if tonumber(available) < quantity then
  return {0, 'INSUFFICIENT_STOCK', 'not enough left'}
end
local reserved = tonumber(redis.call('GET', KEYS[2]) or '0')
if reserved + quantity > limit then
  return {0, 'USER_LIMIT_EXCEEDED', 'too many for one user'}
end
local remaining = redis.call('DECRBY', KEYS[1], quantity)
local total = redis.call('INCRBY', KEYS[2], quantity)
redis.call('EXPIRE', KEYS[2], ttl + 60)
local now = tonumber(redis.call('TIME')[1])
redis.call('HSET', KEYS[3], 'booking_id', ARGV[4], 'user_id', ARGV[3], 'zone_id', ARGV[5],
  'event_id', ARGV[6],
  'show_id', ARGV[7], 'quantity', quantity, 'unit_price', ARGV[8], 'status', 'reserved', 'created_at', now,
  'expires_at', now + ttl)
redis.call('EXPIRE', KEYS[3], ttl)
return {1, remaining, total}
