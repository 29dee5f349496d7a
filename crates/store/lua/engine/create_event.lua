-- Not written yet.
--#include begin
return redis.error_reply('not written yet')
