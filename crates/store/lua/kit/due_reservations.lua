-- Says which holds have run out, with the keys that expire_reservations needs to return their stock.
--
-- What is in the index and is no hold's entry is put at its end, with the score +inf, so that it
-- stands in nobody's way: `ZRANGEBYSCORE <index> +inf +inf` shows it. Nothing else is changed.
--
-- Keys:     1 expiry index (onrush:kit:expiries, unless the seats were reserved with another)
-- Args:     1 limit, optional: 1 to 1000; default 100
-- Reply:    {1, wait_ms, {entry, zone key, user key, reservation key}, …}, earliest first
--           wait_ms: until the next deadline after these; 0 if more are due, -1 if there is none
-- Refusals: none

if #KEYS ~= 1 then return redis.error_reply('ERR due_reservations takes 1 key') end
local limit = tonumber(ARGV[1] or '100')
if not limit or limit < 1 or limit > 1000 or limit % 1 ~= 0 then
  return redis.error_reply('ERR limit must be 1 to 1000')
end

local time = redis.call('TIME')
local now = string.format('%d.%06d', time[1], time[2])
-- An entry that somebody else put here is set aside, and another one looked for: a few rounds, so
-- that a call stays short.
local ROUNDS = 10
local due, more = {}, true
for _ = 1, ROUNDS do
  local foreign = 0
  due = {}
  local entries = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, limit)
  for _, entry in ipairs(entries) do
    local ok, keys = pcall(cjson.decode, entry)
    local ours = ok and type(keys) == 'table' and #keys == 4
    for n = 1, 4 do ours = ours and type(keys[n]) == 'string' end
    ours = ours and #keys[4] <= 15 and string.match(keys[4], '^[1-9]%d*$')
    if ours then
      due[#due + 1] = {entry, keys[2], keys[3], keys[1]}
    else
      -- Taken out first: a Redis that is full adds nothing in a script that has written nothing yet.
      redis.call('ZREM', KEYS[1], entry)
      redis.call('ZADD', KEYS[1], '+inf', entry)
      foreign = foreign + 1
    end
  end
  more = #entries == limit
  if foreign == 0 or not more then break end
end
local wait_ms = -1
if more then
  wait_ms = 0
else
  local coming = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if coming[2] then wait_ms = math.ceil((tonumber(coming[2]) - tonumber(now)) * 1000) end
end

local reply = {1, wait_ms}
for _, row in ipairs(due) do reply[#reply + 1] = row end
return reply
