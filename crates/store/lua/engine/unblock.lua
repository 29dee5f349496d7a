-- Puts blocked units on sale again; those of a pool must have been blocked with the same reason.
--
-- Args      1 reason as JSON · 2 why, as text · 3… lines (include/lines)
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_SETTINGS (the node's), ZONE_NOT_FOUND, SEAT_NOT_FOUND, UNITS_NOT_BLOCKED
-- Changes   units_unblocked
--#include change
--#include lines

local out = open_once{}
if out then return out end

local reason, why, lines = A(1), A(2), lines_from(3)
local stock = stock_read(lines)
out = check_lines_exist(lines, stock)
if out then return out end

local left = {}
for i, pool in ipairs(stock.pools) do
  left[i] = tonumber(redis.call('HGET', K.blocked, pool.id .. ':' .. why) or 0) - lines.quantities[i]
  if left[i] < 0 then return no('UNITS_NOT_BLOCKED') end
end
for _, seat in ipairs(stock.seats) do
  if seat.state ~= 'B' then return no('UNITS_NOT_BLOCKED') end
end

for i, pool in ipairs(stock.pools) do
  pool.blocked = pool.blocked - lines.quantities[i]
  if left[i] == 0 then
    redis.call('HDEL', K.blocked, pool.id .. ':' .. why)
  else
    redis.call('HSET', K.blocked, pool.id .. ':' .. why, int(left[i]))
  end
end
for _, seat in ipairs(stock.seats) do
  seat_set(seat, stock.categories, 'F', '')
end
stock_write(stock)
change('{"units_unblocked":{"lines":' .. lines.json .. ',"reason":' .. reason .. '}}')
return commit(DONE)
