//! Bookings as the feed tells of them.

use super::database::{Ask, all, execute, first};
use super::fault::Fault;
use super::query::{Query, containing, text, time_key};
use super::rows::{json_of, parse};
use crate::Page;
use crate::booking::{Booking, BookingFilter, Buyer};
use deadpool_postgres::{Client, Transaction};
use onrush_core::ids::BookingId;
use tokio_postgres::Row;

/// One booking.
pub(super) struct Find(pub(super) BookingId);

impl Ask for Find {
    type Answer = Option<Booking>;

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
        "INSERT INTO bookings (booking_id, event_id, user_id, status, lines, amount_minor, fee_minor, \
         currency, payment_id, refund_minor, checked_in, created_at, updated_at) \
         SELECT booking_id, event_id, user_id, status, lines, amount_minor, fee_minor, currency, \
         payment_id, refund_minor, checked_in, created_at, updated_at \
         FROM json_populate_recordset(NULL::bookings, $1::text::json) \
         ON CONFLICT (booking_id) DO UPDATE SET status = excluded.status, \
         payment_id = excluded.payment_id, refund_minor = excluded.refund_minor, \
         checked_in = excluded.checked_in, updated_at = excluded.updated_at",
        &[&json_of(bookings)?],
    )
    .await
    .map(drop)
}

/// One page of bookings, each with its buyer.
pub(super) struct Bookings(pub(super) BookingFilter, pub(super) usize);

impl Ask for Bookings {
    type Answer = Page<(Booking, Option<Buyer>)>;

    async fn run(&self, db: &mut Client) -> Result<Self::Answer, Fault> {
        let Self(BookingFilter { event, status, user, text: part, after }, limit) = self;
        let mut query = Query::new(
            "SELECT row_to_json(bookings)::text, row_to_json(buyers)::text FROM bookings \
             LEFT JOIN buyers ON buyers.booking_id = bookings.booking_id",
        );
        if let Some(event) = event {
            query.only("event_id = ?", [text(event.as_str())]);
        }
        if let Some(status) = status {
            query.only("status = ?", [text(status.as_str())]);
        }
        if let Some(user) = user {
            query.only("user_id = ?", [text(user.as_str())]);
        }
        if let Some(part) = part {
            let pattern = containing(part);
            query.only(
                "(lower(bookings.booking_id) LIKE ? ESCAPE '\\' OR name_lower LIKE ? ESCAPE '\\' \
                 OR email_lower LIKE ? ESCAPE '\\')",
                [pattern.clone(), pattern.clone(), pattern],
            );
        }
        query.after(after.as_deref(), "(created_at, bookings.booking_id) < (?, ?)", time_key);
        let order = "created_at DESC, bookings.booking_id DESC";
        let read = |row: &Row| {
            let buyer = row.try_get::<_, Option<&str>>(1)?.map(parse).transpose()?;
            Ok((parse(row.try_get(0)?)?, buyer))
        };
        query
            .page(db, order, *limit, read, |(booking, _): &(Booking, _)| {
                format!("{}/{}", booking.created_at, booking.booking)
            })
            .await
    }
}
