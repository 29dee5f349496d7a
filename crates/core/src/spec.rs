//! What is added to an event, and why stock changes by hand.

use crate::ids::{PoolId, SeatId};
use serde::{Deserialize, Serialize};

/// Who changed stock by hand, and why; kept in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The operator or service.
    pub by: Box<str>,
    /// The reason in their words.
    pub why: Box<str>,
}

/// A pool as it is added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSpec {
    /// Its id.
    pub pool: PoolId,
    /// Units there are.
    pub capacity: u32,
    /// The price of one unit, in minor units of the event's currency; 0 is free of charge.
    pub price_minor: i64,
}

/// A price category of seats, as it is added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategorySpec {
    /// Its name, as seats refer to it.
    pub name: Box<str>,
    /// The price of one seat, in minor units of the event's currency; 0 is free of charge.
    pub price_minor: i64,
}

/// A seat as it is added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatSpec {
    /// Its id.
    pub seat: SeatId,
    /// The part of the house it is in.
    pub section: Box<str>,
    /// Its row.
    pub row: Box<str>,
    /// Its number in the row.
    pub number: Box<str>,
    /// Its price category, by name.
    pub category: Box<str>,
    /// How good it is: the lower, the better; 0 to [`MAX_SEAT_RANK`](crate::limits::MAX_SEAT_RANK).
    /// Seats of one rank are taken in the order in which they were added.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rank: u32,
    /// Whether an aisle follows, so that the next seat of its row is not beside it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aisle: bool,
    /// Whom it is kept for.
    #[serde(default, skip_serializing_if = "Access::is_anyones")]
    pub access: Access,
}

/// Whom a seat is kept for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Nobody in particular.
    #[default]
    Anyone,
    /// Somebody in a wheelchair.
    Wheelchair,
    /// Whoever comes with the wheelchair place of this id; nobody in particular while that is sold.
    CompanionOf(SeatId),
}

impl Access {
    pub(crate) fn is_anyones(&self) -> bool {
        *self == Self::Anyone
    }
}

/// Serde asks for a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
