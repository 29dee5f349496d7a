-- The outflow: admissions a minute, whoever runs the ticks (core/src/waiting_room/mod.rs).
--
-- Its clock says how far admissions have used up the time they may use: 64 bits of nanoseconds in
-- core. A double has 53, so here it is meta.outflow_ms whole milliseconds and meta.outflow_ns
-- nanoseconds (0 to 999,999). Reads OUTFLOW_FIELDS.
--
--   outflow.due()    from when on the next admission is within the limit; nil if there is no limit
--   outflow.count()  counts an admission made now
--#include change
local outflow = {}

local OUTFLOW_FIELDS = { 'outflow_per_min', 'outflow_ms', 'outflow_ns' }
local NS = 1000000

local function outflow_cost_ns(per_min)
  return math.floor(60000000000 / math.max(per_min, 1))
end

function outflow.due()
  local per_min = tonumber(M.outflow_per_min)
  if not per_min then
    return nil
  end
  -- The burst is one second's worth: admissions may run ahead of their clock by that much.
  local burst_ns = math.max(1000000000 - outflow_cost_ns(per_min), 0)
  local ms = tonumber(M.outflow_ms or '0') - math.floor(burst_ns / NS)
  local ns = tonumber(M.outflow_ns or '0') - burst_ns % NS
  if ns < 0 then
    ms, ns = ms - 1, ns + NS
  end
  return ns == 0 and ms or ms + 1
end

function outflow.count()
  local per_min = tonumber(M.outflow_per_min)
  if not per_min then
    return
  end
  local ms, ns = tonumber(M.outflow_ms or '0'), tonumber(M.outflow_ns or '0')
  if ms < now then
    ms, ns = now, 0
  end
  ns = ns + outflow_cost_ns(per_min)
  put_meta('outflow_ms', int(ms + math.floor(ns / NS)))
  put_meta('outflow_ns', int(ns % NS))
end
