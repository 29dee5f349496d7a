-- Changes a pool's count of units claimed by services, up or down.
--
-- Args      1 claim: the request id · 2 pool · 3 units more (positive) or fewer (negative) · 4 by · 5 why
-- Reply     {"claim":…}; the same again changes nothing
-- Refusals  BOOKING_MISMATCH ZONE_NOT_FOUND CLAIM_EXCEEDS_QUANTITY CLAIM_BELOW_ZERO
-- Changes   claimed_adjusted
--#include begin
--#include change
--#include pools
--#include claims

local out = open({})
if out then
  return out
end

local id, pool_id, amount = A(1), A(2), tonumber(A(3))

local known = claim_get(id)
if known then
  if known.user == '' and known.pool == pool_id and known.amount == amount then
    return commit(claim_reply(known))
  end
  return no('BOOKING_MISMATCH')
end

local pool = pools_get({ pool_id })[1]
if not pool then
  return no('ZONE_NOT_FOUND', '"pool":"' .. pool_id .. '"')
elseif amount > pool_free(pool) then
  return no('CLAIM_EXCEEDS_QUANTITY', '"free":' .. int(pool_free(pool)))
elseif -amount > pool.claimed_by_services then
  return no('CLAIM_BELOW_ZERO', '"claimed":' .. int(pool.claimed_by_services))
end

local claim = {
  claim = id, user = '', pool = pool_id, amount = amount, before = pool.claimed,
  after = pool.claimed + amount,
  state = 'adjusted', time = now,
}
change('{"claimed_adjusted":{"claim":"' .. id .. '","pool":"' .. pool_id .. '","amount":'
  .. int(amount) .. ',"before":'
  .. int(claim.before) .. ',"after":' .. int(claim.after) .. ',"reason":{"by":' .. str(A(4))
  .. ',"why":' .. str(A(5))
  .. '}}}')
pool.claimed, pool.sold = claim.after, pool.sold + amount
pool.claimed_by_services = pool.claimed_by_services + amount
pools_put({ pool })
claim_put(claim)
return commit(claim_reply(claim))
