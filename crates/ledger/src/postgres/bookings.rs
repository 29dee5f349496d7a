//! Bookings as the feed tells of them.

use super::database::{Ask, all, execute, first};
use super::fault::Fault;
use super::query::{POSTGRES, PageOf};
use super::rows::{json_of, parse};
use crate::booking::{Booking, BookingFilter, Buyer};
use crate::lists;
use deadpool_postgres::{Client, Transaction};
use onrush_core::ids::BookingId;

/// One booking.
pub(super) struct Find(pub(super) BookingId);

impl Ask<Option<Booking>> for Find {
    async fn run(&self, db: &mut Client) -> Result<Option<Booking>, Fault> {
        let sql = "SELECT row_to_json(bookings)::text FROM bookings WHERE booking_id = $1";
        let found = first(db, sql, &[&self.0.as_str()]).await?;
        found.map(|row| parse(row.try_get(0)?)).transpose()
    }
}

/// Those there are of some bookings.
pub(super) async fn of_ids(db: &Transaction<'_>, ids: &[&str]) -> Result<Vec<Booking>, Fault> {
    let sql = "SELECT row_to_json(bookings)::text FROM bookings WHERE booking_id = ANY ($1)";
    let found = all(db, sql, &[&ids]).await?;
    found.iter().map(|row| parse(row.try_get(0)?)).collect()
}

/// Adds or replaces bookings.
pub(super) async fn put(
    db: &Transaction<'_>,
    bookings: impl ExactSizeIterator<Item = &Booking>,
) -> Result<(), Fault> {
    if bookings.len() == 0 {
        return Ok(());
    }
    execute(
        db,
        "INSERT INTO bookings (booking_id, event_id, user_id, status, lines, prices_minor, \
         types, amount_minor, fee_minor, currency, payment_id, refund_minor, checked_in, created_at, \
         updated_at) \
         SELECT booking_id, event_id, user_id, status, lines, prices_minor, types, amount_minor, \
         fee_minor, currency, payment_id, refund_minor, checked_in, created_at, updated_at \
         FROM json_populate_recordset(NULL::bookings, $1::text::json) \
         ON CONFLICT (booking_id) DO UPDATE SET status = excluded.status, \
         payment_id = excluded.payment_id, refund_minor = excluded.refund_minor, \
         checked_in = excluded.checked_in, updated_at = excluded.updated_at",
        &[&json_of(bookings)?],
    )
    .await
    .map(drop)
}

/// Reads one page of bookings, each with its buyer.
pub(super) fn page(filter: &BookingFilter, limit: usize) -> PageOf<(Booking, Option<Buyer>)> {
    PageOf {
        columns: "row_to_json(bookings)::text, row_to_json(buyers)::text".into(),
        list: lists::bookings(&POSTGRES, filter, limit),
        read: |row| {
            let buyer = row.try_get::<_, Option<&str>>(1)?.map(parse).transpose()?;
            Ok((parse(row.try_get(0)?)?, buyer))
        },
    }
}
