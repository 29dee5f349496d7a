-- Gives a seat to the first active user who asks for it.
--
-- Keys:     1 user_state:<user>:<event>
--           2 lock:seat:<event>:<seat>   string: held:<user>, TTL 600 s; sold:<user>:<payment> for
--                                        good once it is paid
-- Args:     1 user · 2 event · 3 seat
-- Reply:    {1, "success"}; for the seat that the user has already too
-- Refusals: {0, "invalid_state"}    the user is not in the room, has chosen, or the session is over
--           {0, "seat_unavailable"} somebody has it, or has bought it

-- Seats of the same name in two events have two locks: each names its event. Tags of Redis Cluster
-- count for nothing here.
local function is_lock_of(key, event, seat)
  local bare_event = string.gsub(event, '[{}]', '')
  local bare_key = string.gsub(key, '[{}]', '')
  local ending = ':' .. bare_event .. ':' .. seat
  return string.sub(bare_key, -#ending) == ending
end

if #KEYS ~= 2 then return redis.error_reply('ERR lock_seat takes 2 keys') end
if #ARGV ~= 3 then return redis.error_reply('ERR lock_seat takes 3 arguments') end
local user, event, seat = ARGV[1], ARGV[2], ARGV[3]
if seat == '' or not is_lock_of(KEYS[2], event, seat) then
  return redis.error_reply('ERR key 2 must end with the event and the seat')
end

local session = redis.call('HMGET', KEYS[1], 'state', 'seat_id', 'expire_time')
local held_by = redis.call('GET', KEYS[2])
local mine = 'held:' .. user
-- A state without a number has no session: whoever wrote it, it is over.
local left_seconds = (tonumber(session[3] or '') or 0) - tonumber(redis.call('TIME')[1])
if not session[1] or left_seconds <= 0 then return {0, 'invalid_state'} end
if session[1] == 'seat_selected' and session[2] == seat and held_by == mine then return {1, 'success'} end
if session[1] ~= 'active' then return {0, 'invalid_state'} end
if held_by and held_by ~= mine then return {0, 'seat_unavailable'} end

-- The lock lasts at least as long as the session that has it.
redis.call('SET', KEYS[2], mine, 'EX', string.format('%d', math.max(600, left_seconds)))
redis.call('HSET', KEYS[1], 'state', 'seat_selected', 'seat_id', seat)
return {1, 'success'}
