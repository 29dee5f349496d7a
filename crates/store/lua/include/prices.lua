-- Prices that were changed, or will be, as core/src/prices.rs.
--
--   price_now(key, price)       the price now of what costs `price` by the last change, and whether
--                               that is what it cost first
--   pool_price(pool)            the same of a pool
--   category_price(category)    the same of a category
--   prices_minor(lines, stock, groups)  the price of one unit of each line, pools' and then seats',
--                               between commas, or '' if all are the first ones; and the price of all
--                               of it. groups are the units that have types (types.lua), or nil
--   priced_json(key)            what a key names, as JSON
--   ladder_put(key, before, later)  takes note of what follows, from:price;…, and, the first time, of
--                               the price until now
--   ladder_first(later)         when the first of these holds, its price, and what follows it; nil
--                               if there is none
--   ladder_json(later)          the same as JSON
--
--   set_pool_price(pool, price), set_category_price(name, text, price)   the last change's price;
--                               what it was before
--   price_changed(key, before, price, later, reason)   takes note of it, with its change; reason is
--                               JSON, or nil for what was due
--   price_step(key)             what ticks do
--
-- A key is c:<category> or p:<pool>. What follows the present price stands in meta, in the field
-- price:<key>, behind the first price: first;from:price;… Deadlines: 8:<key>, when the next holds.
--
-- Meta fields to open with: prices
--#include begin
--#include change

-- Texts of ladders that were read.
local ladders = {}

local function price_now(key, price)
  if M.prices ~= '1' then
    return price, true
  end
  ladders[key] = ladders[key] or redis.call('HGET', K.meta, 'price:' .. key) or ''
  local text = ladders[key]
  if text == '' then
    return price, true
  end
  for from, later in string.gmatch(text, ';(%d+):(%d+)') do
    if tonumber(from) > now then
      break
    end
    price = tonumber(later)
  end
  return price, price == tonumber(string.match(text, '^%d+'))
end

local function pool_price(pool)
  return price_now('p:' .. pool.id, pool.price)
end

local function category_price(category)
  return price_now('c:' .. category.name, category.price)
end

local function prices_minor(lines, stock, groups)
  local each, sum, are_first = {}, groups and groups.price or 0, true
  local function add(quantity, price, is_first)
    if not (groups and groups.typed[#each]) then
      sum = sum + price * quantity
    end
    each[#each + 1] = int(price)
    are_first = are_first and is_first
  end
  for i, pool in ipairs(stock.pools) do
    add(lines.quantities[i], pool_price(pool))
  end
  for _, seat in ipairs(stock.seats) do
    add(1, category_price(stock.categories[seat.category]))
  end
  return are_first and '' or table.concat(each, ','), sum
end

local function ladder_first(later)
  local from, price, rest = string.match(later, '^(%d+):(%d+);?(.*)$')
  return tonumber(from), tonumber(price), rest
end

local function ladder_json(later)
  local steps = string.gsub(later, '(%d+):(%d+)', '{"from":%1,"price_minor":%2}')
  return '[' .. string.gsub(steps, ';', ',') .. ']'
end

local function set_pool_price(pool, price)
  local before = pool.price
  pool.price = price
  pools_put{pool}
  return before
end

local function set_category_price(name, text, price)
  local category = read_category(name, text)
  local before = category.price
  category.price = price
  redis.call('HSET', K.categories, name, category_text(category))
  return before
end

local function ladder_put(key, before, later)
  local known = redis.call('HGET', K.meta, 'price:' .. key)
  local first = known and string.match(known, '^%d+') or int(before)
  put_meta('price:' .. key, later == '' and first or first .. ';' .. later)
  put_meta('prices', '1')
  local from = ladder_first(later)
  if from then
    redis.call('ZADD', K.deadlines, int(from), '8:' .. key)
  else
    redis.call('ZREM', K.deadlines, '8:' .. key)
  end
end

local function priced_json(key)
  local of = string.sub(key, 1, 1) == 'c' and '{"category":' or '{"pool":'
  return of .. str(string.sub(key, 3)) .. '}'
end

local function price_changed(key, before, price, later, reason)
  change('{"price_changed":{"of":' .. priced_json(key) .. ',"before_minor":' .. int(before)
    .. ',"price_minor":' .. int(price)
    .. (later == '' and '' or ',"later":' .. ladder_json(later))
    .. (reason and ',"reason":' .. reason or '') .. '}}')
  ladder_put(key, before, later)
end

local function price_step(key)
  local ladder = redis.call('HGET', K.meta, 'price:' .. key)
  local _, price, later = ladder_first(string.match(ladder, ';(.*)$'))
  local name, before = string.sub(key, 3), nil
  if string.sub(key, 1, 1) == 'c' then
    before = set_category_price(name, redis.call('HGET', K.categories, name), price)
  else
    before = set_pool_price(pools_get{name}[1], price)
  end
  price_changed(key, before, price, later)
end
