-- Holds a seat for a user.
--
-- Keys:     1 seat:status:<event>        hash: seat to AVAILABLE, HOLD, or what others write when
--                                        it is sold; absent is available
--           2 hold:seat:<event>:<seat>   string: the user; TTL ttl: a seat whose status is HOLD is
--                                        held as long as it is there
--           3 inventory:<event>          integer: seats left
--           4 hold deadlines, optional   sorted set: seat by deadline; default onrush:kit:holds:<key 1>
-- Args:     1 seat · 2 user · 3 ttl, seconds
-- Reply:    {"HOLD_SUCCESS", remaining}; for a seat that the user holds already too: its deadline stays
-- Refusals: the first that applies:
--           {"SEAT_UNAVAILABLE"} somebody has it
--           {"SOLD_OUT"}         nothing is left, or there is no such inventory

local TTL_MAX = 3650 * 86400
local LAPSED_PER_CALL = 100

local function whole(text)
  if text and #text <= 15 and string.match(text, '^%-?%d+$') then return tonumber(text) end
end

-- A stored count as Redis writes it: to a number with zeros before it, it adds nothing.
local function count(text)
  local number = whole(text)
  if number and string.format('%d', number) == text then return number end
end

if #KEYS ~= 3 and #KEYS ~= 4 then return redis.error_reply('ERR atomic_hold takes 3 or 4 keys') end
if #ARGV ~= 3 then return redis.error_reply('ERR atomic_hold takes 3 arguments') end
local statuses, hold, inventory = KEYS[1], KEYS[2], KEYS[3]
local deadlines = KEYS[4] or 'onrush:kit:holds:' .. statuses
local seat, user, ttl = ARGV[1], ARGV[2], whole(ARGV[3])
if not ttl or ttl < 1 or ttl > TTL_MAX then return redis.error_reply('ERR ttl must be 1 to ' .. TTL_MAX) end
-- Without the event in it, two events would share the holds of seats with the same name.
local named = (string.match(statuses, '[^:]+$') or '') .. ':' .. seat
if string.sub(hold, -#named) ~= named then
  return redis.error_reply('ERR key 2 must end with the event of key 1 and the seat')
end

local time = redis.call('TIME')
local now = string.format('%d.%06d', time[1], time[2])
local left_text = redis.call('GET', inventory)
local left = count(left_text)
local holder = redis.call('GET', hold)
local status = redis.call('HGET', statuses, seat)
-- With their scores: a seat that is held again has a later one.
local due = redis.call('ZRANGEBYSCORE', deadlines, '-inf', now, 'LIMIT', 0, LAPSED_PER_CALL)
local own = redis.call('ZSCORE', deadlines, seat)

-- An earlier version of this script wrote the deadline behind the word.
local function is_hold(marked)
  return marked == 'HOLD' or (marked and string.match(marked, '^HOLD:') ~= nil)
end
if left_text and not left then return redis.error_reply('ERR the inventory is not a whole number') end
-- A mark that outlived its hold's key has run out too, whatever its deadline says.
if (own and tonumber(own) <= tonumber(now)) or (is_hold(status) and not holder) then
  due[#due + 1] = seat
end

-- Holds that have run out go back before anything is decided. The status has the last word: a seat
-- that was sold since does not come back.
local back, seen = {}, {}
for _, lapsed in ipairs(due) do
  if is_hold(redis.call('HGET', statuses, lapsed)) and not seen[lapsed] then
    seen[lapsed] = true
    back[#back + 1] = lapsed
  end
end
if #due > 0 then redis.call('ZREM', deadlines, unpack(due)) end
for _, lapsed in ipairs(back) do redis.call('HSET', statuses, lapsed, 'AVAILABLE') end
if left and #back > 0 then left = redis.call('INCRBY', inventory, #back) end
if seen[seat] then status, holder = 'AVAILABLE', false end

if holder == user and is_hold(status) then return {'HOLD_SUCCESS', left or 0} end
if holder or (status and status ~= 'AVAILABLE') then return {'SEAT_UNAVAILABLE'} end
if not left or left < 1 then return {'SOLD_OUT'} end

local deadline = string.format('%d.%06d', time[1] + ttl, time[2])
redis.call('HSET', statuses, seat, 'HOLD')
redis.call('SET', hold, user, 'EX', ttl)
redis.call('ZADD', deadlines, deadline, seat)
return {'HOLD_SUCCESS', redis.call('DECR', inventory)}
