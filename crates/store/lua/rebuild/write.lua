-- Runs one command on a part of an event that is being rebuilt, for the one node that rebuilds it.
-- The command on the meta hash is the last: it opens the event.
--
-- Keys   1 meta · 2 the key that the command writes, if that is another
-- Args   1 the epoch that begins with this rebuilding · 2… the command
-- Reply  1 · 0 if another node rebuilds the event by now, or it is open
if redis.call('HGET', KEYS[1], 'rebuilding') ~= ARGV[1] then return 0 end
redis.call(unpack(ARGV, 2))
if not KEYS[2] then redis.call('HDEL', KEYS[1], 'rebuilding') end
return 1
