-- Moves free units from one channel to another, or from and to everybody's stock.
--
-- Args      1 from which channel, or '' · 2 to which, or '' · 3 reason as JSON · 4… lines (include/lines)
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_SETTINGS (the node's), ZONE_NOT_FOUND, SEAT_NOT_FOUND,
--           CHANNEL_NOT_FOUND, CHANNEL_RELEASED, INSUFFICIENT_STOCK, SEAT_UNAVAILABLE
-- Changes   units_allotted
--#include change
--#include channels

local out = open_once{}
if out then return out end

local from, to, lines = A(1), A(2), lines_from(4)
local channels, stock = channels_open(), stock_read(lines)
out = check_lines_exist(lines, stock) or channels.unreleased(from) or channels.unreleased(to)
  or channels.check_free(from, lines, stock)
if out then return out end

local sources, targets = {}, {}
for i = 1, #lines.pools + #lines.seats do
  sources[i], targets[i] = from, to
end
channels.move(lines, stock, sources, targets)
stock_write(stock)
channels.write()
change('{"units_allotted":{"lines":' .. lines.json
  .. (from == '' and '' or ',"from":"' .. from .. '"') .. (to == '' and '' or ',"to":"' .. to .. '"')
  .. ',"reason":' .. A(3) .. '}}')
return commit(DONE)
