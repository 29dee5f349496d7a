-- Countable stock, as core/src/stock.rs: free + held + sold + blocked = capacity, always.
--
--   pools_get(ids)    the pools with these ids, in their order; false where there is none
--   pools_put(pools)  writes them, all in one call
--   pool_free(pool)   units on sale
--
-- A pool: { id, index, capacity, price, held, sold, blocked, claimed, claimed_by_services }, all
-- but `id` numbers.

--#include begin

local function pools_get(ids)
  local pools = {}
  if ids[1] then
    for i, text in ipairs(redis.call('HMGET', K.pools, unpack(ids))) do
      pools[i] = text and read_pool(ids[i], text)
    end
  end
  return pools
end

local function pool_free(pool)
  return pool.capacity - pool.held - pool.sold - pool.blocked
end

local function pools_put(pools)
  if not pools[1] then
    return
  end
  local args = {}
  for _, pool in ipairs(pools) do
    args[#args + 1] = pool.id
    args[#args + 1] = pool_text(pool)
  end
  redis.call('HSET', K.pools, unpack(args))
end
