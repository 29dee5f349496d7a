-- Takes units of a pool at once and for good.
--
-- Args      1 claim · 2 user · 3 pool · 4 quantity · 5 after how many milliseconds the units come
--           back, or '' for as late as may be
-- Reply     {"claim":…}; the same claim again changes nothing
-- Refusals  BOOKING_MISMATCH ZONE_NOT_FOUND EVENT_NOT_OPEN VISITOR_BANNED NOT_YOUR_TURN
--           SESSION_OVER CLAIM_EXCEEDS_QUANTITY USER_LIMIT_EXCEEDED TOO_MANY_ENDED PAYMENT_REQUIRED
-- Changes   [arrived] claimed
--#include begin
--#include change
--#include pools
--#include users
--#include sessions
--#include taking
--#include claims
--#include prices
--#include types
--#include limits

local out = open({
  'room', 'bans', 'max_per_user', 'limits', 'claim_ttl_max_ms', 'prices', 'types', 'currency',
  'amount_step_minor',
})
if out then
  return out
end

local id, user, pool_id, quantity, ttl_ms = A(1), A(2), A(3), tonumber(A(4)), tonumber(A(5))

local known = claim_get(id)
if known then
  if known.user == user and known.pool == pool_id and known.amount == quantity then
    return commit(claim_reply(as_first_told(known)))
  end
  return no('BOOKING_MISMATCH')
end

local pool = pools_get({ pool_id })[1]
if not pool then
  return no('ZONE_NOT_FOUND', '"pool":"' .. pool_id .. '"')
end
local refusal, session = check_may_take(user)
if refusal then
  return refusal
elseif quantity > pool_free(pool) then
  return no('CLAIM_EXCEEDS_QUANTITY', '"free":' .. int(pool_free(pool)))
end
local u = users.get(user)
local limits = limits_open(user, u)
local claimed = {pools = {pool}, quantities = {quantity}, seats = {}}
refusal = check_user_limit(u, quantity)
  or limits and limits.check(limits.asked(claimed, claimed)) or check_few_ended(u)
if refusal then
  return refusal
end
local types = types_open('')
local price = types and types.untyped_price(pool) or pool_price(pool)
if price > 0 then
  return no('PAYMENT_REQUIRED', '"amount_minor":' .. int(price * quantity))
end

-- A claim that names no time lasts as long as the organiser allows.
local longest_ms = tonumber(M.claim_ttl_max_ms)
if longest_ms then
  ttl_ms = math.min(ttl_ms or longest_ms, longest_ms)
end
local claim = {
  claim = id, user = user, pool = pool_id, amount = quantity, before = pool.claimed,
  after = pool.claimed + quantity,
  state = 'claimed', time = ttl_ms and now + ttl_ms, first_until = ttl_ms and now + ttl_ms,
}
pool.claimed, pool.sold = claim.after, pool.sold + quantity
u.units = u.units + quantity
count_claimed(u, pool_id, quantity)
if session then
  sessions.arrival(user, session)
  sessions.put(user, session)
end
local till = claim.time and ',"until":' .. int(claim.time) or ''
change('{"claimed":{"claim":"' .. id .. '","user":"' .. user .. '","pool":"' .. pool_id
  .. '","quantity":' .. int(quantity)
  .. till .. ',"before":' .. int(claim.before) .. ',"after":' .. int(claim.after) .. '}}')
pools_put({ pool })
claim_put(claim)
users.put(user, u)
return commit(claim_reply(claim))
