//! Room-nights: pools named `<room>.<YYYY-MM-DD>`, what is held of them, and what is left.

use super::database::execute;
use super::fault::Fault;
use super::rows::json;
use crate::booking::Booking;
use crate::projection::room_night;
use deadpool_postgres::Transaction;
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, PoolId};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// One night in one kind of room.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Night {
    event_id: EventId,
    room_id: String,
    date: String,
}

impl Night {
    fn of(event_id: &EventId, pool: &PoolId) -> Option<Self> {
        let (room, date) = room_night(pool)?;
        Some(Self { event_id: event_id.clone(), room_id: room.to_owned(), date: date.to_owned() })
    }
}

/// What a page of the feed comes to.
#[derive(Default)]
pub(super) struct Nights {
    /// Units more or fewer.
    available: BTreeMap<Night, i64>,
    /// Bookings that hold nothing any more.
    ended: BTreeSet<BookingId>,
    /// What bookings hold, and until when.
    held: BTreeMap<BookingId, Vec<HoldRow>>,
}

#[derive(Serialize)]
struct HoldRow {
    booking_id: BookingId,
    #[serde(flatten)]
    night: Night,
    quantity: u32,
    expires_at: Time,
}

#[derive(Serialize)]
struct AvailableRow<'a> {
    #[serde(flatten)]
    night: &'a Night,
    available_count: i64,
}

/// Whether a booking with this status waits for its payment.
fn is_held(status: HoldStatus) -> bool {
    matches!(status, HoldStatus::Held | HoldStatus::Paying)
}

/// Whether a booking with this status has its units.
fn has_units(status: HoldStatus) -> bool {
    is_held(status) || status == HoldStatus::Confirmed
}

impl Nights {
    /// Units came on sale or went off it.
    pub(super) fn stock(&mut self, event: &EventId, pool: &PoolId, change: i64) {
        if let Some(night) = Night::of(event, pool) {
            *self.available.entry(night).or_default() += change;
        }
    }

    /// A booking has another status, or is new.
    pub(super) fn status(
        &mut self,
        booking: &Booking,
        before: Option<HoldStatus>,
        after: HoldStatus,
    ) {
        let sign = match (before.is_some_and(has_units), has_units(after)) {
            (false, true) => -1,
            (true, false) => 1,
            (true, true) | (false, false) => 0,
        };
        for line in booking.lines.pools() {
            if sign != 0 {
                self.stock(&booking.event, &line.pool, sign * i64::from(line.quantity));
            }
        }
        if before.is_some_and(is_held) && !is_held(after) {
            self.held.remove(&booking.booking);
            self.ended.insert(booking.booking.clone());
        }
    }

    /// A booking is held until another time.
    pub(super) fn hold_until(&mut self, booking: &Booking, until: Time) {
        if !is_held(booking.status) {
            return;
        }
        let rows: Vec<HoldRow> = booking
            .lines
            .pools()
            .iter()
            .filter_map(|line| {
                Some(HoldRow {
                    booking_id: booking.booking.clone(),
                    night: Night::of(&booking.event, &line.pool)?,
                    quantity: line.quantity,
                    expires_at: until,
                })
            })
            .collect();
        if !rows.is_empty() {
            self.held.insert(booking.booking.clone(), rows);
        }
    }

    pub(super) async fn write(&self, db: &Transaction<'_>) -> Result<(), Fault> {
        if !self.ended.is_empty() {
            let ids: Vec<&str> = self.ended.iter().map(|booking| booking.as_str()).collect();
            let sql = "DELETE FROM reservation_holds WHERE booking_id = ANY ($1)";
            execute(db, sql, &[&ids]).await?;
        }
        if !self.held.is_empty() {
            let rows: Vec<&HoldRow> = self.held.values().flatten().collect();
            execute(
                db,
                "INSERT INTO reservation_holds (booking_id, event_id, room_id, date, quantity, \
                 expires_at) SELECT booking_id, event_id, room_id, date, quantity, expires_at \
                 FROM json_populate_recordset(NULL::reservation_holds, $1::text::json) \
                 ON CONFLICT (booking_id, room_id, date) DO UPDATE \
                 SET expires_at = excluded.expires_at",
                &[&json(&rows)?],
            )
            .await?;
        }
        let rows: Vec<_> = self
            .available
            .iter()
            .map(|(night, change)| AvailableRow { night, available_count: *change })
            .collect();
        if !rows.is_empty() {
            execute(
                db,
                "INSERT INTO room_availability AS known (event_id, room_id, date, available_count) \
                 SELECT event_id, room_id, date, available_count \
                 FROM json_populate_recordset(NULL::room_availability, $1::text::json) \
                 ON CONFLICT (event_id, room_id, date) DO UPDATE \
                 SET available_count = known.available_count + excluded.available_count",
                &[&json(&rows)?],
            )
            .await?;
        }
        Ok(())
    }
}
