//! Bookings as the feed tells of them.

use super::columns::Columns;
use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::Page;
use crate::booking::{Booking, BookingFilter, Buyer};
use crate::lists;
use crate::projection::Moved;
use crate::words::Word;
use onrush_core::Time;
use onrush_core::ids::BookingId;
use rusqlite::{Row, params};

macro_rules! booking_columns {
    () => {
        "bookings.booking_id, event_id, user_id, status, lines, prices_minor, types, \
         amount_minor, fee_minor, currency, payment_id, refund_minor, checked_in, created_at, \
         updated_at"
    };
}

fn columns(columns: &mut Columns<'_, '_>) -> rusqlite::Result<Booking> {
    Ok(Booking {
        booking: columns.parsed()?,
        event: columns.parsed()?,
        user: columns.parsed()?,
        status: columns.word()?,
        lines: columns.json()?,
        prices_minor: columns.json()?,
        types: columns.json_if_any()?,
        amount_minor: columns.take()?,
        fee_minor: columns.take()?,
        currency: columns.parsed()?,
        payment: columns.parsed_if_any()?,
        refund_minor: columns.take()?,
        checked_in: columns.count()?,
        created_at: columns.time()?,
        updated_at: columns.time()?,
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Booking> {
    columns(&mut Columns::of(row))
}

fn read_with_buyer(row: &Row<'_>) -> rusqlite::Result<(Booking, Option<Buyer>)> {
    let mut rest = Columns::of(row);
    let booking = columns(&mut rest)?;
    let buyer = match (rest.take()?, rest.take()?, rest.take()?) {
        (Some(name), Some(email), Some(language)) => Some(Buyer { name, email, language }),
        _ => None,
    };
    Ok((booking, buyer))
}

pub(super) fn find(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<Option<Booking>> {
    db.first(
        concat!("SELECT ", booking_columns!(), " FROM bookings WHERE booking_id = ?1"),
        [booking.as_str()],
        read,
    )
}

/// Adds a booking. One that is known stays as it is: it may have moved since.
pub(super) fn add(db: &Statements<'_>, booking: &Booking) -> rusqlite::Result<()> {
    let unwritable =
        |error: serde_json::Error| rusqlite::Error::ToSqlConversionFailure(error.into());
    let lines = serde_json::to_string(&booking.lines).map_err(unwritable)?;
    let prices_minor = serde_json::to_string(&booking.prices_minor).map_err(unwritable)?;
    let types =
        booking.types.as_ref().map(serde_json::to_string).transpose().map_err(unwritable)?;
    db.execute(
        "INSERT INTO bookings (booking_id, event_id, user_id, status, lines, prices_minor, \
         types, amount_minor, fee_minor, currency, payment_id, refund_minor, checked_in, created_at, \
         updated_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) \
         ON CONFLICT (booking_id) DO NOTHING",
        params![
            booking.booking.as_str(),
            booking.event.as_str(),
            booking.user.as_str(),
            booking.status.word(),
            lines,
            prices_minor,
            types,
            booking.amount_minor,
            booking.fee_minor,
            booking.currency.as_str(),
            booking.payment.as_ref().map(|payment| payment.as_str()),
            booking.refund_minor,
            booking.checked_in,
            booking.created_at.0,
            booking.updated_at.0,
        ],
    )
    .map(drop)
}

/// Gives a booking another status. One that was cancelled stays so, as its tickets stay revoked: what
/// moves under its id afterwards is another hold, made with a key that was used again.
pub(super) fn set_status(db: &Statements<'_>, moved: &Moved) -> rusqlite::Result<()> {
    db.execute(
        "UPDATE bookings SET status = ?2, payment_id = coalesce(?3, payment_id), \
         refund_minor = CASE WHEN ?4 = 0 THEN refund_minor ELSE ?4 END, updated_at = ?5 \
         WHERE booking_id = ?1 AND status <> 'cancelled'",
        params![
            moved.booking.as_str(),
            moved.status.word(),
            moved.payment.as_ref().map(|payment| payment.as_str()),
            moved.refund_minor,
            moved.at.0,
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
    let columns = concat!(booking_columns!(), ", name, email, language");
    query::page(db, columns, &lists::bookings(&SQLITE, filter, limit), read_with_buyer)
}

/// All bookings, by id.
pub(super) fn all(
    db: &Statements<'_>,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<Booking>> {
    query::page(db, booking_columns!(), &lists::all_bookings(&SQLITE, after, limit), read)
}
