-- What is shown of a session that is over (core/src/event/decide_visitor.rs).
--
--   ended_view(s, u)   a PlaceView as JSON: the slot is kept as long as what the user holds
--#include holds
local function ended_view(s, u)
  local kept_until = nil
  for _, booking in ipairs(users.bookings_of(u)) do
    local hold = hold_get(booking)
    if hold.waits_in == '1:' then
      kept_until = math.max(kept_until or hold.time, hold.time)
    end
  end
  return '{"place":"' .. s.place .. '","number":' .. int(s.number) .. ',"status":"ended","until":'
    .. int(kept_until or now) .. '}'
end
