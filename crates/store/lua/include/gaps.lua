-- When the engine was away, as core/src/gaps.rs.
--
--   gaps.note(gap_ms)         the event goes on now, after that gap
--   gaps.since_ms(begun)      by how much the deadlines of what began then were moved on since
--
-- Meta fields to open with: gaps, 'at:gap_ms,…' of the latest
--#include begin
--#include change
local gaps = {}
local GAPS_KNOWN = 32

function gaps.note(gap_ms)
  local known = {}
  for gap in string.gmatch(M.gaps or '', '[^,]+') do
    known[#known + 1] = gap
  end
  known[#known + 1] = int(now) .. ':' .. int(gap_ms)
  put_meta('gaps', table.concat(known, ',', math.max(1, #known - GAPS_KNOWN + 1)))
end

function gaps.since_ms(begun)
  local sum_ms = 0
  for at, gap_ms in string.gmatch(M.gaps or '', '(%-?%d+):(%d+)') do
    if tonumber(at) > tonumber(begun) then
      sum_ms = sum_ms + tonumber(gap_ms)
    end
  end
  return sum_ms
end
