-- Replaces the event's settings. The order of the line is fixed once people may join, and which public
-- value a draw was promised once the list of entrants is.
--
-- Args      1 settings as JSON · 2… their fields and texts (include/settings)
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_SETTINGS (the node's, and for a new closing time that is past),
--           SETTINGS_FIXED
-- Changes   settings_changed
--#include change
--#include settings

local out = open_once{
  'currency', 'tax', 'room', 'order', 'seed_hash', 'opened', 'place_ttl_ms', 'entrants',
  'public_value_source',
}
if out then return out end

local settings = settings_from(1)
local wanted = settings.fields
out = closing_wrong(settings)
if out then return out end

local priced = redis.call('HLEN', K.pools) > 0 or redis.call('HLEN', K.seats) > 0
if priced and wanted.currency ~= M.currency then
  return no_why('SETTINGS_FIXED', 'currency: it is fixed once there are prices', 'currency')
end
if priced and wanted.tax ~= (M.tax or '') then
  return no_why('SETTINGS_FIXED', 'tax: it is fixed once there are prices', 'tax')
end
local had_room, has_room = M.room ~= nil, wanted.room ~= ''
local waiting = redis.call('ZCARD', K.queue) + redis.call('ZCARD', K.parked)
if had_room ~= has_room then
  if waiting > 0 or redis.call('HLEN', K.sessions) > 0 then
    return no_why('SETTINGS_FIXED', 'room: switch it on or off while nobody waits and nobody is in', 'room')
  end
end
if M.opened == '1' and waiting > 0 and has_room then
  local now_ms = math.min(tonumber(M.place_ttl_ms) or 0, MIN_CUT_PLACE_TTL_MS)
  if tonumber(wanted.place_ttl_ms) < now_ms then
    return no_why(
      'SETTINGS_FIXED',
      'room.place_ttl_ms: while people wait it is cut to 360000 at least; that they are there is noted every '
        .. '300000 only',
      'room.place_ttl_ms'
    )
  end
end
local new_order = false
if had_room and has_room then
  new_order = wanted.order ~= M.order or wanted.seed_hash ~= (M.seed_hash or '')
elseif has_room then
  new_order = wanted.order ~= 'fifo'
elseif had_room then
  -- With its room, what was published about a draw would go.
  new_order = M.order ~= 'fifo'
end
if M.phase ~= 'scheduled' and new_order then
  return no_why('SETTINGS_FIXED', 'room.order: it is fixed once people may join', 'room.order')
end
local had_source, has_source = M.public_value_source or '', wanted.public_value_source
if M.entrants and has_source ~= had_source then
  return no_why(
    'SETTINGS_FIXED',
    'room.public_value_source: it is fixed once the list of entrants is',
    'room.public_value_source'
  )
end

settings_write(settings)
change('{"settings_changed":{"settings":' .. settings.json .. '}}')
return commit(DONE)
