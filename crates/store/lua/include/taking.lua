-- Who may take units, and how many, as core/src/event/decide_booking.rs.
--
--   check_may_take(user)             the refusal or nil, and the session if one is needed; needs
--                                    M.room, M.bans
--   check_user_limit(u, more)        the refusal or nil; needs M.max_per_user
--   check_few_ended(u)               the refusal or nil
--   check_may_buy_late()             the refusal or nil: late money buys only while the sale is open

--#include begin
--#include bans
--#include sessions

local function check_may_buy_late()
  local phase = phase_at(now)
  if phase ~= 'open' then
    return no('EVENT_NOT_OPEN', '"phase":"' .. phase .. '"')
  end
end

local function check_may_take(user)
  local refusal = check_may_buy_late()
  if not refusal and is_banned(user) then
    refusal = no('VISITOR_BANNED')
  end
  if refusal or not M.room then
    return refusal
  end
  local session = sessions.get(user)
  if not session then
    return no('NOT_YOUR_TURN')
  end
  if not sessions.may_hold(session, now) then
    return no('SESSION_OVER')
  end
  return nil, session
end

local function check_user_limit(u, more)
  local limit = tonumber(M.max_per_user)
  if limit and u.units + more > limit then
    return no('USER_LIMIT_EXCEEDED', '"limit":' .. int(limit) .. ',"held":' .. int(u.units))
  end
end

local function check_few_ended(u)
  if u.ended >= MAX_ENDED_PER_USER then
    return no('TOO_MANY_ENDED', '"limit":' .. int(MAX_ENDED_PER_USER))
  end
end
