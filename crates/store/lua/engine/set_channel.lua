-- Adds a channel, or changes what it is.
--
-- Args      1 channel · 2 when it is released by itself, or '' · 3 into which one then, or '' · 4 what it
--           is as JSON · 5 reason as JSON
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_SETTINGS (the node's, and for times that are past),
--           CHANNEL_NOT_FOUND, CHANNEL_RELEASED, EVENT_LIMIT
-- Changes   channel_set
--#include change
--#include channels

local out = open_once{}
if out then return out end

local id, at, into = A(1), tonumber(A(2)), A(3)
if at and at <= now then
  return no_why('INVALID_SETTINGS', 'release: name a time to come, before the year 10000', 'release')
end
local channels = channels_open()
local channel = channels.get(id)
out = at and channels.unreleased(into) or channel and channels.unreleased(id)
if out then return out end
local index = redis.call('HLEN', K.channels)
if not channel and index >= MAX_CHANNELS_PER_EVENT then
  return no_why('EVENT_LIMIT', 'channels: an event has at most ' .. int(MAX_CHANNELS_PER_EVENT))
end

channel = channel or {id = id, index = index, taken = 0, state = 'open', into = ''}
redis.call('HSET', K.channels, id, channel_text(channel, A(4)))
if at then
  redis.call('ZADD', K.deadlines, int(at), '9:' .. id)
else
  redis.call('ZREM', K.deadlines, '9:' .. id)
end
change('{"channel_set":{"spec":' .. A(4) .. ',"reason":' .. A(5) .. '}}')
return commit(DONE)
