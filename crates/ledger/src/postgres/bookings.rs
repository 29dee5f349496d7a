//! Bookings as the feed tells of them.

use super::database::{Ask, Database, begin_until, execute, first};
use super::fault::Fault;
use super::lengthy::Lengthy;
use super::query::{POSTGRES, PageOf};
use super::rows::{json_of, parse, row_of, rows_of};
use crate::booking::{Booking, BookingFilter, BookingText, Buyer};
use crate::lists::{self, TextIs};
use crate::rows::Stored;
use crate::{LedgerError, Page};
use deadpool_postgres::{Client, Transaction};
use onrush_core::ids::BookingId;
use std::sync::{Arc, LazyLock};
use tokio::time::Instant;

/// Adds bookings, and brings those that are there to what may change of them.
static PUT: LazyLock<String> = LazyLock::new(|| {
    let insert = &Booking::table().all.insert;
    format!(
        "{insert} ON CONFLICT (booking_id) DO UPDATE SET status = excluded.status, \
         payment_id = excluded.payment_id, refund_minor = excluded.refund_minor, \
         checked_in = excluded.checked_in, updated_at = excluded.updated_at, \
         confirmed_at = excluded.confirmed_at"
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

/// One page of bookings, each with its buyer. Only who looks for a part of something waits for a turn.
pub(super) async fn list(
    database: Arc<Database>,
    lengthy: Lengthy,
    filter: BookingFilter,
    limit: usize,
) -> Result<Page<(Booking, Option<Buyer>)>, LedgerError> {
    let until = lengthy.until();
    let is = match &filter.text {
        Some(text) => database.ask(&WhatIs(text.clone())).await?,
        None => return database.ask(&page(&filter, TextIs::Part, limit)).await,
    };
    let page = page(&filter, is, limit);
    match is {
        TextIs::Booking | TextIs::Address => database.ask(&page).await,
        TextIs::Part => lengthy.read(Search { page, until }, until).await,
    }
}

/// Finds out what a text is that bookings are looked for by.
struct WhatIs(BookingText);

impl Ask<TextIs> for WhatIs {
    async fn run(&self, db: &mut Client) -> Result<TextIs, Fault> {
        let Self(sought) = self;
        let text = sought.as_str();
        // No id has a NUL in it, and no address that is kept.
        if text.contains('\0') {
            return Ok(TextIs::Part);
        }
        let found = first(db, lists::IS_WHOLE, &[&text, &text.to_lowercase()]).await?;
        let Some(row) = found else { return Ok(TextIs::Part) };
        Ok(TextIs::of(sought, row.try_get(0)?, row.try_get(1)?))
    }
}

/// Looks for a part of something until then.
struct Search {
    page: PageOf<(Booking, Option<Buyer>)>,
    until: Instant,
}

impl Ask<Page<(Booking, Option<Buyer>)>> for Search {
    async fn run(&self, db: &mut Client) -> Result<Page<(Booking, Option<Buyer>)>, Fault> {
        let db = begin_until(db, self.until).await?;
        self.page.on(&db).await
    }
}

fn page(filter: &BookingFilter, is: TextIs, limit: usize) -> PageOf<(Booking, Option<Buyer>)> {
    PageOf {
        columns: "row_to_json(bookings)::text, row_to_json(buyers)::text".into(),
        list: lists::bookings(&POSTGRES, filter, is, limit),
        read: |row| {
            let buyer = row.try_get::<_, Option<&str>>(1)?.map(parse).transpose()?;
            Ok((parse(row.try_get(0)?)?, buyer))
        },
    }
}
