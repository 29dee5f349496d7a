-- When the engine was away, as core/src/gaps.rs.
--
--   gaps.note(gap_ms)         the event goes on now, after that gap
--   gaps.since_ms(begun)      by how much the deadlines of what began then were moved on since
--
-- Meta fields to open with: gaps, 'at:gap_ms,…' of the latest; to the first all before are added
--#include begin
--#include change
local gaps = {}
local GAPS_KNOWN = 32

-- Its time as text, and its milliseconds.
local function gap_of(text)
  local at, gap_ms = string.match(text, '^(%-?%d+):(%d+)$')
  return at, tonumber(gap_ms)
end

function gaps.note(gap_ms)
  local known = {}
  for gap in string.gmatch(M.gaps or '', '[^,]+') do
    known[#known + 1] = gap
  end
  known[#known + 1] = int(now) .. ':' .. int(gap_ms)
  if #known > GAPS_KNOWN then
    local _, before_ms = gap_of(table.remove(known, 1))
    local at, first_ms = gap_of(known[1])
    known[1] = at .. ':' .. int(first_ms + before_ms)
  end
  put_meta('gaps', table.concat(known, ','))
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
