-- What a script is wrapped in to be told instead of done: it reads as ever, and its writes are answered beside its reply
-- instead of being made. The node makes them in a transaction (src/redis/transactions.rs). No script may read what it
-- has written before.
--
-- Reply  {the script's own, {{'HSET', key, …}, …}}
local REDIS, TOLD = redis, {}
local READS = {
  EXISTS = true, HEXISTS = true, HGET = true, HGETALL = true, HLEN = true, HMGET = true, TIME = true, XLEN = true,
  XRANGE = true, ZCARD = true, ZCOUNT = true, ZMSCORE = true, ZRANGE = true, ZRANK = true, ZSCORE = true,
}
local function tell(name, ...)
  if READS[name] then return REDIS.call(name, ...) end
  local words = {name, ...}
  for i, word in ipairs(words) do
    if type(word) == 'number' then words[i] = string.format('%.17g', word) end
  end
  TOLD[#TOLD + 1] = words
  return 0
end
local redis = {call = tell, pcall = function(...) return {ok = tell(...)} end, error_reply = REDIS.error_reply}
