-- What a booking wants, as core/src/lines.rs, and the stock it concerns.
--
--   lines_read(json)            the lines of a booking that is known
--   lines_from(first)           the lines in the arguments from A(first) on: their JSON, how many
--                               pools, then pool and quantity of each, then the seats' ids to the
--                               last argument
--   lines_with_seats(lines, ids)   the same with these seats more
--   stock_read(lines)           the pools, seats and categories they name
--   stock_write(stock)          writes these
--   check_lines_exist(lines, stock), check_lines_free(lines, stock)   the refusal, or nil
--   check_companions(lines)     the refusal of companions' seats without their places, unless these are
--                               sold; or nil
--   occupy(lines, stock, booking)        takes free units for a hold
--   sell(lines, stock, booking)          makes held units sold
--   give_back_held(lines, stock)         makes held units free
--   give_back_sold(lines, stock)         makes sold units free
--
-- Lines: { json, pools = ids, quantities, seats = ids, units }. Only stock_write writes.

--#include begin
--#include pools
--#include seats

local function lines_read(json)
  local lines = { json = json, pools = {}, quantities = {}, seats = {}, units = 0 }
  -- Ids need no escaping, so quotes and brackets are where the structure is, and nowhere else.
  local pools = string.match(json, '^{"pools":{([^}]*)}')
  for id, quantity in string.gmatch(pools or '', '"([^"]+)":(%d+)') do
    local i = #lines.pools + 1
    lines.pools[i], lines.quantities[i] = id, tonumber(quantity)
    lines.units = lines.units + lines.quantities[i]
  end
  local seats = string.match(json, '"seats":%[([^%]]*)%]')
  for id in string.gmatch(seats or '', '"([^"]+)"') do
    lines.seats[#lines.seats + 1] = id
  end
  lines.units = lines.units + #lines.seats
  return lines
end

local function lines_from(first)
  local lines = { json = A(first), pools = {}, quantities = {}, seats = {}, units = 0 }
  local pools = tonumber(A(first + 1))
  for i = 1, pools do
    lines.pools[i] = A(first + 2 * i)
    lines.quantities[i] = tonumber(A(first + 2 * i + 1))
    lines.units = lines.units + lines.quantities[i]
  end
  local seat = first + 2 * pools + 2
  while A(seat) do
    lines.seats[#lines.seats + 1] = A(seat)
    seat = seat + 1
  end
  lines.units = lines.units + #lines.seats
  return lines
end

-- Whether one id comes before another byte by byte; `<` goes by the server's locale.
local function id_before(one, other)
  for at = 1, math.min(#one, #other) do
    local a, b = string.byte(one, at), string.byte(other, at)
    if a ~= b then
      return a < b
    end
  end
  return #one < #other
end

local function lines_with_seats(lines, ids)
  local seats = {}
  for _, id in ipairs(lines.seats) do
    seats[#seats + 1] = id
  end
  for _, id in ipairs(ids) do
    seats[#seats + 1] = id
  end
  table.sort(seats, id_before)
  local pools = string.match(lines.json, '^{("pools":{[^}]*}),?')
  local json = '{' .. (pools and pools .. ',' or '') .. '"seats":["' .. table.concat(seats, '","') .. '"]}'
  return {
    json = json, pools = lines.pools, quantities = lines.quantities, seats = seats,
    units = lines.units + #ids,
  }
end

local function stock_read(lines)
  return {
    pools = pools_get(lines.pools),
    seats = seats_get(lines.seats),
    categories = lines.seats[1] and categories_get() or {},
  }
end

local function stock_write(stock)
  pools_put(stock.pools)
  seats_put(stock.seats)
  categories_put(stock.categories)
end

local function check_lines_exist(lines, stock)
  for i, pool in ipairs(stock.pools) do
    if not pool then
      return no('ZONE_NOT_FOUND', '"pool":' .. str(lines.pools[i]))
    end
  end
  for i, seat in ipairs(stock.seats) do
    if not seat then
      return no('SEAT_NOT_FOUND', '"seat":' .. str(lines.seats[i]))
    end
  end
end

local function check_lines_free(lines, stock)
  for i, pool in ipairs(stock.pools) do
    local free = pool_free(pool)
    if free < lines.quantities[i] then
      return no('INSUFFICIENT_STOCK', '"pool":' .. str(pool.id) .. ',"free":' .. int(free))
    end
  end
  local taken = {}
  for _, seat in ipairs(stock.seats) do
    if seat.state ~= 'F' then
      taken[#taken + 1] = str(seat.id)
    end
  end
  if taken[1] then
    return no('SEAT_UNAVAILABLE', '"seats":[' .. table.concat(taken, ',') .. ']')
  end
end

local function check_companions(lines)
  if not lines.seats[1] or redis.call('EXISTS', K.access) == 0 then
    return nil
  end
  local is_named, companions, places, alone = {}, {}, {}, {}
  for _, id in ipairs(lines.seats) do
    is_named[id] = true
  end
  for nth, text in ipairs(redis.call('HMGET', K.access, unpack(lines.seats))) do
    local access = text and read_access(lines.seats[nth], text)
    if access and access.kind == 'C' and not is_named[access.of] then
      companions[#companions + 1] = access.seat
      places[#places + 1] = access.of
    end
  end
  for nth, place in ipairs(seats_get(places)) do
    if place.state ~= 'S' then
      alone[#alone + 1] = str(companions[nth])
    end
  end
  if alone[1] then
    return no('COMPANION_ALONE', '"seats":[' .. table.concat(alone, ',') .. ']')
  end
end

-- Moves each pool's units by these shares of its line, and each seat from one state to another.
local function move_units(lines, stock, held, sold, from, to, of)
  for i, pool in ipairs(stock.pools) do
    pool.held = pool.held + held * lines.quantities[i]
    pool.sold = pool.sold + sold * lines.quantities[i]
    assert(pool.held >= 0 and pool.sold >= 0 and pool_free(pool) >= 0, 'a pool divides into its units')
  end
  for _, seat in ipairs(stock.seats) do
    assert(seat.state == from, 'a seat changes from the state it is in')
    seat_set(seat, stock.categories, to, of)
  end
end

local function occupy(lines, stock, booking)
  move_units(lines, stock, 1, 0, 'F', 'H', booking)
end

local function sell(lines, stock, booking)
  move_units(lines, stock, -1, 1, 'H', 'S', booking)
end

local function give_back_held(lines, stock)
  move_units(lines, stock, -1, 0, 'H', 'F', '')
end

local function give_back_sold(lines, stock)
  move_units(lines, stock, 0, -1, 'S', 'F', '')
end
