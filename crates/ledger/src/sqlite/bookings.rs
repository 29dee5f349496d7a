//! Bookings as the feed tells of them.

use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::Page;
use crate::booking::{Booking, BookingFilter, Buyer};
use crate::lists::{self, TextIs};
use crate::projection::Moved;
use crate::rows::Record;
use crate::words::Word;
use onrush_core::Time;
use onrush_core::ids::BookingId;
use rusqlite::params;

pub(super) fn find(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<Option<Booking>> {
    db.find([booking.as_str()])
}

/// Gives a booking another status. One that was cancelled stays so, as its tickets stay revoked: what
/// moves under its id afterwards is another hold, made with a key that was used again.
pub(super) fn set_status(db: &Statements<'_>, moved: &Moved) -> rusqlite::Result<()> {
    db.execute(
        "UPDATE bookings SET status = ?2, payment_id = coalesce(?3, payment_id), \
         refund_minor = CASE WHEN ?4 = 0 THEN refund_minor ELSE ?4 END, updated_at = ?5, \
         confirmed_at = CASE ?2 WHEN 'cancelled' THEN confirmed_at ELSE ?6 END \
         WHERE booking_id = ?1 AND status <> 'cancelled'",
        params![
            moved.booking.as_str(),
            moved.status.word(),
            moved.payment.as_ref().map(|payment| payment.as_str()),
            moved.refund_minor,
            moved.at.0,
            moved.confirmed_at(None).map(|at| at.0),
        ],
    )
    .map(drop)
}

/// Counts one more ticket that was checked in.
pub(super) fn check_in(db: &Statements<'_>, booking: &BookingId, at: Time) -> rusqlite::Result<()> {
    db.execute(
        "UPDATE bookings SET checked_in = checked_in + 1, updated_at = ?2 WHERE booking_id = ?1",
        params![booking.as_str(), at.0],
    )
    .map(drop)
}

pub(super) fn list(
    db: &Statements<'_>,
    filter: &BookingFilter,
    limit: usize,
) -> rusqlite::Result<Page<(Booking, Option<Buyer>)>> {
    let columns = format!("{}, {}", Booking::list(), Buyer::list());
    let is = match &filter.text {
        Some(text) => {
            let lower = text.as_str().to_lowercase();
            let found = db.first(lists::IS_WHOLE, [text.as_str(), lower.as_str()])?;
            let (is_booking, is_address) = found.unwrap_or_default();
            TextIs::of(text, is_booking, is_address)
        }
        None => TextIs::Part,
    };
    query::page_of(
        db,
        &columns,
        &lists::bookings(&SQLITE, filter, is, limit),
        |(booking, buyer)| {
            let buyer: (Option<String>, Option<String>, Option<String>) = buyer;
            let buyer = match buyer {
                (Some(name), Some(email), Some(language)) => Some(Buyer { name, email, language }),
                _ => None,
            };
            (booking, buyer)
        },
    )
}

/// All bookings, by id.
pub(super) fn all(
    db: &Statements<'_>,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<Booking>> {
    query::page(db, &lists::all_bookings(&SQLITE, after, limit))
}
