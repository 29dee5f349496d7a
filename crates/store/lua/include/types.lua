-- Ticket types, as core/src/types.rs and core/src/event/decide_types.rs.
--
--   types_open(asked)   a table of what follows; asked is what a buyer names as JSON, or ''. Nil where
--                       nothing has types and nobody names one: each function costs its making
--     groups(lines, stock, chosen)  the units of each type, of these lines; chosen are the ids of
--                                   seats that the rules chose, or nil; and the refusal
--     check_limits(groups)    the refusal of more or fewer of a type than a booking may have, or nil
--     keep(hold, groups)      what the hold keeps of it
--     best_prices(categories, quantity, groups, is_asked)   what a seat of each category costs that
--                             the rules choose, by index: the dearest, where it has several types, and
--                             nil for a category that cannot have what is named; and the refusal
--     best_counts(key, quantity)   how many of so many seats of a category that the rules choose are
--                             of each type: { ticket_type, quantity } each; nil if one is not there
--     untyped_price(pool)     the price of a unit whose type nobody names
--   types_asked(hold)   what was named for a booking: JSON, or ''
--
-- A list stands in meta, in the field types:<key> (a key is as in prices.lua): id,price,min,max,
-- proof,name;… The price is p and an amount, s and a share in basis points, or l and how much less; max
-- is '' for none, proof 0 or 1, and the name encoded (src/redis/segments.rs). Groups: a list of { key,
-- ticket_type, price, quantity, units }, units as holds.lua keeps them, with `typed`, the lines that
-- have types, counted from 0, and `price`, what all these units cost.
--
-- Meta fields to open with: types, prices, currency, amount_step_minor

--#include begin
--#include lines
--#include money
--#include prices

local function types_asked(hold)
  return string.match(hold.types, ';(.*)$') or ''
end

