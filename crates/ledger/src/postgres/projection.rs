//! What pages of the feed make of the rows.
//!
//! A page is folded in memory: what it concerns is read and locked, its facts are applied in order,
//! and what came of it is written, each table with one statement however long the page is.

use super::catalogue::{EventRow, PriceRow};
use super::database::{Ask, all, begin_until, execute, first};
use super::fault::Fault;
use super::room_nights::Nights;
use super::rows::{parsed, put_in, rows_of, signed, unsigned};
use super::{bookings, deliveries, sagas};
use crate::booking::Booking;
use crate::projection::{Fact, FeedPosition, Moved, Projection};
use crate::rows::{CATALOGUE_EVENTS, CATALOGUE_PRICES};
use crate::saga::Saga;
use deadpool_postgres::{Client, Transaction};
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::convert::Infallible;
use tokio::time::Instant;

/// How far the feed was followed.
pub(super) struct Cursor;

impl Ask<u64> for Cursor {
    async fn run(&self, db: &mut Client) -> Result<u64, Fault> {
        let row = first(db, "SELECT seq FROM feed_cursor WHERE id = 1", &[]).await?;
        row.map_or(Ok(0), |row| Ok(unsigned(row.try_get(0)?)))
    }
}

/// How far which feed was followed.
pub(super) struct Position;

impl Ask<FeedPosition> for Position {
    async fn run(&self, db: &mut Client) -> Result<FeedPosition, Fault> {
        let sql = "SELECT seq, at, journal FROM feed_cursor WHERE id = 1";
        let Some(row) = first(db, sql, &[]).await? else { return Ok(FeedPosition::default()) };
        let at: Option<i64> = row.try_get(1)?;
        let seq = unsigned(row.try_get(0)?);
        Ok(FeedPosition { seq, at: at.map(Time), journal: row.try_get(2)? })
    }
}

/// Which feed is followed, and from where on.
pub(super) struct Follow(pub(super) FeedPosition);

impl Ask<()> for Follow {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        let Self(FeedPosition { seq, at, journal }) = self;
        let sql = "UPDATE feed_cursor SET seq = $1, at = $2, journal = $3 WHERE id = 1";
        execute(db, sql, &[&signed(*seq), &at.map(|at| at.0), journal]).await?;
        Ok(())
    }
}

/// One page, and until when it may take.
pub(super) struct Project(pub(super) Projection, pub(super) Instant);

impl Ask<()> for Project {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        let Self(projection, until) = self;
        // A page that was gathered while the database was away may be a long one.
        let db = begin_until(db, *until).await?;
        // Whoever else follows the feed waits here.
        let sql = "SELECT seq FROM feed_cursor WHERE id = 1 FOR UPDATE";
        let row = first(&db, sql, &[]).await?;
        let stored = row.map_or(Ok(0), |row| row.try_get(0).map(unsigned))?;
        if projection.cursor <= stored {
            return Ok(());
        }
        if projection.after != stored {
            return Err(Fault::Conflict);
        }
        let mut fold = Fold::read(&db, &projection.facts).await?;
        for fact in &projection.facts {
            fold.apply(fact);
        }
        fold.write(&db).await?;
        deliveries::put(&db, projection.messages.iter().collect()).await?;
        let sql = "UPDATE feed_cursor SET seq = $1, at = $2 WHERE id = 1";
        let at = projection.at.map(|at| at.0);
        execute(&db, sql, &[&signed(projection.cursor), &at]).await?;
        Ok(db.commit().await?)
    }
}

/// A row as it is by now, and whether it has to be written.
struct Kept<T> {
    row: T,
    is_new: bool,
    is_changed: bool,
}

/// What a page concerns, as far as it was applied.
#[derive(Default)]
struct Fold<'a> {
    bookings: BTreeMap<BookingId, Kept<Booking>>,
    sagas: BTreeMap<BookingId, Kept<Saga>>,
    /// Sagas as they were when a line of their history is about them.
    notes: Vec<(Saga, String)>,
    /// Bookings with a payment that is neither void nor refunded.
    unfinished: HashSet<BookingId>,
    events: BTreeMap<&'a EventId, EventRow<'a>>,
    prices: BTreeMap<(&'a EventId, &'a str, &'a str), PriceRow<'a>>,
    nights: Nights,
}

impl<'a> Fold<'a> {
    /// Reads what facts concern, and locks the sagas, which others write, too.
    async fn read(db: &Transaction<'_>, facts: &[Fact]) -> Result<Self, Fault> {
        let mut concerned: BTreeSet<&str> = BTreeSet::new();
        for fact in facts {
            match fact {
                Fact::Held(booking) => concerned.insert(booking.booking.as_str()),
                Fact::Moved(moved) => concerned.insert(moved.booking.as_str()),
                Fact::CheckedIn { booking, .. } | Fact::Until { booking, .. } => {
                    concerned.insert(booking.as_str())
                }
                Fact::Event { .. } | Fact::Price { .. } | Fact::Stock { .. } => continue,
            };
        }
        let mut fold = Self::default();
        let ids: Vec<&str> = concerned.into_iter().collect();
        if ids.is_empty() {
            return Ok(fold);
        }
        for row in bookings::of_ids(db, &ids).await? {
            fold.bookings
                .insert(row.booking.clone(), Kept { row, is_new: false, is_changed: false });
        }
        let sql = "SELECT row_to_json(sagas)::text FROM sagas WHERE booking_id = ANY ($1) \
                   ORDER BY booking_id FOR UPDATE";
        for row in rows_of::<Saga>(db, sql, &[&ids]).await? {
            fold.sagas.insert(row.booking.clone(), Kept { row, is_new: false, is_changed: false });
        }
        let unfinished = all(
            db,
            "SELECT DISTINCT booking_id FROM payments WHERE booking_id = ANY ($1) \
             AND stage NOT IN ('void', 'refunded')",
            &[&ids],
        )
        .await?;
        for row in unfinished {
            fold.unfinished.insert(parsed(row.try_get(0)?)?);
        }
        Ok(fold)
    }

