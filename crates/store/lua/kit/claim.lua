-- Claims units of a counted stock for good, or gives them back.
--
-- For the server alone: a signed amount is the right to change stock.
--
-- Keys:     1 counter            integer: units claimed; absent is 0
--           2 request, optional  string: the first answer to this request id; e.g. claim:<campaign>:<request>
--           3 history, optional  stream: one entry for each change; never trimmed here
-- Args:     1 increment, signed · 2 quantity, the maximum · 3 ttl, optional: seconds from the first
--           claim until the count begins anew; empty or 0: never · 4 request_ttl, optional: seconds
--           the first answer is kept; default 86400
--           5 who and 6 why, optional, for the history
-- Reply:    1 done, 0 would exceed the quantity, -1 would go below zero; for a request id that was
--           seen before: the first answer
-- Refusals: 0 and -1

local TTL_MAX = 3650 * 86400

local function whole(text)
  if text and #text <= 15 and string.match(text, '^%-?%d+$') then return tonumber(text) end
end

-- A stored count as Redis writes it: to a number with zeros before it, it adds nothing.
local function count(text)
  local number = whole(text)
  if number and string.format('%d', number) == text then return number end
end

local function seconds(text, default)
  if text == nil or text == '' then return default end
  local number = whole(text)
  if number and number >= 0 and number <= TTL_MAX then return number end
end

if #KEYS < 1 or #KEYS > 3 then return redis.error_reply('ERR claim takes 1 to 3 keys') end
local counter, request, history = KEYS[1], KEYS[2], KEYS[3]
local increment, quantity = whole(ARGV[1]), whole(ARGV[2])
local ttl, request_ttl = seconds(ARGV[3], 0), seconds(ARGV[4], 86400)
if not increment then return redis.error_reply('ERR increment must be a whole number') end
if not quantity or quantity < 0 then return redis.error_reply('ERR quantity must be a whole number') end
if not ttl or not request_ttl or request_ttl == 0 then
  return redis.error_reply('ERR ttl must be 0 to ' .. TTL_MAX)
end

local first = request and redis.call('GET', request)
if first then
  if first ~= '1' and first ~= '0' and first ~= '-1' then
    return redis.error_reply('ERR the request key holds something else than an answer')
  end
  return tonumber(first)
end
local text = redis.call('GET', counter)
local before = count(text or '0')
if not before then return redis.error_reply('ERR the counter is not a whole number') end
-- fails here, with nothing done, if the key is of another type
if history then
  redis.call('XLEN', history)
end

local status = 1
if increment > 0 and before + increment > quantity then status = 0 end
if before + increment < 0 then status = -1 end

-- A Redis that is full refuses a script at its first write only, and only one that may take memory. So
-- that units are given back there, too, theirs is one that changes nothing: the counter lives as long as
-- it would have.
if status == 1 and increment < 0 then
  local left_ms = redis.call('PTTL', counter)
  if left_ms < 0 then
    redis.call('PERSIST', counter)
  else
    redis.call('PEXPIRE', counter, string.format('%d', math.max(1, left_ms)))
  end
end
if request then redis.call('SET', request, status, 'EX', request_ttl) end
if status == 1 and increment ~= 0 then
  redis.call('INCRBY', counter, string.format('%d', increment))
  if ttl > 0 and not text then redis.call('EXPIRE', counter, ttl) end
  if history then
    local time = redis.call('TIME')
    redis.call('XADD', history, '*', 'who', ARGV[5] or '', 'what', string.format('%d', increment),
      'when', string.format('%d.%06d', time[1], time[2]), 'why', ARGV[6] or '',
      'before', string.format('%d', before), 'after', string.format('%d', before + increment),
      'request', request)
  end
end
return status
