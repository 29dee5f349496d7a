//! Bookings as the feed tells of them.

use super::database::{Ask, execute};
use super::fault::Fault;
use super::query::{POSTGRES, PageOf};
use super::rows::{json_of, parse, row_of, rows_of};
use crate::booking::{Booking, BookingFilter, Buyer};
use crate::lists;
use crate::rows::Stored;
use deadpool_postgres::{Client, Transaction};
use onrush_core::ids::BookingId;
use std::sync::LazyLock;

/// Adds bookings, and brings those that are there to what may change of them.
static PUT: LazyLock<String> = LazyLock::new(|| {
    let insert = &Booking::table().all.insert;
    format!(
        "{insert} ON CONFLICT (booking_id) DO UPDATE SET status = excluded.status, \
         payment_id = excluded.payment_id, refund_minor = excluded.refund_minor, \
         checked_in = excluded.checked_in, updated_at = excluded.updated_at"
    )
});

/// One booking.
pub(super) struct Find(pub(super) BookingId);

impl Ask<Option<Booking>> for Find {
    async fn run(&self, db: &mut Client) -> Result<Option<Booking>, Fault> {
        let sql = "SELECT row_to_json(bookings)::text FROM bookings WHERE booking_id = $1";
        row_of(db, sql, &[&self.0.as_str()]).await
    }
}

/// Those there are of some bookings.
pub(super) async fn of_ids(db: &Transaction<'_>, ids: &[&str]) -> Result<Vec<Booking>, Fault> {
    let sql = "SELECT row_to_json(bookings)::text FROM bookings WHERE booking_id = ANY ($1)";
    rows_of(db, sql, &[&ids]).await
}

/// Adds or replaces bookings.
pub(super) async fn put(
    db: &Transaction<'_>,
    bookings: impl ExactSizeIterator<Item = &Booking>,
) -> Result<(), Fault> {
    if bookings.len() == 0 {
        return Ok(());
    }
    execute(db, &PUT, &[&json_of(bookings)?]).await.map(drop)
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
