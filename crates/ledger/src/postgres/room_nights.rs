//! Room-nights (S1.2): pools named `<room>.<YYYY-MM-DD>`, what is held of them, and what is left.

use super::database::execute;
use super::fault::Fault;
use super::rows::json;
use crate::booking::Booking;
use deadpool_postgres::Transaction;
use onrush_core::Time;
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
        let (room, date) = pool.as_str().rsplit_once('.')?;
        let is_night = !room.is_empty() && is_date(date);
        is_night.then(|| Self {
            event_id: event_id.clone(),
            room_id: room.to_owned(),
            date: date.to_owned(),
        })
    }
}

/// Whether a text is a day of the calendar, as `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    let number = |from: usize, to: usize| -> Option<u32> {
        let digits = text.get(from..to)?;
        if digits.bytes().all(|digit| digit.is_ascii_digit()) { digits.parse().ok() } else { None }
    };
    let bytes = text.as_bytes();
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 7), number(8, 10)) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    let is_dashed = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
    is_dashed && year > 0 && (1..=days).contains(&day)
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
fn is_held(status: &str) -> bool {
    matches!(status, "held" | "paying")
}

/// Whether a booking with this status has its units.
fn has_units(status: &str) -> bool {
    is_held(status) || status == "confirmed"
}

impl Nights {
    /// Units came on sale or went off it.
    pub(super) fn stock(&mut self, event: &EventId, pool: &PoolId, change: i64) {
        if let Some(night) = Night::of(event, pool) {
            *self.available.entry(night).or_default() += change;
        }
    }

    /// A booking has another status, or is new.
    pub(super) fn status(&mut self, booking: &Booking, before: Option<&str>, after: &str) {
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
        if !is_held(&booking.status) {
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

#[cfg(test)]
mod tests {
    use super::Night;

    #[test]
    fn pool_is_a_room_night_if_it_ends_with_a_day() {
        let event = "hotel".parse().expect("an id");
        let night = |pool: &str| {
            Night::of(&event, &pool.parse().expect("an id"))
                .map(|night| (night.room_id, night.date))
        };
        let expected = |room: &str, date: &str| Some((room.to_owned(), date.to_owned()));
        assert_eq!(night("double.2026-12-24"), expected("double", "2026-12-24"));
        assert_eq!(night("sea.view.2028-02-29"), expected("sea.view", "2028-02-29"));
        for other in [
            "ga",
            "double.2026-12",
            "double.2026-13-01",
            "double.2026-02-29",
            "double.2100-02-29",
            "double.2026-11-31",
            "double.2026-12-00",
            "double.0000-12-01",
            "double.2026.12.24",
            "double.+026-12-24",
            "double-2026-12-24",
            ".2026-12-24",
        ] {
            assert_eq!(night(other), None, "{other}");
        }
    }
}
