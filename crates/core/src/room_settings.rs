//! What an organiser sets for a waiting room.

use crate::digest::Digest;
use crate::limits::{
    MAX_PLACES_PER_USER, MAX_QUEUE_SIZE, MAX_ROOM_CAPACITY, MAX_UNITS_PER_VISITOR, fits_name,
    is_duration,
};
use serde::{Deserialize, Serialize};

/// How the waiting room admits. All durations are milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoomSettings {
    /// Admitted visitors at a time.
    pub capacity: u32,
    /// Admissions a minute at most; `None` is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outflow_per_min: Option<u32>,
    /// How long an admitted visitor may shop.
    pub session_ms: i64,
    /// How long a place waits for a visitor who is not seen.
    pub place_ttl_ms: i64,
    /// How long an admitted visitor has to show up.
    pub arrive_ms: i64,
    /// People waiting at a time (always finite).
    pub max_queue_size: u32,
    /// Places one user may take; 1 in an event with a draw.
    pub places_per_user: u32,
    /// Units to reckon for each visitor who is in the room and has taken nothing yet: nobody is
    /// admitted who would find fewer left.
    #[serde(default = "one_unit")]
    pub units_per_visitor: u32,
    /// In which order those who came before the opening are served.
    pub order: Order,
    /// Which public value is mixed into the draw, told before the list of entrants is fixed, so that
    /// nobody chooses among several: the sale opens with one only. `None` promises none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_value_source: Option<Box<str>>,
}

fn one_unit() -> u32 {
    1
}

/// The order of the people in the prequeue. Those who come later are served in the order they come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// First come, first served.
    Fifo,
    /// By lot, from a seed that was committed to before anyone joined.
    Draw {
        /// SHA-256 of the seed.
        seed_hash: Digest,
    },
}

impl Default for RoomSettings {
    fn default() -> Self {
        Self {
            capacity: 1_000,
            outflow_per_min: None,
            session_ms: 600_000,
            place_ttl_ms: 1_800_000,
            arrive_ms: 120_000,
            max_queue_size: 1_000_000,
            places_per_user: 1,
            units_per_visitor: one_unit(),
            order: Order::Fifo,
            public_value_source: None,
        }
    }
}

impl RoomSettings {
    /// Whether one more visitor would find something of what is `free`, even if all those who are
    /// `choosing` take what is reckoned for each. What is left in the end is for one at a time.
    #[must_use]
    pub fn finds_something(&self, free: u64, choosing: u32) -> bool {
        let reckoned = (u64::from(choosing) + 1).saturating_mul(u64::from(self.units_per_visitor));
        free >= reckoned || (free > 0 && choosing == 0)
    }

    /// Which setting is wrong by itself, and what to use; `None` if none is.
    pub(crate) fn complaint(&self) -> Option<(&'static str, &'static str)> {
        if !(1..=MAX_ROOM_CAPACITY).contains(&self.capacity) {
            return Some(("room.capacity", "room.capacity: use 1 to 1000000"));
        }
        if self.outflow_per_min == Some(0) {
            let why = "room.outflow_per_min: use at least 1, or leave it out for no limit";
            return Some(("room.outflow_per_min", why));
        }
        if !is_duration(self.session_ms) {
            return Some(("room.session_ms", "room.session_ms: use 1 ms to 366 days"));
        }
        if !is_duration(self.place_ttl_ms) {
            return Some(("room.place_ttl_ms", "room.place_ttl_ms: use 1 ms to 366 days"));
        }
        if !is_duration(self.arrive_ms) {
            return Some(("room.arrive_ms", "room.arrive_ms: use 1 ms to 366 days"));
        }
        if !(1..=MAX_QUEUE_SIZE).contains(&self.max_queue_size) {
            return Some(("room.max_queue_size", "room.max_queue_size: use 1 to 20000000"));
        }
        if !(1..=MAX_PLACES_PER_USER).contains(&self.places_per_user) {
            return Some(("room.places_per_user", "room.places_per_user: use 1 to 100"));
        }
        if !(1..=MAX_UNITS_PER_VISITOR).contains(&self.units_per_visitor) {
            return Some(("room.units_per_visitor", "room.units_per_visitor: use 1 to 1000"));
        }
        let is_told = |source: &str| {
            fits_name(source)
                && source.chars().any(char::is_alphanumeric)
                && !source.chars().any(char::is_control)
        };
        if !self.public_value_source.as_deref().is_none_or(is_told) {
            let why = "room.public_value_source: use 1 to 500 characters, letters or digits among \
                       them, and none that ends a line or turns the text around";
            return Some(("room.public_value_source", why));
        }
        None
    }
}
