-- What a script is wrapped in to be told instead of done: it reads as ever, and its writes are
-- answered beside its reply instead of being made. The node makes them in a transaction
-- (src/redis/transactions.rs). No script may read what it has written before.
--
-- Reply  {the script's own, {{'HSET', key, …}, …}}
local REDIS, TOLD = redis, {}
local READS = {
  EXISTS = true, HEXISTS = true, HGET = true, HGETALL = true, HLEN = true, HMGET = true,
  HVALS = true,
  TIME = true, XLEN = true,
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
-- An entry that a stream would refuse, since it had a later one, is refused now: in the transaction
-- it would be too late.
local function is_late(name, key, id)
  local about = name == 'XADD' and REDIS.pcall('XINFO', 'STREAM', key) or {}
  for i = 1, #about, 2 do
    if about[i] == 'last-generated-id' then
      return tonumber(string.match(about[i + 1], '^%d+')) >= tonumber(string.match(id, '^%d+'))
    end
  end
end
local function try(...)
  if is_late(...) then return {err = 'ERR the stream has a later entry'} end
  return {ok = tell(...)}
end
local redis = {
  call = tell, pcall = try, error_reply = REDIS.error_reply, sha1hex = REDIS.sha1hex,
}
