-- Holds units of one pool: what hold.lua does, without what seats and several pools need.
--
-- Every function costs its making in every run, so this, which a sale runs most, is spared half of them.
--
-- Args      1 booking · 2 user · 3 the lines as JSON · 4 pool · 5 quantity
-- Reply     {"hold":…}; the same booking, user and lines again change nothing
-- Refusals  BOOKING_MISMATCH ZONE_NOT_FOUND EVENT_NOT_OPEN VISITOR_BANNED NOT_YOUR_TURN
--           SESSION_OVER INSUFFICIENT_STOCK USER_LIMIT_EXCEEDED TOO_MANY_ENDED TYPE_LIMIT
-- Changes   [arrived] hold_placed
--#include begin
--#include change
--#include pools
--#include users
--#include sessions
--#include taking
--#include holds
--#include prices
--#include types
--#include limits

local out = open({
  'room', 'bans', 'max_per_user', 'limits', 'hold_ttl_ms', 'fee_fixed_minor', 'fee_percent_bp', 'currency',
  'amount_step_minor', 'prices', 'types',
})
if out then
  return out
end

local booking, user, lines, pool_id, quantity = A(1), A(2), A(3), A(4), tonumber(A(5))

local known = hold_get(booking)
if known then
  if known.user == user and known.lines == lines and known.asked == ''
    and types_asked(known) == '' then
    return commit(hold_reply(known))
  end
  return no('BOOKING_MISMATCH')
end

local pool_known = redis.call('HGET', K.pools, pool_id)
if not pool_known then
  return no('ZONE_NOT_FOUND', '"pool":"' .. pool_id .. '"')
end
local pool = pool_read(pool_id, pool_known)
local types, groups, refusal, session = types_open(''), nil, nil, nil
local concerned = {pools = {pool}, quantities = {quantity}, seats = {}}
if types then
  groups = types.groups(concerned, concerned)
  refusal = types.check_limits(groups)
end
if not refusal then
  refusal, session = check_may_take(user)
end
if refusal then
  return refusal
elseif pool_free(pool) < quantity then
  return no('INSUFFICIENT_STOCK', '"pool":"' .. pool_id .. '","free":' .. int(pool_free(pool)))
end
local u = users.get(user)
local limits = limits_open(user, u)
refusal = check_user_limit(u, quantity)
  or limits and limits.check(limits.asked(concerned, concerned, groups)) or check_few_ended(u)
if refusal then
  return refusal
end

local hold = new_hold(booking, user, lines, prices_minor(concerned, concerned, groups))
if groups then
  types.keep(hold, groups)
end
sessions.arrival(user, session)
pool.held = pool.held + quantity
pools_put({ pool })
place_hold(hold, quantity, u)
sessions.place_hold(user, session)
users.put(user, u)
return commit(hold_reply(hold))
