-- What Rust and Lua share. Generated: change the Rust it names, then run the store's tests with
-- ONRUSH_WRITE_GOLDEN=1 (crates/store/src/redis/shared.rs).
--
--   K                   the event's keys (keys.rs); KEYS[FIRST_STREAM] and on: streams of places
--   limits              under their names (core/src/limits.rs)
--   SCORE_…             composite scores (core/src/score.rs, layout.rs)
--   NUMBER              how a place's number is written in a member of the line (layout.rs)
--   read_pool(id, text), pool_text(pool), …
--                       a record from its text and back (records.rs); a writer's `tail` is the last
--                       field, '' to leave it out

local K = {
  meta = KEYS[1],
  pools = KEYS[2],
  blocked = KEYS[3],
  seats = KEYS[4],
  categories = KEYS[5],
  holds = KEYS[6],
  users = KEYS[7],
  sessions = KEYS[8],
  queue = KEYS[9],
  parked = KEYS[10],
  lapses = KEYS[11],
  deadlines = KEYS[12],
  claims = KEYS[13],
  feed = KEYS[14],
  recent0 = KEYS[15],
  recent1 = KEYS[16],
  bans = KEYS[17],
  gone = KEYS[18],
  segments = KEYS[19],
  segments_free = KEYS[20],
  segments_open = KEYS[21],
  access = KEYS[22],
  channels = KEYS[23],
  payers = KEYS[24],
  extended = KEYS[25],
}
local FIRST_STREAM = 26

local MAX_POOLS_PER_EVENT = 10000
local MAX_SEATS_PER_EVENT = 250000
local MAX_CATEGORIES_PER_EVENT = 1000
local MAX_CHANNELS_PER_EVENT = 20
local MAX_PLACES_EVER = 4294966271
local SEEN_INTERVAL_MS = 300000
local MIN_CUT_PLACE_TTL_MS = 360000
local ENDED_KNOWN_MS = 86400000
local MAX_ENDED_PER_USER = 100
local MAX_BANS_PER_EVENT = 10000
local MAX_GONE_PLACES = 1000000
local AFTER_FAILED_PAYMENT_MS = 60000
local MAX_BEST_QUANTITY = 20
local MAX_SEATS_PER_SEGMENT = 250
local MAX_SEAT_RANK = 1000000

local SCORE_EPOCH_MS = 1704067200000
local SCORE_COUNTER = 16384
local SCORE_FIRST_MS = 4096
local SCORE_LAST_MS = 549755813887

local NUMBER = '%010.0f'
local NUMBER_DIGITS = 10

local function read_pool(id, text)
  local index, capacity, price, held, sold, blocked, claimed, claimed_by_services = string.match(text,
    '^(%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+)$')
  return {
    id = id, index = tonumber(index), capacity = tonumber(capacity), price = tonumber(price),
    held = tonumber(held), sold = tonumber(sold), blocked = tonumber(blocked),
    claimed = tonumber(claimed), claimed_by_services = tonumber(claimed_by_services),
  }
end

local function pool_text(pool)
  return string.format('%d %d %d %d %d %d %d %d',
    pool.index, pool.capacity, pool.price, pool.held, pool.sold, pool.blocked, pool.claimed,
    pool.claimed_by_services)
end

local function read_seat(id, text)
  local index, category, state, of = string.match(text,
    '^(%-?%d+) (%-?%d+) (%a+) ?(.*)$')
  return {
    id = id, index = tonumber(index), category = tonumber(category), state = state, of = of,
  }
end

local function seat_text(seat, tail)
  local text = string.format('%d %d %s',
    seat.index, seat.category, seat.state)
  return tail == '' and text or text .. ' ' .. tail
end

local function read_category(name, text)
  local index, price, F, H, S, B = string.match(text,
    '^(%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+)$')
  return {
    name = name, index = tonumber(index), price = tonumber(price), F = tonumber(F), H = tonumber(H),
    S = tonumber(S), B = tonumber(B),
  }
end

local function category_text(category)
  return string.format('%d %d %d %d %d %d',
    category.index, category.price, category.F, category.H, category.S, category.B)
end

local function read_segment(text)
  local first, row, category, rank, aisle, section, name, ranks, ids = string.match(text,
    '^(%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%a+) ([^ ]*) ([^ ]*) ([^ ]*) ([^ ]*)$')
  return {
    first = tonumber(first), row = tonumber(row), category = tonumber(category),
    rank = tonumber(rank), aisle = aisle, section = section, name = name, ranks = ranks,
    ids = ids,
  }
end

