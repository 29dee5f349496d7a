-- Ends a ban.
--
-- Args      1 user · 2 who and why, as JSON
-- Reply     done
-- Refusals  EVENT_NOT_FOUND INVALID_SETTINGS (the node's)
-- Changes   visitor_unbanned; none if nobody of this id is banned
--#include change
--#include bans

local out = open_once{'bans'}
if out then return out end

local user = A(1)
if is_banned(user) then
  change('{"visitor_unbanned":{"user":"' .. user .. '","reason":' .. A(2) .. '}}')
  redis.call('HDEL', K.bans, user)
  local left = tonumber(M.bans) - 1
  if left > 0 then put_meta('bans', int(left)) else put_meta('bans', nil) end
end
return commit(DONE)