local function types_open(json)
  if not M.types and json == '' then
    return nil
  end
  local types, lists, asked = {}, {}, json ~= '' and cjson.decode(json) or {}

  local function list_of(key)
    if lists[key] then
      return lists[key]
    end
    local list, text = {}, M.types and redis.call('HGET', K.meta, 'types:' .. key) or ''
    local each = '([^,;]+),(%a)(%d+),(%d+),(%d*),(%d),([^;]*)'
    for id, kind, amount, min, max, proof, name in string.gmatch(text, each) do
      list[#list + 1] = {
        id = id, kind = kind, amount = tonumber(amount), min = tonumber(min), max = tonumber(max),
        proof = proof, name = name,
      }
    end
    lists[key] = list
    return list
  end

  local function find(key, id)
    for _, it in ipairs(list_of(key)) do
      if it.id == id then
        return it
      end
    end
    return nil, no('TYPE_NOT_FOUND', '"ticket_type":"' .. id .. '","of":' .. priced_json(key))
  end

  local function price_of(it, base)
    if it.kind == 'p' then
      return it.amount
    elseif it.kind == 's' then
      return share_minor(base, it.amount, 10000, false)
    end
    return math.max(base - it.amount, 0)
  end

  local function check_limit(key, it, quantity)
    if it.min <= quantity and quantity <= (it.max or quantity) then
      return nil
    end
    return no('TYPE_LIMIT', '"ticket_type":"' .. it.id .. '","of":' .. priced_json(key)
      .. ',"min":' .. int(it.min)
      .. (it.max and ',"max":' .. int(it.max) or '') .. ',"asked":' .. int(quantity))
  end

  local function sorted_ids(named)
    local ids = {}
    for id in pairs(named) do
      ids[#ids + 1] = id
    end
    table.sort(ids, id_before)
    return ids
  end

  -- How many of so many units are of each type of a list: { ticket_type, quantity } each. Those that no
  -- type is named for are of the first.
  local function count(key, named, quantity)
    local counts, rest = {}, quantity
    for _, id in ipairs(sorted_ids(named)) do
      local it, refusal = find(key, id)
      if not it then
        return nil, refusal
      end
      rest = rest - named[id]
    end
    for nth, it in ipairs(list_of(key)) do
      local units = (named[it.id] or 0) + (nth == 1 and math.max(rest, 0) or 0)
      if units > 0 then
        counts[#counts + 1] = {ticket_type = it, quantity = units}
      end
    end
    return counts
  end

  -- The type of each seat that one is named for: of those chosen, in the order of their ids, first come
  -- those of no named type, then type by type.
  local function seats_named(chosen)
    local named = {}
    for seat, id in pairs(asked.seats or {}) do
      named[seat] = id
    end
    local ids, of_best, units = {}, asked.best or {}, 0
    for nth, id in ipairs(chosen or {}) do
      ids[nth] = id
    end
    table.sort(ids, id_before)
    for _, quantity in pairs(of_best) do
      units = units + quantity
    end
    local at = math.max(#ids - units, 0)
    for _, id in ipairs(sorted_ids(of_best)) do
      for _ = 1, of_best[id] do
        at = at + 1
        if ids[at] then
          named[ids[at]] = id
        end
      end
    end
    return named
  end

  function types.groups(lines, stock, chosen)
    local groups, known = {typed = {}, price = 0}, {}
    local function add(key, it, base, line, quantity)
      local which = key .. ' ' .. it.id
      local group = known[which]
      if not group then
        group = {key = key, ticket_type = it, price = price_of(it, base), quantity = 0, units = ''}
        known[which], groups[#groups + 1] = group, group
      end
      group.units = group.units .. ',' .. int(line) .. ':' .. int(quantity)
      group.quantity = group.quantity + quantity
      groups.typed[line], groups.price = true, groups.price + group.price * quantity
    end
    for i, pool in ipairs(stock.pools) do
      local key = 'p:' .. pool.id
      local counts, refusal = count(key, asked.pools and asked.pools[pool.id] or {}, lines.quantities[i])
      if refusal then
        return nil, refusal
      end
      for _, it in ipairs(counts) do
        add(key, it.ticket_type, pool_price(pool), i - 1, it.quantity)
      end
    end
    local named = seats_named(chosen)
    for i, seat in ipairs(stock.seats) do
      local category = stock.categories[seat.category]
      local key, id = 'c:' .. category.name, named[seat.id]
      local it, refusal = list_of(key)[1], nil
      if id then
        it, refusal = find(key, id)
      end
      if refusal then
        return nil, refusal
      elseif it then
        add(key, it, category_price(category), #stock.pools + i - 1, 1)
      end
    end
    return groups
  end

  function types.check_limits(groups)
    for _, group in ipairs(groups) do
      local refusal = check_limit(group.key, group.ticket_type, group.quantity)
      if refusal then
        return refusal
      end
    end
  end

  function types.keep(hold, groups)
    local held = {}
    for nth, group in ipairs(groups) do
      local it = group.ticket_type
      held[nth] = it.id .. ',' .. int(group.price) .. ',' .. it.proof .. ',' .. it.name .. group.units
    end
    hold.types = held[1] and table.concat(held, '/') .. ';' .. json or ''
  end

  function types.best_counts(key, quantity)
    return count(key, asked.best or {}, quantity)
  end

  function types.best_prices(categories, quantity, groups, is_asked)
    local prices, first, suits, index = {}, nil, false, 0
    local function dearest(category)
      local key, most = 'c:' .. category.name, nil
      local base = category_price(category)
      local counts, refusal = types.best_counts(key, quantity)
      for _, it in ipairs(counts or {}) do
        local units = it.quantity
        for _, group in ipairs(groups) do
          local is_same = group.key == key and group.ticket_type.id == it.ticket_type.id
          units = units + (is_same and group.quantity or 0)
        end
        refusal = refusal or check_limit(key, it.ticket_type, units)
        most = math.max(most or 0, price_of(it.ticket_type, base))
      end
      return not refusal and (most or base) or nil, refusal
    end
    while categories[index] do
      local price, refusal = dearest(categories[index])
      if not is_asked or is_asked[categories[index].name] then
        suits, first = suits or not refusal, first or refusal
      end
      prices[index], index = price, index + 1
    end
    return prices, not suits and first or nil
  end

  function types.untyped_price(pool)
    local first = list_of('p:' .. pool.id)[1]
    local base = pool_price(pool)
    return first and price_of(first, base) or base
  end

  return types
end
