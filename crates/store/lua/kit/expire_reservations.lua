-- Returns the stock of holds that have run out, each exactly once however many workers race.
--
-- Keys:     1 expiry index · then for each entry: zone key, user key, reservation key, as
--           due_reservations gives them
-- Args:     the entries, as many, in the same order
-- Reply:    {1, reservations, seats, broken}: how many holds were ended here, how many seats went
--           back to their zones, and how many holds cannot be ended because their keys hold
--           something else than they should
-- Refusals: none: an entry that is not due, not in the index any more, or has other keys is passed
--           over. A broken one is put back by a minute, so that it stops nobody and is ended by
--           itself once its keys are mended
--
-- The hash of a hold that ended stays for a day with the status `expired`, so that its booking id
-- is not used anew.

-- A count as Redis writes it: to a number with zeros before it, it adds nothing.
local function whole(text)
  if type(text) ~= 'string' or #text > 15 then return nil end
  if text == '0' or string.match(text, '^[1-9]%d*$') then return tonumber(text) end
end

if #KEYS < 1 or #KEYS ~= 1 + 3 * #ARGV or #ARGV > 1000 then
  return redis.error_reply(
    'ERR expire_reservations takes the index, and 3 keys for each of at most 1000 entries')
end
local DAY = 86400
local AGAIN_AFTER = 60
local index = KEYS[1]
local time = redis.call('TIME')
local now = tonumber(string.format('%d.%06d', time[1], time[2]))

-- First everything is read and added up, then everything is written.
local entries, ended, zones, users, back, broken = {}, {}, {}, {}, {}, {}
for i, entry in ipairs(ARGV) do
  local zone_key, user_key, reservation_key = KEYS[3 * i - 1], KEYS[3 * i], KEYS[3 * i + 1]
  local deadline = tonumber(redis.call('ZSCORE', index, entry) or '')
  local ok, keys = pcall(cjson.decode, entry)
  local quantity = ok and type(keys) == 'table' and whole(keys[4])
  if deadline and deadline <= now and not back[entry] and quantity
    and keys[1] == reservation_key and keys[2] == zone_key and keys[3] == user_key then
    local zone_text = redis.pcall('GET', zone_key)
    local user_text = redis.pcall('GET', user_key)
    local held = redis.pcall('HMGET', reservation_key, 'status', 'expires_at')
    if not (whole(zone_text or '0') and whole(user_text or '0')) or held.err then
      broken[#broken + 1] = entry
      back[entry] = 0
    else
      entries[#entries + 1] = entry
      -- The hash may be gone, or be a later one's: then the entry alone says what was held.
      local until_then = tonumber(held[2] or '')
      local its_own = until_then and until_then <= deadline
      if its_own and held[1] == 'confirmed' then
        back[entry] = 0
      else
        back[entry] = quantity
        users[user_key] = (users[user_key] or whole(user_text or '0')) - quantity
        -- A zone that is gone is not made anew from a few seats.
        if zone_text then zones[zone_key] = (zones[zone_key] or 0) + quantity end
        if its_own then ended[#ended + 1] = reservation_key end
      end
    end
  end
end

local reservations, seats = 0, 0
for _, entry in ipairs(entries) do
  redis.call('ZREM', index, entry)
  if back[entry] > 0 then reservations = reservations + 1 end
end
for _, entry in ipairs(broken) do
  -- Taken out first: a Redis that is full adds nothing in a script that has written nothing yet.
  redis.call('ZREM', index, entry)
  redis.call('ZADD', index, string.format('%d.%06d', time[1] + AGAIN_AFTER, time[2]), entry)
end
for _, reservation_key in ipairs(ended) do
  redis.call('HSET', reservation_key, 'status', 'expired')
  redis.call('EXPIRE', reservation_key, DAY)
end
for zone_key, quantity in pairs(zones) do
  redis.call('INCRBY', zone_key, string.format('%d', quantity))
  seats = seats + quantity
end
for user_key, total in pairs(users) do
  if total > 0 then
    redis.call('SET', user_key, string.format('%d', total))
  else
    redis.call('DEL', user_key)
  end
end
return {1, reservations, seats, #broken}
