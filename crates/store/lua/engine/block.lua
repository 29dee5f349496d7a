-- Takes free units off sale.
--
-- Args      1 reason as JSON · 2 why, as text · 3… lines (include/lines)
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_SETTINGS (the node's), ZONE_NOT_FOUND, SEAT_NOT_FOUND,
--           INSUFFICIENT_STOCK, SEAT_UNAVAILABLE
-- Changes   units_blocked
--#include change
--#include lines

local out = open_once{}
if out then return out end

local reason, why, lines = A(1), A(2), lines_from(3)
local stock = stock_read(lines)
out = check_lines_exist(lines, stock) or check_lines_free(lines, stock)
if out then return out end

for i, pool in ipairs(stock.pools) do
  pool.blocked = pool.blocked + lines.quantities[i]
  redis.call('HINCRBY', K.blocked, pool.id .. ':' .. why, int(lines.quantities[i]))
end
for _, seat in ipairs(stock.seats) do
  seat_set(seat, stock.categories, 'B', why)
end
stock_write(stock)
change('{"units_blocked":{"lines":' .. lines.json .. ',"reason":' .. reason .. '}}')
return commit(DONE)
