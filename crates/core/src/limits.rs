//! Every size has a limit, and the limits are here.

/// The longest id, in bytes.
pub const MAX_ID_BYTES: usize = 128;
/// The longest event id: booking ids carry it as a prefix and must stay within [`MAX_ID_BYTES`].
pub const MAX_EVENT_ID_BYTES: usize = 64;
/// The longest free text (a title, a reason, a section's name), in characters.
pub const MAX_TEXT_CHARS: usize = 500;
/// Different pools and seats in one hold.
pub const MAX_LINES_PER_HOLD: usize = 400;
/// Units (seats plus countable stock) in one hold, claim or block of one pool.
pub const MAX_UNITS_PER_HOLD: u32 = 1_000;
/// Seats that one order may leave to the rules.
pub const MAX_BEST_QUANTITY: u32 = 20;
/// Categories, and sections, that one such order may name.
pub const MAX_BEST_NAMES: usize = 100;
/// Seats side by side, at most: the rules take a longer row for one with aisles.
pub const MAX_SEATS_PER_SEGMENT: usize = 250;
/// The largest rank of a seat.
pub const MAX_SEAT_RANK: u32 = 1_000_000;
/// The largest capacity of one pool.
pub const MAX_POOL_CAPACITY: u32 = 1_000_000_000;
/// Pools in one event.
pub const MAX_POOLS_PER_EVENT: usize = 10_000;
/// Seats in one event.
pub const MAX_SEATS_PER_EVENT: usize = 250_000;
/// Price categories of seats in one event.
pub const MAX_CATEGORIES_PER_EVENT: usize = 1_000;
/// Channels of one event.
pub const MAX_CHANNELS_PER_EVENT: usize = 20;
/// Codes of one channel: as many as fit into a request that names them all, however long they are.
pub const MAX_CODES_PER_CHANNEL: usize = 100;
/// Ticket types of one pool or category.
pub const MAX_TYPES: usize = 20;
/// The largest share of a price that a ticket type may cost, in basis points: 100 %.
pub const MAX_TYPE_BP: u32 = 10_000;
/// The largest price of one unit, in minor units; a thousand of them still fit an `i64`.
pub const MAX_PRICE_MINOR: i64 = 1_000_000_000_000;
/// The last moment that a price may be said to hold from: the end of the year 9999.
pub const MAX_PRICE_TIME_MS: i64 = 253_402_300_799_999;
/// Prices that one pool or category may have still to come.
pub const MAX_PRICE_STEPS: usize = 20;
/// The largest percentage fee, in basis points: 100 %.
pub const MAX_FEE_BP: u32 = 10_000;
/// The highest rate of a tax, in basis points: 100 %.
pub const MAX_TAX_BP: u32 = 10_000;
/// The longest name of a tax: it stands in a line of an order.
pub const MAX_TAX_NAME_CHARS: usize = 40;
/// The largest step between amounts that a gateway can express, in minor units.
pub const MAX_AMOUNT_STEP_MINOR: i64 = 10_000;
/// Rules about refunds in one event.
pub const MAX_REFUND_RULES: usize = 20;
/// People waiting in one event at a time. Always finite: a queue is memory.
pub const MAX_QUEUE_SIZE: u32 = 20_000_000;
/// Places taken in one event over its whole life (places are numbered with 32 bits).
pub const MAX_PLACES_EVER: u32 = u32::MAX - 1_024;
/// Places one user may hold in one event.
pub const MAX_PLACES_PER_USER: u32 = 100;
/// Units that may be reckoned for one visitor in the room.
pub const MAX_UNITS_PER_VISITOR: u32 = 1_000;
/// Admitted visitors of one event at a time.
pub const MAX_ROOM_CAPACITY: u32 = 1_000_000;
/// The longest of any of the durations in an event's settings: a year.
pub const MAX_DURATION_MS: i64 = 366 * 24 * 3_600_000;
/// A visitor's last sign of life is written down at most this often: a `Seen` within it changes nothing.
pub const SEEN_INTERVAL_MS: i64 = 300_000;
/// While people wait, `place_ttl_ms` is cut to no less: who asks every second may have been noted as
/// long as [`SEEN_INTERVAL_MS`] ago, and has a minute to be noted again.
pub const MIN_CUT_PLACE_TTL_MS: i64 = SEEN_INTERVAL_MS + 60_000;
/// An ended booking's or claim's id stays known for this long, so that a late retry is recognised.
pub const ENDED_KNOWN_MS: i64 = 24 * 3_600_000;
/// Ended bookings and claims of one user that are known at a time. Whoever has as many takes
/// nothing new in that event until the oldest is forgotten: so each identity's share of memory and
/// journal has an end.
pub const MAX_ENDED_PER_USER: u32 = 100;
/// Units one user may have in an event whose organiser names no limit.
pub const DEFAULT_MAX_PER_USER: u32 = 8;
/// Limits per person on pools, categories and ticket types of one event.
pub const MAX_USER_LIMITS: usize = 100;
/// The highest of these.
pub const MAX_PER_USER_OF_PART: u32 = 1_000;
/// The highest limit of units that one e-mail address, or one card, may pay for in an event.
pub const MAX_PER_PAYER: u32 = 1_000;
/// How long a visitor's claim lasts at most in an event whose organiser names no time.
pub const DEFAULT_CLAIM_TTL_MAX_MS: i64 = 24 * 3_600_000;
/// Visitors banned from one event at a time.
pub const MAX_BANS_PER_EVENT: u32 = 10_000;
/// Places that are gone and still known in one event at most; of more, the earliest are forgotten
/// before their day is over.
pub const MAX_GONE_PLACES: usize = 1_000_000;
/// A failed payment leaves at least this much time for the next attempt.
pub const AFTER_FAILED_PAYMENT_MS: i64 = 60_000;
/// Ticks the engine runs between two batches of commands.
pub const MAX_TICKS_PER_TURN: usize = 1_000;

/// Whether something may last so long.
pub(crate) fn is_duration(ms: i64) -> bool {
    (1..=MAX_DURATION_MS).contains(&ms)
}

/// Whether a free text is short enough.
#[must_use]
pub fn fits_text(text: &str) -> bool {
    text.len() <= MAX_TEXT_CHARS || text.chars().count() <= MAX_TEXT_CHARS
}

/// Whether a name is short enough, and reads as it is written: `gnp.exe` may be `exe.png` with a sign
/// before it that nobody sees.
#[must_use]
pub fn fits_name(name: &str) -> bool {
    fits_text(name) && !name.chars().any(turns_text)
}

/// Whether a public value reads in one way only: printable ASCII, words parted by one space each. With
/// signs that do not show, or that look like others, one value would be many to choose among, each
/// with another order of the line.
#[must_use]
pub fn is_public_value(value: &str) -> bool {
    fits_text(value)
        && value
            .split(' ')
            .all(|word| !word.is_empty() && word.bytes().all(|sign| sign.is_ascii_graphic()))
}

/// Whether a sign that does not show makes the letters around it run the other way: `Bidi_Control` of
/// UAX #9.
#[must_use]
pub fn turns_text(sign: char) -> bool {
    matches!(
        sign,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}
