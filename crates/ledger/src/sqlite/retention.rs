//! Events that are over, and who bought at them.

use super::buyers;
use super::statements::Statements;
use crate::booking::BuyerOf;
use crate::retention::{ERASED_AT_ONCE, Whom, at_rest, bookings_of};
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId};
use rusqlite::params;

fn id(after: Option<&EventId>) -> &str {
    after.map_or("", EventId::as_str)
}

/// Events of the catalogue that were not seen to be over, by id.
pub(super) fn not_over(
    db: &Statements<'_>,
    after: Option<&EventId>,
    limit: usize,
) -> rusqlite::Result<Vec<EventId>> {
    db.all(
        "SELECT event_id FROM catalogue_events WHERE event_id > ?1 \
         AND event_id NOT IN (SELECT event_id FROM events_over) ORDER BY event_id LIMIT ?2",
        params![id(after), i64::try_from(limit).unwrap_or(i64::MAX)],
    )
}

pub(super) fn note_over(db: &Statements<'_>, events: &[EventId], at: Time) -> rusqlite::Result<()> {
    for event in events {
        db.execute(
            "INSERT INTO events_over (event_id, since) VALUES (?1, ?2) \
             ON CONFLICT (event_id) DO NOTHING",
            params![event.as_str(), at.0],
        )?;
    }
    Ok(())
}

/// Events that were over by a time, by id.
pub(super) fn over(
    db: &Statements<'_>,
    by: Time,
    after: Option<&EventId>,
    limit: usize,
) -> rusqlite::Result<Vec<EventId>> {
    db.all(
        "SELECT event_id FROM events_over WHERE event_id > ?1 AND since <= ?2 \
         ORDER BY event_id LIMIT ?3",
        params![id(after), by.0, i64::try_from(limit).unwrap_or(i64::MAX)],
    )
}

/// Which bookings of a table are an event's, by the values of [`bookings_of`]. By their ids, as no
/// table has all of them.
macro_rules! of_event {
    () => {
        "booking_id > ?1 AND booking_id < ?2 AND instr(substr(booking_id, ?3), '.') = 0"
    };
}

/// The statements that find whom to erase: some who buy, and some whom documents name although their
/// bookings have no buyer. What follows says for which of an event's bookings.
macro_rules! finding {
    ($and_of_buyers:expr, $and_of_receipts:expr) => {
        [
            concat!(
                "SELECT booking_id FROM buyers WHERE ",
                of_event!(),
                $and_of_buyers,
                " ORDER BY booking_id LIMIT ?4"
            ),
            concat!(
                "SELECT DISTINCT booking_id FROM receipts WHERE buyer_name IS NOT NULL AND ",
                of_event!(),
                $and_of_receipts,
                " ORDER BY booking_id LIMIT ?4"
            ),
        ]
    };
}

/// Erases some who bought at an event; says for how many bookings. Where it was [`ERASED_AT_ONCE`],
/// there may be more.
pub(super) fn erase(db: &Statements<'_>, event: &EventId, whom: Whom) -> rusqlite::Result<u64> {
    let (from, to, rest) = bookings_of(event);
    let [of_buyers, of_receipts] = match whom {
        Whom::All => finding!("", ""),
        Whom::AtRest => {
            finding!(concat!(" AND ", at_rest!("buyers")), concat!(" AND ", at_rest!("receipts")))
        }
    };
    let buyers = db.all(of_buyers, params![from, to, rest, ERASED_AT_ONCE.cast_signed()])?;
    let erased = erase_these(db, buyers)?;
    // Where the last buyer is gone, what was issued may name an earlier one.
    let most = ERASED_AT_ONCE.saturating_sub(erased).cast_signed();
    let named = db.all(of_receipts, params![from, to, rest, most])?;
    Ok(erased + erase_these(db, named)?)
}

fn erase_these(db: &Statements<'_>, bookings: Vec<BookingId>) -> rusqlite::Result<u64> {
    let mut erased = 0;
    for booking in bookings {
        erased += buyers::erase(db, &BuyerOf::Booking(booking))?;
    }
    Ok(erased)
}
