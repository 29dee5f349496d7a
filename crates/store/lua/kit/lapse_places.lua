-- Takes places that have lapsed out of a queue, so that whoever serves it finds nobody at
-- its head who is gone. Call it before serving; join_queue does the same on its way.
--
-- Keys:     1 queue:<event> · 2 place index (onrush:kit:places:<key 1>, unless joined with another)
-- Args:     1 limit, optional: 1 to 1000; default 100
-- Reply:    {1, lapsed}: how many; call again while it is the limit
-- Refusals: none

if #KEYS ~= 2 then return redis.error_reply('ERR lapse_places takes 2 keys') end
local limit = tonumber(ARGV[1] or '100')
if not limit or limit < 1 or limit > 1000 or limit % 1 ~= 0 then
  return redis.error_reply('ERR limit must be 1 to 1000')
end

local time = redis.call('TIME')
local lapsed = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf',
  string.format('%d.%06d', time[1], time[2]), 'LIMIT', 0, limit)
if #lapsed > 0 then
  redis.call('ZREM', KEYS[1], unpack(lapsed))
  redis.call('ZREM', KEYS[2], unpack(lapsed))
end
return {1, #lapsed}
