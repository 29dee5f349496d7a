-- Adds seats and the price categories they are in, all or nothing.
--
-- The node checks texts and prices; each complaint of its own comes with the position (from 1) of
-- what it is about, so that it takes its turn among those found here.
--
-- Args      1 all seats as JSON · 2 position of the first bad category, or 0 · 3 its refusal ·
--           4 position of the first bad seat, or 0 · 5 its refusal · 6 number of categories · then
--           of each: name, price, JSON · number of seats · then of each: seat, and `rank aisle
--           section row access category`, section and row encoded, access -, W or C and the place
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_SETTINGS, SETTINGS_FIXED, EVENT_LIMIT, SEAT_EXISTS
-- Changes   seats_added
--#include change
--#include seats

-- Fields in one call: Lua's stack takes no more than 8,000 values at a time.
local CHUNK = 2000

local out = open_once{'sections'}
if out then return out end

local seats_json, bad_category, bad_seat = A(1), tonumber(A(2)), tonumber(A(4))
local function seat_told(text)
  return string.match(text, '^(%d+) (%a) ([^ ]*) ([^ ]*) ([^ ]*) (.*)$')
end

local function bad(refusal)
  return {'no', int(seq), int(now), refusal, M.epoch, M.mark or ''}
end

local by_name, categories, count = {}, categories_get(), 0
for _, category in pairs(categories) do
  by_name[category.name] = category
  count = count + 1
end
local known, new_json = count, {}
local at = 7
for i = 1, tonumber(A(6)) do
  local name, price, json = A(at), tonumber(A(at + 1)), A(at + 2)
  at = at + 3
  if i == bad_category then return bad(A(3)) end
  local named = by_name[name]
  if not named then
    local category = {name = name, index = count, price = price, F = 0, H = 0, S = 0, B = 0, changed = true}
    by_name[name], categories[count] = category, category
    count = count + 1
    new_json[#new_json + 1] = json
  elseif named.price ~= price then
    if named.changed then return no_why('INVALID_SETTINGS', 'categories: give each one price') end
    return no_why('SETTINGS_FIXED', 'categories: a known one keeps its price; name another differently')
  end
end
if count > MAX_CATEGORIES_PER_EVENT then
  return no_why('EVENT_LIMIT', 'categories: an event has at most ' .. int(MAX_CATEGORIES_PER_EVENT))
end

local added = tonumber(A(at))
local first = at + 1
if added == 0 then return no_why('INVALID_SETTINGS', 'seats: add at least one') end
local index = redis.call('HLEN', K.seats)
if index + added > MAX_SEATS_PER_EVENT then
  return no_why('EVENT_LIMIT', 'seats: an event has at most ' .. int(MAX_SEATS_PER_EVENT))
end

local named, exists, access = {}, {}, {}
for i = 1, added do
  local place = (i - 1) % CHUNK
  if place == 0 then
    local ids = {}
    for j = i, math.min(i + CHUNK - 1, added) do ids[#ids + 1] = A(first + 2 * (j - 1)) end
    exists = redis.call('HMGET', K.seats, unpack(ids))
  end
  local seat, told = A(first + 2 * (i - 1)), A(first + 2 * (i - 1) + 1)
  local rank, _, section, _, kept_for, category = seat_told(told)
  category = by_name[category]
  if i == bad_seat then return bad(A(5)) end
  if not category then return no_why('INVALID_SETTINGS', "seats: every seat's category needs a price") end
  if exists[place + 1] or named[seat] then return no('SEAT_EXISTS', '"seat":"' .. seat .. '"') end
  named[seat] = true
  if kept_for ~= '-' then
    local kind = string.sub(kept_for, 1, 1)
    local of = kind == 'W' and section or string.sub(kept_for, 2)
    access[#access + 1] = {seat = seat, kind = kind, rank = tonumber(rank), of = of}
    access[seat] = kind
  end
end
for _, it in ipairs(access) do
  if it.kind == 'C' and access[it.of] ~= 'W' then
    return no_why('INVALID_SETTINGS', 'seats: companion_of: name a wheelchair place of the same plan')
  end
end
for _, it in ipairs(access) do
  redis.call('HSET', K.access, it.seat, access_text(it))
end

for from = 1, added, CHUNK do
  local pairs_of = {}
  for i = from, math.min(from + CHUNK - 1, added) do
    local category = by_name[select(6, seat_told(A(first + 2 * (i - 1) + 1)))]
    category.F, category.changed = category.F + 1, true
    pairs_of[#pairs_of + 1] = A(first + 2 * (i - 1))
    pairs_of[#pairs_of + 1] = seat_text({index = index + i - 1, category = category.index, state = 'F'}, '')
  end
  redis.call('HSET', K.seats, unpack(pairs_of))
end
categories_put(categories)

-- Seats go on where the last one was, if it is of the same row and category, and no aisle is between.
local last = index > 0 and segment_of(index - 1) or nil
if last or index == 0 then
  local sections, is_section = {}, {}
  for section in string.gmatch(M.sections and M.sections .. ',' or '', '([^,]*),') do
    sections[#sections + 1], is_section[section] = section, true
  end
  local touched = {}
  if last then
    redis.call('ZREM', K.segments, segment_text(last))
    last.ids, last.ranks = segment_ids(last), segment_ranks(last)
    last.free = redis.call('HGET', K.segments_free, int(last.first))
    touched[1] = last
  end
  for i = 1, added do
    local rank, aisle, section, name, kept_for, category = seat_told(A(first + 2 * (i - 1) + 1))
    rank, category = tonumber(rank), by_name[category].index
    local same_row = last and last.section == section and last.name == name
    local ends = not same_row or last.aisle == 'Y' or last.category ~= category
    if ends or #last.ids >= MAX_SEATS_PER_SEGMENT then
      local row = last and (same_row and last.row or last.row + 1) or 0
      last = {
        first = index + i - 1, row = row, category = category, rank = rank, section = section, name = name,
        ranks = {}, ids = {}, free = '',
      }
      touched[#touched + 1] = last
    end
    last.rank, last.aisle = math.min(last.rank, rank), aisle
    last.ids[#last.ids + 1], last.ranks[#last.ranks + 1] = A(first + 2 * (i - 1)), rank
    last.free = last.free .. (kept_for == '-' and '1' or 'x')
    if not is_section[section] then
      sections[#sections + 1], is_section[section] = section, true
    end
  end
  for _, segment in ipairs(touched) do
    segment_put(segment)
  end
  put_meta('sections', table.concat(sections, ','))
end
change('{"seats_added":{"categories":[' .. table.concat(new_json, ',') .. '],"seats":' .. seats_json .. '}}')
return commit(DONE)
