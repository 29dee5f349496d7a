-- Runs one command on a part of an event that is being rebuilt, for the one node that rebuilds it.
-- The command that writes the meta hash's epoch is the last: it opens the event.
--
-- Keys   1 meta · 2 the key that the command writes, if that is another
-- Args   1 the epoch that begins with this rebuilding · 2 how many commands ran before · 3… the command
-- Reply  1 · 0 if another node rebuilds the event by now, or it is open · 2 if commands that ran are
--        lost: another failover came, and they are counted beside what they wrote
local meta = KEYS[1]
if redis.call('HGET', meta, 'rebuilding') ~= ARGV[1] then return 0 end
if redis.call('HGET', meta, 'rewritten') ~= ARGV[2] then return 2 end
-- Lua's stack takes no more than 8,000 words at a time: no command has as many (src/redis/layout.rs).
redis.call(unpack(ARGV, 3))
if redis.call('HGET', meta, 'epoch') == '-1' then
  redis.call('HINCRBY', meta, 'rewritten', 1)
else
  redis.call('HDEL', meta, 'rebuilding', 'rewritten', 'was_there')
end
return 1
