-- Lets the next in line into the room. Call it after every enqueue and every freed
-- slot, until it refuses.
--
-- Keys:     1 waiting_list:<event> · 2 active_users:<event>
--           3… user_state:<user>:<event> of the first in line, optional, as many as users are
--             given. Without them a single server is needed, and the names are made as they stand
--             here; so is the lock of a seat that somebody's earlier session has left, which goes
-- Args:     1 event · 2 now: taken for the order's sake; the server's clock decides · 3 limit,
--           optional: default 1000
--           4 session_seconds, optional: default 600 · 5 count, optional: how many to let in at
--             most, 1 to 100; default 1
--           6… the users at the head of the line, in order, if their keys are given
-- Reply:    {1, user, expire_time}, with another user and expire_time for each further one; integer seconds
-- Refusals: {0, "room_full"}
--           {0, "no_waiting"}   nobody waits, or nobody but those whose earlier session is over while
--                               they paid: a payment may still come, so they are passed over, 100 of
--                               them at most, until it has or timeout has ended that session
--           {0, "head_changed"} somebody else is first in line: look again

local function number(text, default, most)
  if text == nil or text == '' then return default end
  if #text <= 15 and string.match(text, '^%d+$') and tonumber(text) <= most then return tonumber(text) end
end

if #KEYS < 2 then return redis.error_reply('ERR promote takes 2 keys or more') end
if #ARGV < 2 then return redis.error_reply('ERR promote takes 2 arguments or more') end
local waiting_list, active_users, event = KEYS[1], KEYS[2], ARGV[1]
local limit, session_seconds = number(ARGV[3], 1000, 1000000000), number(ARGV[4], 600, 86400)
local count = number(ARGV[5], 1, 100)
if not limit or not session_seconds or session_seconds < 1 or not count or count < 1 then
  return redis.error_reply('ERR limit, session_seconds or count is out of range')
end
local declared = #KEYS > 2
if declared and #KEYS - 2 ~= #ARGV - 5 then
  return redis.error_reply('ERR promote takes one key for each user')
end

local now = tonumber(redis.call('TIME')[1])
local room = limit - redis.call('ZCARD', active_users)
local line = redis.call('ZCARD', waiting_list)
if room < 1 then return {0, 'room_full'} end
if line == 0 then return {0, 'no_waiting'} end

local wanted = math.min(count, room)
local most = math.min(line, wanted + 100)
if declared then most = math.min(most, #ARGV - 5) end
local admitted, has_changed = {}, false
for i = 1, most do
  if #admitted == wanted then break end
  local user = redis.call('ZRANGE', waiting_list, i - 1, i - 1)[1]
  if declared and ARGV[5 + i] ~= user then
    has_changed = true
    break
  end
  local state_key = KEYS[2 + i] or ('user_state:' .. user .. ':' .. event)
  -- Fails here, with nothing done, if a key is of another type.
  local before = redis.call('HMGET', state_key, 'state', 'seat_id')
  local present = redis.call('ZSCORE', active_users, user)
  local is_over = present and tonumber(present) <= now
  -- The payment of a session that is over and that nobody has ended yet may still come. Let in now,
  -- its user would have that session only, and nothing once it ends: they wait until it has.
  if not (is_over and before[1] == 'payment_pending') then
    local lock = not declared and before[2] and before[2] ~= '' and 'lock:seat:' .. event .. ':' .. before[2]
    if lock and redis.call('GET', lock) ~= 'held:' .. user then lock = false end
    admitted[#admitted + 1] = {user, state_key, not is_over and present, lock}
  end
end
if #admitted == 0 then return {0, has_changed and 'head_changed' or 'no_waiting'} end

local expire_time = now + session_seconds
local reply = {1}
for _, one in ipairs(admitted) do
  local user, state_key, present, lock = one[1], one[2], one[3], one[4]
  redis.call('ZREM', waiting_list, user)
  -- Who is in the room already, having been enqueued without key 3, keeps the session there is. One
  -- that is over, and that nobody has ended yet, ends here.
  if not present then
    redis.call('ZADD', active_users, expire_time, user)
    -- What is left of an earlier session says nothing about this one.
    redis.call('DEL', state_key)
    if lock then redis.call('DEL', lock) end
    redis.call('HSET', state_key, 'state', 'active', 'seat_id', '', 'expire_time', expire_time,
      'payment_id', '')
    redis.call('EXPIRE', state_key, session_seconds + 100)
  end
  reply[#reply + 1] = user
  reply[#reply + 1] = tonumber(present or expire_time)
end
return reply
