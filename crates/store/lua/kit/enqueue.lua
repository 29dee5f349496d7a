-- Takes a place in the line of an event: one a user. Call promote afterwards: a room with
-- space needs no other start.
--
-- Keys:     1 waiting_list:<event>            sorted set: user by sequence
--           2 queue_sequence:<event>          integer: the last sequence given
--           3 active_users:<event>, optional  sorted set: with it, who is in the room gets no second place
-- Args:     1 event · 2 user
-- Reply:    {1, sequence}
-- Refusals: {0, score} the user waits already: score is the sequence, or 0 for who is in the room

if #KEYS ~= 2 and #KEYS ~= 3 then return redis.error_reply('ERR enqueue takes 2 or 3 keys') end
if #ARGV ~= 2 then return redis.error_reply('ERR enqueue takes 2 arguments') end
local user = ARGV[2]

local score = redis.call('ZSCORE', KEYS[1], user)
if score then return {0, tonumber(score)} end
-- Whoever's session is over is in the room no more, although nobody has ended it yet.
local present = KEYS[3] and redis.call('ZSCORE', KEYS[3], user)
if present and tonumber(present) > tonumber(redis.call('TIME')[1]) then return {0, 0} end

local sequence = redis.call('INCR', KEYS[2])
redis.call('ZADD', KEYS[1], sequence, user)
return {1, sequence}
