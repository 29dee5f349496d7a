-- Takes a place in a queue, once for each idempotency key.
--
-- Keys:     1 dedupe:<key>         string: the token that was accepted; TTL ttl
--           2 queue:event:<event>  sorted set: token by score
-- Args:     1 token · 2 score, a composite one · 3 ttl, optional: seconds the key is
--           remembered; default 300
-- Reply:    the rank, counted from 0
-- Refusals: "DUPLICATE": the key was seen; GET of key 1 is the token that has the place

local TTL_MAX = 3650 * 86400
-- A score is a double: above this, neighbouring whole numbers become the same. Compared as text,
-- because the number of a text that is one too large is this very number.
local EXACT = '9007199254740992'

local function is_exact(digits)
  local bare = string.match(digits, '^0*(%d+)$')
  return #bare < #EXACT or (#bare == #EXACT and bare <= EXACT)
end

if #KEYS ~= 2 then return redis.error_reply('ERR atomic_enqueue takes 2 keys') end
local token, score, ttl = ARGV[1], ARGV[2] or '', ARGV[3] or '300'
if not token or token == '' then return redis.error_reply('ERR a token is needed') end
local whole_part = string.match(score, '^(%d+)$') or string.match(score, '^(%d+)%.%d+$')
if not whole_part or not is_exact(whole_part) then
  return redis.error_reply('ERR score must be a number of 0 to 2^53')
end
if #ttl > 15 or not string.match(ttl, '^%d+$') or tonumber(ttl) < 1 or tonumber(ttl) > TTL_MAX then
  return redis.error_reply('ERR ttl must be 1 to ' .. TTL_MAX)
end

redis.call('ZSCORE', KEYS[2], token) -- fails here, with nothing done, if the key is of another type
if not redis.call('SET', KEYS[1], token, 'NX', 'EX', ttl) then return 'DUPLICATE' end
-- A token that waits already keeps its place, whatever score comes with another key.
redis.call('ZADD', KEYS[2], 'NX', score, token)
return redis.call('ZRANK', KEYS[2], token)
