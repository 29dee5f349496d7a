-- Creates the event.
--
-- Args      1 settings as JSON · 2… their fields and texts (include/settings)
-- Reply     done
-- Refusals  EVENT_EXISTS, INVALID_SETTINGS (the node's, and for a closing time that is past)
-- Changes   event_created
--#include change
--#include settings

local out = open_new{}
if out then return out end

local settings = settings_from(1)
out = closing_wrong(settings)
if out then return out end
settings_write(settings)
put_meta('epoch', '0')
put_meta('phase', 'scheduled')
put_meta('opened', '0')
put_meta('taken', '0')
put_meta('units_free', '0')
put_meta('choosing', '0')
put_meta('alive', int(now))
change('{"event_created":{"settings":' .. settings.json .. '}}')
return commit(DONE)
