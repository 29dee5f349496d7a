-- Sets what ticket types a pool or a category has from now on. What is held keeps its types.
--
-- Args      1 c:<category> or p:<pool> · 2 the types, as include/types keeps them, or '' · 3 the same as
--           JSON · 4 reason as JSON
-- Reply     done
-- Refusals  EVENT_NOT_FOUND, INVALID_SETTINGS (the node's), CATEGORY_NOT_FOUND, ZONE_NOT_FOUND
-- Changes   types_set
--#include change
--#include prices

local out = open_once{'types'}
if out then return out end

local key, text = A(1), A(2)
local is_category, name = string.sub(key, 1, 1) == 'c', string.sub(key, 3)
if is_category and redis.call('HEXISTS', K.categories, name) == 0 then
  return no('CATEGORY_NOT_FOUND', '"category":' .. str(name))
elseif not is_category and redis.call('HEXISTS', K.pools, name) == 0 then
  return no('ZONE_NOT_FOUND', '"pool":"' .. name .. '"')
end
local field = 'types:' .. key
local before = redis.call('HGET', K.meta, field) or ''
if before ~= text then
  change('{"types_set":{"of":' .. priced_json(key) .. ',"types":' .. A(3) .. ',"reason":' .. A(4) .. '}}')
  local lists = tonumber(M.types or '0') + (before == '' and 1 or 0) - (text == '' and 1 or 0)
  put_meta(field, text ~= '' and text or nil)
  put_meta('types', lists > 0 and int(lists) or nil)
end
return commit(DONE)
