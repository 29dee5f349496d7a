-- Payers: those who are known by an e-mail address or a card, as core/src/payers.rs and
-- event/decide_payer.rs.
--
--   payers_of(hold)                  a booking's: by e-mail address and by card, '' for nobody
--   count_payer(by, payer, units)    counts so many units more for a payer, or fewer. Writes
--   count_payers(hold, units)        the same for those of a booking. Writes
--   check_payer(by, payer, units)    the refusal or nil, if a payer is to have so many more
--   check_payers(hold, units)        the same for those of a booking
--
-- hold.payers is '' or <by e-mail address>,<by card>, each 32 digits or ''. Hash `payers`:
-- email:<payer> or card:<payer> -> units of the bookings that they are named for; absent: none.
--
-- Meta fields to open with, for the checks: max_per_email, max_per_card

--#include begin

local function payers_of(hold)
  local email, card = string.match(hold.payers, '^(%x*),(%x*)$')
  return email or '', card or ''
end

local function count_payer(by, payer, units)
  if payer == '' then
    return
  end
  local left = redis.call('HINCRBY', K.payers, by .. ':' .. payer, int(units))
  assert(left >= 0, 'payers give back only what they have')
  if left == 0 then
    redis.call('HDEL', K.payers, by .. ':' .. payer)
  end
end

local function count_payers(hold, units)
  if hold.payers ~= '' then
    local email, card = payers_of(hold)
    count_payer('email', email, units)
    count_payer('card', card, units)
  end
end

local function check_payer(by, payer, units)
  local limit = payer ~= '' and tonumber(M['max_per_' .. by])
  if limit and tonumber(redis.call('HGET', K.payers, by .. ':' .. payer) or '0') + units > limit then
    return no('PAYER_LIMIT_EXCEEDED', '"by":"' .. by .. '","limit":' .. int(limit))
  end
end

local function check_payers(hold, units)
  if hold.payers == '' then
    return nil
  end
  local email, card = payers_of(hold)
  return check_payer('email', email, units) or check_payer('card', card, units)
end
