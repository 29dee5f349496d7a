-- Limits per person on pools, categories and ticket types, as core/src/event/decide_limits.rs.
--
--   limits_open(user, u)   a table of what follows; nil where there are none: each function costs its
--                          making
--     asked(lines, stock, groups)   units that are asked for: groups are those that have types
--                                   (types.lua), or nil
--     of_hold(hold)                 the units of a booking that is known
--     check(units)                  the refusal or nil
--     best(quantity, beside, prices, categories, is_asked, types)   the same for so many seats that are
--                             left to the rules, beside these units: takes the prices of those
--                             categories away whose limits do not allow all of them; types as
--                             types_open gives them
--
-- Units: a table from '<ticket type> <key>' to how many, with '' for all types together; a key is as in
-- prices.lua. The user's bookings are read once a limit counts some of what is asked for. In meta,
-- `limits` is the setting as JSON.
--
-- Meta fields to open with: limits

--#include begin
--#include claims
--#include holds
--#include lines
--#include prices

local function limits_open(user, u)
  if not M.limits then
    return nil
  end
  local limits, all = {}, cjson.decode(M.limits)
  local categories, held = nil, nil
  for _, it in ipairs(all) do
    it.key = it.of.pool and 'p:' .. it.of.pool or 'c:' .. it.of.category
    it.counted = (it.ticket_type or '') .. ' ' .. it.key
  end

  local function add(units, ticket_type, key, more)
    local counted = ticket_type .. ' ' .. key
    units[counted] = (units[counted] or 0) + more
  end

  function limits.asked(lines, stock, groups)
    local units = {}
    for i, pool in ipairs(stock.pools) do
      add(units, '', 'p:' .. pool.id, lines.quantities[i])
    end
    for _, seat in ipairs(stock.seats) do
      add(units, '', 'c:' .. stock.categories[seat.category].name, 1)
    end
    for _, group in ipairs(groups or {}) do
      add(units, group.ticket_type.id, group.key, group.quantity)
    end
    return units
  end

  local function add_hold(units, hold, lines)
    local keys = {}
    for i, id in ipairs(lines.pools) do
      keys[i] = 'p:' .. id
      add(units, '', keys[i], lines.quantities[i])
    end
    categories = categories or lines.seats[1] and categories_get()
    for _, seat in ipairs(seats_get(lines.seats)) do
      keys[#keys + 1] = 'c:' .. categories[seat.category].name
      add(units, '', keys[#keys], 1)
    end
    for group in string.gmatch(string.match(hold.types, '^[^;]*'), '[^/]+') do
      local id, of_lines = string.match(group, '^([^,]*),[^,]*,[^,]*,[^,]*,(.*)$')
      for line, quantity in string.gmatch(of_lines, '(%d+):(%d+)') do
        add(units, id, keys[tonumber(line) + 1], tonumber(quantity))
      end
    end
  end

  function limits.of_hold(hold)
    local units = {}
    add_hold(units, hold, lines_read(hold.lines))
    return units
  end

  local function read_held()
    local units = 0
    held = {}
    for _, booking in ipairs(users.bookings_of(u)) do
      local hold = hold_get(booking)
      if hold.state == 'held' or hold.state == 'paying' or hold.state == 'confirmed' then
        local lines = lines_read(hold.lines)
        add_hold(held, hold, lines)
        units = units + lines.units
      end
    end
    for pool, claimed in pairs(claimed_by(user, u, u.units - units)) do
      add(held, '', 'p:' .. pool, claimed)
    end
  end

  local function check_one(it, more)
    if not held then
      read_held()
    end
    local has = held[it.counted] or 0
    if has + more <= it.max_per_user then
      return nil
    end
    return no('USER_LIMIT_EXCEEDED', '"limit":' .. int(it.max_per_user) .. ',"held":' .. int(has)
      .. ',"of":' .. priced_json(it.key)
      .. (it.ticket_type and ',"ticket_type":"' .. it.ticket_type .. '"' or ''))
  end

  function limits.check(units)
    for _, it in ipairs(all) do
      local refusal = units[it.counted] and check_one(it, units[it.counted])
      if refusal then
        return refusal
      end
    end
  end

  -- The refusal if all of the chosen seats were of this category.
  local function check_category(key, quantity, beside, types)
    local chosen = {}
    add(chosen, '', key, quantity)
    for _, it in ipairs(types and types.best_counts(key, quantity) or {}) do
      add(chosen, it.ticket_type.id, key, it.quantity)
    end
    for _, it in ipairs(all) do
      local more = it.key == key and chosen[it.counted]
      local refusal = more and check_one(it, more + (beside[it.counted] or 0))
      if refusal then
        return refusal
      end
    end
  end

  function limits.best(quantity, beside, prices, all_categories, is_asked, types)
    local first, suits, index = limits.check(beside), false, 0
    if first then
      return first
    end
    while all_categories[index] do
      local name = all_categories[index].name
      local refusal = prices[index] and check_category('c:' .. name, quantity, beside, types)
      if prices[index] and (not is_asked or is_asked[name]) then
        suits, first = suits or not refusal, first or refusal
      end
      if refusal then
        prices[index] = nil
      end
      index = index + 1
    end
    return not suits and first or nil
  end

  return limits
end
