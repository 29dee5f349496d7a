-- A waiting place as its owner sees it (core/src/event/decide_visitor.rs).
--
--   positions_mean_something()    needs M.seed_hash
--   queued_view(place, number, position, total, lapses_at, see_due)   a PlaceView as JSON
--#include change

-- Before a draw nobody is ahead of anybody.
local function positions_mean_something()
  return not M.seed_hash or M.opened == '1'
end

local function queued_view(place, number, position, total, at, due)
  return '{"place":"' .. place .. '","number":' .. int(number) .. ',"status":"queued","position":'
    .. (position and int(position) or 'null') .. ',"total":' .. int(total) .. ',"lapses_at":'
    .. (at and int(at) or 'null') .. ',"see_due":' .. (due and 'true' or 'false') .. '}'
end
