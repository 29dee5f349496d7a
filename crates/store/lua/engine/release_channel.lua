-- Gives all stock of a channel to another one, or to everybody, for good: also what comes back.
--
-- Args      1 channel · 2 into which, or '' · 3 reason as JSON
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_SETTINGS (the node's), CHANNEL_NOT_FOUND, CHANNEL_RELEASED
-- Changes   channel_released
--#include change
--#include channels

local out = open_once{}
if out then return out end

local channels = channels_open()
out = channels.unreleased(A(1)) or channels.unreleased(A(2))
if out then return out end
channels.release(A(1), A(2), A(3))
return commit(DONE)
