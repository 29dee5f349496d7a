-- Amounts and their shares, as core/src/money.rs.
--
--   step_minor()                               what all amounts are multiples of
--   share_minor(amount, part, whole, is_up)    a share in whole steps: rounded up, or else to the
--                                              nearest step
--
-- An amount times a part may be more than a double counts exactly, so what is below a whole number
-- of divisors is taken by itself.
--
-- Meta fields to open with: currency, amount_step_minor
--#include begin

-- Currencies that are divided into fifths, though ISO 4217 gives them two decimals.
local STEP_OF = {MGA = 20, MRU = 20}

local function step_minor()
  return math.max(STEP_OF[M.currency] or 1, tonumber(M.amount_step_minor or '1'))
end

local function share_minor(amount, part, whole, is_up)
  local step = step_minor()
  local divisor = whole * step
  local rest, more = math.fmod(amount, divisor), is_up and divisor - 1 or math.floor(divisor / 2)
  return ((amount - rest) / divisor * part + math.floor((rest * part + more) / divisor)) * step
end
