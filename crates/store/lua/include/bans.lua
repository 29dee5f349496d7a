-- Bans: visitors whom the organiser keeps out (core/src/bans.rs).
--
-- Hash `bans`: user -> `at|reason`, the reason as JSON. meta.bans: how many there are; absent if
-- nobody is banned, so that most events never look into the hash.
--
--   is_banned(user)   needs M.bans

--#include begin

local function is_banned(user)
  return M.bans ~= nil and redis.call('HEXISTS', K.bans, user) == 1
end
