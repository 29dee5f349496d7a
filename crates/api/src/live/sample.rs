//! An event at one time, as the control room is told.

use crate::json::ids::TimeMs;
use crate::json::sale::{PhaseName, UnitsBody};
use onrush_core::{Phase, Time};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use utoipa::ToSchema;

/// What happened to an event since this node began to look. Each number only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Counts {
    /// Places taken in the queue.
    pub joined: u64,
    /// People admitted.
    pub admitted: u64,
    /// People who left the queue or whose place lapsed.
    pub left: u64,
    /// Holds placed.
    pub held: u64,
    /// Bookings confirmed.
    pub confirmed: u64,
    /// Holds given back.
    pub released: u64,
    /// Holds that ran out.
    pub expired: u64,
    /// Confirmed bookings taken back.
    pub cancelled: u64,
    /// Payments begun.
    pub payments_begun: u64,
    /// Payments that failed.
    pub payments_failed: u64,
    /// Tickets let in.
    pub checked_in: u64,
    /// What confirmed bookings came to, in minor units; what is cancelled later stays in it.
    pub sold_minor: i64,
}

/// An event at one time.
#[derive(Serialize, ToSchema)]
pub struct Sample {
    /// The engine's time.
    #[schema(value_type = TimeMs)]
    pub at: Time,
    /// Where the sale stands.
    #[schema(value_type = PhaseName)]
    pub phase: Phase,
    /// People waiting.
    pub waiting: u32,
    /// Slots of the waiting room in use.
    pub active: u32,
    /// Units of pools and seats together.
    pub units: UnitsBody,
    /// What happened since this node began to look.
    pub counts: Counts,
    /// What this node refused to visitors since then, by code. Shared by samples between which
    /// nothing was refused.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub refused: Arc<BTreeMap<&'static str, u64>>,
}

/// The event `past` of a stream of samples.
#[derive(Serialize, ToSchema)]
pub struct Past {
    /// Up to 900, one a second, oldest first.
    #[schema(value_type = Vec<Sample>)]
    pub samples: VecDeque<Arc<Sample>>,
}
