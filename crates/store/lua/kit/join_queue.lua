-- Takes a place at the end of a queue.
--
-- Keys:     1 queue:<event>              sorted set: user by joined_at
--           2 queue:user:<event>:<user>  hash: token, position (at joining), expires_at; TTL ttl_seconds
--           3 place index, optional      sorted set: user by when their place lapses; default
--                                        onrush:kit:places:<key 1>
-- Args:     1 user_id · 2 event_id · 3 token · 4 ttl_seconds (1800) · 5 max_queue_size (0: unlimited)
-- Reply:    {1, position, total, joined_at}; position counts from 1, joined_at is text: seconds
--           with their fraction
-- Refusals: {0, code, message}, the first that applies:
--           ALREADY_IN_QUEUE the user has a place
--           QUEUE_FULL       max_queue_size have one

local TTL_MAX = 3650 * 86400
local LAPSED_PER_CALL = 100

local function whole(text)
  if text and #text <= 15 and string.match(text, '^%d+$') then return tonumber(text) end
end

if #KEYS ~= 2 and #KEYS ~= 3 then return redis.error_reply('ERR join_queue takes 2 or 3 keys') end
if #ARGV ~= 5 then return redis.error_reply('ERR join_queue takes 5 arguments') end
local queue, user_key, user = KEYS[1], KEYS[2], ARGV[1]
local places = KEYS[3] or 'onrush:kit:places:' .. queue
local ttl, max_queue_size = whole(ARGV[4]), whole(ARGV[5])
if not ttl or ttl < 1 or ttl > TTL_MAX then
  return redis.error_reply('ERR ttl_seconds must be 1 to ' .. TTL_MAX)
end
if not max_queue_size then return redis.error_reply('ERR max_queue_size must be a whole number') end

local time = redis.call('TIME')
local now = string.format('%d.%06d', time[1], time[2])
local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
local lapsed = redis.call('ZRANGEBYSCORE', places, '-inf', now, 'LIMIT', 0, LAPSED_PER_CALL)
local own = tonumber(redis.call('ZSCORE', places, user) or '')
redis.call('HGET', user_key, 'token') -- fails here, with nothing done, if the key is of another type

-- A place that has lapsed stands in nobody's way, and does not count.
if own and own <= tonumber(now) then lapsed[#lapsed + 1] = user end
if #lapsed > 0 then
  redis.call('ZREM', queue, unpack(lapsed))
  redis.call('ZREM', places, unpack(lapsed))
end

if redis.call('ZSCORE', queue, user) then return {0, 'ALREADY_IN_QUEUE', 'you have a place'} end
local total = redis.call('ZCARD', queue)
if max_queue_size > 0 and total >= max_queue_size then return {0, 'QUEUE_FULL', 'the queue is full'} end

-- Later is behind: also in the same microsecond, and when the server's clock was set back.
local micros = time[1] * 1000000 + time[2]
if last[2] then micros = math.max(micros, math.floor(tonumber(last[2]) * 1000000 + 0.5) + 1) end
local joined_at = string.format('%d.%06d', math.floor(micros / 1000000), micros % 1000000)
local expires_at = string.format('%d.%06d', time[1] + ttl, time[2])
redis.call('ZADD', queue, joined_at, user)
redis.call('ZADD', places, expires_at, user)
local position = redis.call('ZRANK', queue, user) + 1
redis.call('HSET', user_key, 'token', ARGV[3], 'position', position, 'expires_at', expires_at)
redis.call('EXPIRE', user_key, ttl)
return {1, position, total + 1, joined_at}
