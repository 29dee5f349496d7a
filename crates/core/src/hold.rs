//! Holds: one booking's units, until a deadline, a payment or a confirmation.

use crate::best::BestOrder;
use crate::channels::Sources;
use crate::ids::{BookingId, PaymentId, ScanId, UserId};
use crate::lines::Lines;
use crate::time::Time;
use crate::types::{
    AskedTypes, HeldType, HeldTypes, Part, parts, type_of_ticket, types_of_tickets,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What never changes about a booking. Shared between state, journal, feed and answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldTerms {
    /// The booking.
    pub booking: BookingId,
    /// Whose.
    pub user: UserId,
    /// What.
    pub lines: Lines,
    /// What was asked for, if seats were left to the rules: a retry asks for the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Arc<BestOrder>>,
    /// The price of one unit of each line when it was held, pools' and then seats'; nothing if all
    /// were the first prices that these had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices_minor: Vec<i64>,
    /// The channel that each line came from, pools' and then seats'; nothing if all were everybody's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Sources,
    /// The types of its units, with the prices that these had when it was held; nothing if none of its
    /// pools and categories had types. `prices_minor` tells what the others cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<Box<HeldTypes>>,
    /// The price of all of it when it was held, fees included, in minor units of the event's currency.
    pub amount_minor: i64,
    /// How much of that is fees.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fee_minor: i64,
    /// When it was held.
    pub created_at: Time,
}

impl HoldTerms {
    /// Whether a request named the same types as the one that made this booking.
    #[must_use]
    pub fn asked_same_types(&self, asked: &AskedTypes) -> bool {
        self.types.as_ref().map_or(asked.is_empty(), |types| types.asked == *asked)
    }

    /// Its units: see [`parts`].
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        parts(&self.lines, self.types.as_deref())
    }

    /// The type of each ticket: see [`types_of_tickets`].
    pub fn types_of_tickets(&self) -> impl Iterator<Item = Option<&HeldType>> {
        types_of_tickets(&self.lines, self.types.as_deref())
    }

    /// The type of the ticket of this number: see [`type_of_ticket`].
    #[must_use]
    pub fn type_of_ticket(&self, ticket: u32) -> Option<&HeldType> {
        type_of_ticket(&self.lines, self.types.as_deref(), ticket)
    }
}

/// Where a booking stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum HoldState {
    /// Held until a deadline.
    Held {
        /// The deadline.
        until: Time,
    },
    /// A payment runs.
    Paying {
        /// The deadline.
        until: Time,
        /// The deadline that comes back if the payment fails.
        before: Time,
        /// The payment.
        payment: PaymentId,
    },
    /// Final.
    Confirmed {
        /// Since when.
        at: Time,
        /// Its payment, if anything was to be paid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payment: Option<PaymentId>,
    },
    /// Given back by the visitor.
    Released {
        /// When.
        at: Time,
    },
    /// Ran out.
    Expired {
        /// When.
        at: Time,
        /// A payment that had not ended by then: money may still arrive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payment: Option<PaymentId>,
    },
    /// Taken back after it was confirmed.
    Cancelled {
        /// When.
        at: Time,
        /// What goes back to the buyer, in minor units.
        #[serde(default, skip_serializing_if = "is_zero")]
        refund_minor: i64,
    },
}

/// Where a booking stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum HoldStatus {
    /// See [`HoldState::Held`].
    Held,
    /// See [`HoldState::Paying`].
    Paying,
    /// See [`HoldState::Confirmed`].
    Confirmed,
    /// See [`HoldState::Released`].
    Released,
    /// See [`HoldState::Expired`].
    Expired,
    /// See [`HoldState::Cancelled`].
    Cancelled,
}

/// Serde asks for a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(crate) fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// A ticket of a confirmed booking that was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckIn {
    /// The ticket's number within its booking, from 1: one ticket a unit.
    pub ticket: u32,
    /// When.
    pub at: Time,
    /// By which scan, where the scanner named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<ScanId>,
}

/// What a declined payment does to its hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum OnDecline {
    /// The hold stays for another attempt.
    Keep,
    /// The hold is released and the session ends.
    Release,
}

impl HoldState {
    /// When the hold runs out, if it is live.
    #[must_use]
    pub fn until(&self) -> Option<Time> {
        match self {
            Self::Held { until } | Self::Paying { until, .. } => Some(*until),
            Self::Confirmed { .. }
            | Self::Released { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. } => None,
        }
    }

    /// Whether it has its units: live or confirmed.
    #[must_use]
    pub fn has_units(&self) -> bool {
        matches!(self, Self::Confirmed { .. }) || self.until().is_some()
    }

    /// Whether it is over for good: nothing is left but its id, which waits to be forgotten.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        match self {
            Self::Released { .. }
            | Self::Expired { payment: None, .. }
            | Self::Cancelled { .. } => true,
            // Money may still arrive for what ran out under a payment: then its lines are needed.
            Self::Held { .. }
            | Self::Paying { .. }
            | Self::Confirmed { .. }
            | Self::Expired { payment: Some(_), .. } => false,
        }
    }

    /// The status alone.
    #[must_use]
    pub const fn status(&self) -> HoldStatus {
        match self {
            Self::Held { .. } => HoldStatus::Held,
            Self::Paying { .. } => HoldStatus::Paying,
            Self::Confirmed { .. } => HoldStatus::Confirmed,
            Self::Released { .. } => HoldStatus::Released,
            Self::Expired { .. } => HoldStatus::Expired,
            Self::Cancelled { .. } => HoldStatus::Cancelled,
        }
    }
}