    fn apply(&mut self, fact: &'a Fact) {
        match fact {
            Fact::Event { event, title, currency, settings, at } => {
                let row = EventRow { event_id: event, title, currency, settings, updated_at: *at };
                self.events.insert(event, row);
            }
            Fact::Price { event, kind, name, price_minor } => {
                let row = PriceRow { event_id: event, kind, name, price_minor: *price_minor };
                self.prices.insert((event, kind, name), row);
            }
            Fact::Held(booking) => self.hold(booking),
            Fact::Moved(moved) => self.follow(moved),
            Fact::Until { booking, until } => {
                if let Some(Kept { row, .. }) = self.bookings.get(booking) {
                    self.nights.hold_until(row, *until);
                }
            }
            Fact::Stock { event, pool, change } => self.nights.stock(event, pool, *change),
            Fact::CheckedIn { booking, at } => {
                if let Some(kept) = self.bookings.get_mut(booking) {
                    kept.row.checked_in += 1;
                    kept.row.updated_at = *at;
                    kept.is_changed = true;
                }
            }
        }
    }

    /// Adds a booking. One that is known stays as it is: it may have moved since.
    fn hold(&mut self, booking: &Booking) {
        if !self.bookings.contains_key(&booking.booking) {
            self.nights.status(booking, None, booking.status);
            let kept = Kept { row: booking.clone(), is_new: true, is_changed: true };
            self.bookings.insert(booking.booking.clone(), kept);
        }
    }

    fn follow(&mut self, moved: &Moved) {
        // What moves under the id of a booking that was cancelled is another hold, made with a key that
        // was used again: the booking stays cancelled, as its tickets stay revoked.
        let is_it = |kept: &&mut Kept<Booking>| kept.row.status != HoldStatus::Cancelled;
        if let Some(kept) = self.bookings.get_mut(&moved.booking).filter(is_it) {
            let row = &mut kept.row;
            self.nights.status(row, Some(row.status), moved.status);
            row.status = moved.status;
            row.confirmed_at = moved.confirmed_at(row.confirmed_at);
            if let Some(payment) = &moved.payment {
                row.payment = Some(payment.clone());
            }
            if moved.refund_minor != 0 {
                row.refund_minor = moved.refund_minor;
            }
            row.updated_at = moved.at;
            kept.is_changed = true;
        }
        let Some(kept) = self.sagas.get(&moved.booking) else {
            let booking = self.bookings.get(&moved.booking);
            if let Some(saga) = booking.and_then(|kept| moved.begin(&kept.row)) {
                self.notes.push((saga.clone(), moved.note()));
                let kept = Kept { row: saga, is_new: true, is_changed: true };
                self.sagas.insert(moved.booking.clone(), kept);
            }
            return;
        };
        let is_unfinished = || Ok::<_, Infallible>(self.unfinished.contains(&moved.booking));
        let Ok(led) = moved.lead(kept.row.clone(), is_unfinished);
        let Some(saga) = led else { return };
        let is_new = kept.is_new;
        self.notes.push((saga.clone(), moved.note()));
        self.sagas.insert(moved.booking.clone(), Kept { row: saga, is_new, is_changed: true });
    }

    async fn write(&self, db: &Transaction<'_>) -> Result<(), Fault> {
        let changed: Vec<&Booking> =
            self.bookings.values().filter(|kept| kept.is_changed).map(|kept| &kept.row).collect();
        bookings::put(db, changed.into_iter()).await?;
        let new = || self.sagas.values().filter(|kept| kept.is_new).map(|kept| &kept.row);
        let begun = sagas::begin(db, new()).await?;
        if begun.len() < new().count() {
            // Another node began one of them since they were read: what was folded is not what is stored.
            return Err(Fault::Overtaken);
        }
        let others = self.sagas.values().filter(|kept| kept.is_changed && !kept.is_new);
        // Whoever works on one of them goes on, and notices.
        sagas::replace(db, others.map(|kept| &kept.row), false).await?;
        let notes: Vec<_> =
            self.notes.iter().map(|(saga, note)| sagas::note_of(saga, note)).collect();
        sagas::remember(db, &notes).await?;
        let events: Vec<_> = self.events.values().collect();
        put_in(db, &CATALOGUE_EVENTS, &events).await?;
        let prices: Vec<_> = self.prices.values().collect();
        put_in(db, &CATALOGUE_PRICES, &prices).await?;
        self.nights.write(db).await
    }
}
