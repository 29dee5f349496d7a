-- Gives a hold back.
--
-- Args      1 booking · 2 user
-- Reply     {"hold":…}
-- Refusals  RESERVATION_NOT_FOUND ALREADY_RELEASED ALREADY_CONFIRMED HOLD_EXPIRED INVALID_STATUS
--           CANNOT_CANCEL
-- Changes   hold_released [slot_freed]
--#include begin
--#include change
--#include users
--#include sessions
--#include holds

local out = open_once({})
if out then
  return out
end

local hold = booking_of(A(1), A(2))
if not hold then
  return no('RESERVATION_NOT_FOUND')
elseif hold.state == 'paying' then
  return no('CANNOT_CANCEL')
elseif hold.state ~= 'held' or hold.time <= now then
  return no_longer_held(hold)
end

local u, session = users.get(hold.user), sessions.get(hold.user)
change('{"hold_released":{"booking":"' .. hold.booking .. '"}}')
set_state(hold, 'released', now)
end_hold(hold, u)
sessions.slot_after(hold.user, session, u)
users.put(hold.user, u)
return commit(hold_reply(hold))
