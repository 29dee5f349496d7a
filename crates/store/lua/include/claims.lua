-- Claims and services' adjustments, as core/src/claims.rs.
--
--   claim_get(claim)          the claim, or nil
--   claim_put(claim)          writes it and its deadline
--   claim_reply(claim)        the Reply about it, as JSON
--   as_first_told(claim)      the claim as the first answer told it, whatever became of it since
--   count_claimed(u, pool, more)   so many of a pool's units more are claimed (in u), or fewer
--   claimed_by(user, u, units)     how many of each pool's the user's live claims have, if all of them
--                                  have so many; (in u, too, if an older version did not count them)
--   declaimed(claim, how)     gives a claim's units back (how: returned|expired), with its change.
--                             Writes all of it
--   expire_claim(id), forget_claim(id), move_claim(id, gap_ms)   what ticks and recoveries do
--
-- A claim: { claim, user, pool, amount, before, after, state, time, first_until }: user is '' for a
-- service's; state claimed|returned|expired|adjusted; time is when it expires (nil: never) or since
-- when; first_until is when it was to expire as the first answer said. In the hash these stand,
-- without the id, between bars (shared.lua); the last, `first`, is left out where it is nil, or what
-- `time` says of a claim. Deadlines: 2:<claim> when it expires, 7:<claim> when it may be forgotten.

--#include begin
--#include change
--#include lines
--#include pools
--#include users

-- The kind and time of the one deadline a claim has, if it has one.
local function claim_deadline(claim)
  if claim.state ~= 'claimed' then
    return '7:', claim.time + ENDED_KNOWN_MS
  elseif claim.time then
    return '2:', claim.time
  end
end

local function claim_get(id)
  local text = redis.call('HGET', K.claims, id)
  if not text then
    return nil
  end
  local claim = read_claim(id, text)
  claim.first_until = tonumber(claim.first) or (claim.state == 'claimed' and claim.time) or nil
  claim.waits_in = claim_deadline(claim)
  return claim
end

local function claim_put(claim)
  local is_told = claim.state == 'claimed' and claim.time == claim.first_until
  local first = claim.first_until and not is_told and int(claim.first_until) or ''
  redis.call('HSET', K.claims, claim.claim, claim_text(claim, first))
  local kind, at = claim_deadline(claim)
  if claim.waits_in and claim.waits_in ~= kind then
    redis.call('ZREM', K.deadlines, claim.waits_in .. claim.claim)
  end
  if kind then
    redis.call('ZADD', K.deadlines, int(at), kind .. claim.claim)
  end
  claim.waits_in = kind
end

local function claim_reply(claim)
  local first = claim.first_until and ',"first_until":' .. int(claim.first_until) or ''
  local user = claim.user == '' and '' or ',"user":"' .. claim.user .. '"'
  local time = ''
  if claim.time then
    time = (claim.state == 'claimed' and ',"until":' or ',"at":') .. int(claim.time)
  end
  return '{"claim":{"claim":"' .. claim.claim .. '"' .. user .. ',"pool":"' .. claim.pool .. '","amount":'
    .. int(claim.amount) .. ',"before":' .. int(claim.before) .. ',"after":' .. int(claim.after) .. first
    .. ',"state":{"status":"' .. claim.state .. '"' .. time .. '}}}'
end

local function as_first_told(claim)
  if claim.state == 'adjusted' then
    return claim
  end
  return {
    claim = claim.claim, user = claim.user, pool = claim.pool, amount = claim.amount, before = claim.before,
    after = claim.after, state = 'claimed', time = claim.first_until, first_until = claim.first_until,
  }
end

local function count_claimed(u, pool, more)
  local items, units = {}, more
  for id, claimed in string.gmatch(u.claimed or '', '([^,:]+):(%d+)') do
    if id == pool then
      units = tonumber(claimed) + more
    elseif units and id_before(pool, id) then
      items[#items + 1], units = units > 0 and pool .. ':' .. int(units) or nil, nil
      items[#items + 1] = id .. ':' .. claimed
    else
      items[#items + 1] = id .. ':' .. claimed
    end
  end
  if units and units > 0 then
    items[#items + 1] = pool .. ':' .. int(units)
  end
  u.claimed = table.concat(items, ',')
end

local function claimed_by(user, u, units)
  local found, counted = {}, 0
  for pool, claimed in string.gmatch(u.claimed or '', '([^,:]+):(%d+)') do
    found[pool], counted = tonumber(claimed), counted + tonumber(claimed)
  end
  if counted == units then
    return found
  end
  local all = redis.call('HGETALL', K.claims)
  found, u.claimed = {}, nil
  for i = 1, #all, 2 do
    local claim = read_claim(all[i], all[i + 1])
    if claim.user == user and claim.state == 'claimed' then
      found[claim.pool] = (found[claim.pool] or 0) + claim.amount
      count_claimed(u, claim.pool, claim.amount)
    end
  end
  return found
end

local function declaimed(claim, how)
  local pool = pools_get({ claim.pool })[1]
  local u = users.get(claim.user)
  local before, after = pool.claimed, pool.claimed - claim.amount
  pool.claimed, pool.sold = after, pool.sold - claim.amount
  u.units, u.ended = u.units - claim.amount, u.ended + 1
  count_claimed(u, claim.pool, -claim.amount)
  assert(after >= 0 and pool.sold >= 0 and u.units >= 0, 'a claim gives back only its own units')
  change('{"declaimed":{"claim":"' .. claim.claim .. '","how":"' .. how .. '","before":' .. int(before)
    .. ',"after":' .. int(after) .. '}}')
  pools_put({ pool })
  users.put(claim.user, u)
  claim.state, claim.time = how, now
  claim_put(claim)
end

local function expire_claim(id)
  declaimed(claim_get(id), 'expired')
end

local function forget_claim(id)
  local claim = claim_get(id)
  change('{"claim_forgotten":{"claim":"' .. id .. '"}}')
  redis.call('HDEL', K.claims, id)
  if claim.user ~= '' then
    local u = users.get(claim.user)
    users.count_forgotten(u)
    users.put(claim.user, u)
  end
  redis.call('ZREM', K.deadlines, '7:' .. id)
end

local function move_claim(id, gap_ms)
  local claim = claim_get(id)
  claim.time = claim.time + gap_ms
  claim_put(claim)
end