local function segment_text(segment)
  return int(segment.first) .. ' ' .. int(segment.row) .. ' ' .. int(segment.category)
    .. ' ' .. int(segment.rank) .. ' ' .. segment.aisle .. ' ' .. segment.section
    .. ' ' .. segment.name .. ' ' .. segment.ranks .. ' ' .. segment.ids
end

local function read_access(seat, text)
  local kind, rank, of = string.match(text,
    '^(%a+) (%-?%d+) ([^ ]*)$')
  return {
    seat = seat, kind = kind, rank = tonumber(rank), of = of,
  }
end

local function access_text(access)
  return access.kind .. ' ' .. int(access.rank) .. ' ' .. access.of
end

local function read_channel(id, text)
  local index, taken, state, at, into, spec = string.match(text,
    '^(%-?%d+)|(%-?%d+)|(%a+)|(%-?%d*)|([^|]*)|?(.*)$')
  return {
    id = id, index = tonumber(index), taken = tonumber(taken), state = state, at = tonumber(at),
    into = into, spec = spec,
  }
end

local function channel_text(channel, tail)
  local text = int(channel.index) .. '|' .. int(channel.taken) .. '|' .. channel.state
    .. '|' .. (channel.at and int(channel.at) or '') .. '|' .. channel.into
  return tail == '' and text or text .. '|' .. tail
end

local function read_hold(booking, text)
  local state, user, amount, fee, created, time, before, payment, refund, payments, extensions,
    checkins, lines, more = string.match(text,
    '^(%a+)|([^|]*)|(%d+)|(%d+)|([^|]*)|(%-?%d+)|(%-?%d*)|([^|]*)|(%d+)|(%d+)|(%d+)|([^|]*)|([^|]*)|?(.*)$')
  return {
    booking = booking, state = state, user = user, amount = amount, fee = fee, created = created,
    time = tonumber(time), before = tonumber(before), payment = payment, refund = refund,
    payments = payments, extensions = extensions, checkins = checkins, lines = lines, more = more,
  }
end

local function hold_text(hold, tail)
  local text = hold.state .. '|' .. hold.user .. '|' .. hold.amount .. '|' .. hold.fee
    .. '|' .. hold.created .. '|' .. int(hold.time)
    .. '|' .. (hold.before and int(hold.before) or '') .. '|' .. hold.payment
    .. '|' .. hold.refund .. '|' .. hold.payments .. '|' .. hold.extensions
    .. '|' .. hold.checkins .. '|' .. hold.lines
  return tail == '' and text or text .. '|' .. tail
end

local function read_user(text)
  local units, places, bookings, more = string.match(text,
    '^(%-?%d+)|([^|]*)|([^|]*)|?(.*)$')
  return {
    units = tonumber(units), places = places, bookings = bookings, more = more,
  }
end

local function user_text(user, tail)
  local text = int(user.units) .. '|' .. user.places .. '|' .. user.bookings
  return tail == '' and text or text .. '|' .. tail
end

local function read_session(text)
  local place, number, state, until_at, arrive_by, live_holds = string.match(text,
    '^([^|]*)|(%-?%d+)|(%a+)|(%-?%d*)|(%-?%d*)|(%-?%d+)$')
  return {
    place = place, number = tonumber(number), state = state, until_at = tonumber(until_at),
    arrive_by = tonumber(arrive_by), live_holds = tonumber(live_holds),
  }
end

local function session_text(session)
  return session.place .. '|' .. int(session.number) .. '|' .. session.state
    .. '|' .. (session.until_at and int(session.until_at) or '')
    .. '|' .. (session.arrive_by and int(session.arrive_by) or '')
    .. '|' .. int(session.live_holds)
end

local function read_claim(claim, text)
  local user, pool, amount, before, after, state, time, first = string.match(text,
    '^([^|]*)|([^|]*)|(%-?%d+)|(%-?%d+)|(%-?%d+)|(%a+)|(%-?%d*)|?(.*)$')
  return {
    claim = claim, user = user, pool = pool, amount = tonumber(amount), before = tonumber(before),
    after = tonumber(after), state = state, time = tonumber(time), first = first,
  }
end

local function claim_text(claim, tail)
  local text = claim.user .. '|' .. claim.pool .. '|' .. int(claim.amount)
    .. '|' .. int(claim.before) .. '|' .. int(claim.after) .. '|' .. claim.state
    .. '|' .. (claim.time and int(claim.time) or '')
  return tail == '' and text or text .. '|' .. tail
end

local function read_ban(text)
  local at, reason = string.match(text,
    '^(%-?%d+)|(.*)$')
  return {
    at = tonumber(at), reason = reason,
  }
end

local function ban_text(ban)
  return int(ban.at) .. '|' .. ban.reason
end
