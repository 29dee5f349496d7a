-- An event's settings in meta: whole, as JSON, and each that scripts need as a field of its own.
--
-- The node sends them from an argument on: the JSON, then field, text, field, text… with every
-- field there is; an empty text means that the setting is not set. In meta such a field is absent.
--
--   settings_from(first)      { json, fields: field → text }
--   closing_wrong(settings)   a refusal if the closing time is another than before and not to come
--   settings_write(settings)  with the next decision
--#include change

local function settings_from(first)
  local settings = {json = A(first), fields = {}}
  for i = first + 1, #ARGV - OWN, 2 do
    settings.fields[A(i)] = A(i + 1)
  end
  return settings
end

local function closing_wrong(settings)
  local closes_at = settings.fields.closes_at
  if closes_at ~= '' and closes_at ~= M.closes_at and tonumber(closes_at) <= now then
    return no_why(
      'INVALID_SETTINGS',
      'closes_at: use a time that is to come; to close now, close the sale',
      'closes_at'
    )
  end
end

local function settings_write(settings)
  put_meta('settings', settings.json)
  for field, text in pairs(settings.fields) do
    if text ~= '' then put_meta(field, text) else put_meta(field, nil) end
  end
end
