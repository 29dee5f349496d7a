//! Claims.

use crate::http::shapes::lines::Quantity;
use crate::json::ids::{DurationNumber, EventIdText, IdText, QuantityNumber, TimeMs};
use crate::json::whole::Whole;
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_core::view::{ClaimState, ClaimView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A claim, or a service's adjustment.
#[derive(Serialize, ToSchema)]
#[schema(as = Claim)]
pub struct ClaimBody<'a> {
    /// Its id.
    #[schema(value_type = IdText)]
    claim: &'a str,
    /// The event.
    #[schema(value_type = EventIdText)]
    event: &'a str,
    /// The pool.
    #[schema(value_type = IdText)]
    pool: &'a str,
    /// Units: positive, or negative for an adjustment downwards.
    amount: i64,
    /// Units claimed in the pool before.
    before: u32,
    /// Units claimed in the pool right after it.
    after: u32,
    /// Where it stands.
    #[schema(value_type = ClaimStatus)]
    status: &'static str,
    /// When a live claim ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    until: Option<Time>,
    /// When it was given back, ran out or was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    at: Option<Time>,
}

/// The status of a claim.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum ClaimStatus {
    /// The units are taken.
    Claimed,
    /// The owner gave them back.
    Returned,
    /// They came back by themselves.
    Expired,
    /// A service's adjustment, done once and for all.
    Adjusted,
}

impl<'a> ClaimBody<'a> {
    /// What the caller is shown.
    #[must_use]
    pub fn new(event: &'a EventId, view: &'a ClaimView) -> Self {
        let (status, until, at) = match view.state {
            ClaimState::Claimed { until } => ("claimed", until, None),
            ClaimState::Returned { at } => ("returned", None, Some(at)),
            ClaimState::Expired { at } => ("expired", None, Some(at)),
            ClaimState::Adjusted { at } => ("adjusted", None, Some(at)),
        };
        Self {
            claim: view.claim.as_str(),
            event: event.as_str(),
            pool: view.pool.as_str(),
            amount: view.amount,
            before: view.before,
            after: view.after,
            status,
            until,
            at,
        }
    }
}

/// A new claim.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewClaim {
    /// How many units.
    #[schema(value_type = QuantityNumber)]
    pub quantity: Quantity,
    /// After how many milliseconds the units come back by themselves; never, if left out.
    #[schema(value_type = Option<DurationNumber>)]
    pub ttl_ms: Option<Whole<i64>>,
}
