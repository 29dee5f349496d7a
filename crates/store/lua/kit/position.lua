-- Says where a user stands. Changes nothing.
--
-- Keys:     1 waiting_list:<event> · 2 user_state:<user>:<event>
-- Args:     1 user · 2 event
-- Reply:    {1, "queued", position}, counted from 1 and exact
--           {1, "active", state, seat_id, expire_time}; state is active, seat_selected,
--             payment_pending or completed; seat_id is
--           empty without a seat; integer seconds
-- Refusals: {0, "not_found"}

if #KEYS ~= 2 then return redis.error_reply('ERR position takes 2 keys') end
if #ARGV ~= 2 then return redis.error_reply('ERR position takes 2 arguments') end

local rank = redis.call('ZRANK', KEYS[1], ARGV[1])
if rank then return {1, 'queued', rank + 1} end
local session = redis.call('HMGET', KEYS[2], 'state', 'seat_id', 'expire_time')
if not session[1] then return {0, 'not_found'} end
return {1, 'active', session[1], session[2] or '', tonumber(session[3] or '0')}
