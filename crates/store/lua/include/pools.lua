-- Countable stock, as core/src/stock.rs: free + held + sold + blocked = capacity, always.
--
--   pools_get(ids)    the pools with these ids, in their order; false where there is none
--   pool_read(id, text)  one pool from its field's value
--   pools_put(pools)  writes them, all in one call, and counts what is on sale
--   pool_free(pool)   units on sale
--
-- A pool: { id, index, capacity, price, held, sold, blocked, claimed, claimed_by_services }, all
-- but `id` numbers.

--#include counts

local function pool_free(pool)
  return pool.capacity - pool.held - pool.sold - pool.blocked
end

local function pool_read(id, text)
  local pool = read_pool(id, text)
  pool.counted = pool_free(pool)
  return pool
end

local function pools_get(ids)
  local pools = {}
  if ids[1] then
    for i, text in ipairs(redis.call('HMGET', K.pools, unpack(ids))) do
      pools[i] = text and pool_read(ids[i], text)
    end
  end
  return pools
end

local function pools_put(pools)
  if not pools[1] then
    return
  end
  local args, more = {}, 0
  for _, pool in ipairs(pools) do
    more = more + pool_free(pool) - (pool.counted or 0)
    pool.counted = pool_free(pool)
    args[#args + 1] = pool.id
    args[#args + 1] = pool_text(pool)
  end
  counts.add('units_free', more)
  redis.call('HSET', K.pools, unpack(args))
end
