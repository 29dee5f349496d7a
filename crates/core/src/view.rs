//! What can be seen of an event, and the answers to commands.

use crate::gaps::Gaps;
use crate::hold::{CheckIn, HoldState, HoldStatus, HoldTerms};
use crate::ids::{BookingId, ChannelId, ClaimId, EventId, PlaceId, PoolId, SeatId, UserId};
use crate::phase::Phase;
use crate::prices::PriceStep;
use crate::settings::{Digest, RefundNow, RoomSettings, Settings};
use crate::spec::Reason;
use crate::time::Time;
use crate::types::TypeView;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Lets what an answer carries be had alone; an answer of another kind is given back.
macro_rules! alone {
    ($answers:ident::$name:ident($answer:ty)) => {
        impl TryFrom<$answers> for $answer {
            type Error = $answers;

            fn try_from(answer: $answers) -> Result<Self, $answers> {
                if let $answers::$name(alone) = answer { Ok(alone) } else { Err(answer) }
            }
        }
    };
}
pub(crate) use alone;

/// The answer to a [`crate::command::Command`] that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is done and there is nothing to add.
    Done,
    /// To `Join`.
    Place(PlaceView),
    /// To `Leave`: what was left.
    Left(LeftFrom),
    /// To everything about bookings.
    Hold(HoldView),
    /// To everything about claims.
    Claim(ClaimView),
    /// To `RemoveVisitor`.
    Removed(RemovedView),
}

alone!(Reply::Place(PlaceView));
alone!(Reply::Left(LeftFrom));
alone!(Reply::Hold(HoldView));
alone!(Reply::Claim(ClaimView));
alone!(Reply::Removed(RemovedView));

impl TryFrom<Reply> for () {
    type Error = Reply;

    fn try_from(reply: Reply) -> Result<Self, Reply> {
        if reply == Reply::Done { Ok(()) } else { Err(reply) }
    }
}

/// What a visitor left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum LeftFrom {
    /// The queue.
    Queue,
    /// The room.
    Active,
}

/// An event as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventView {
    /// Its id.
    pub event: EventId,
    /// Its settings.
    pub settings: Settings,
    /// Its phase.
    pub phase: Phase,
    /// People waiting.
    pub waiting: u32,
    /// Slots of the room in use.
    pub active: u32,
    /// Places taken so far.
    pub places_taken: u32,
    /// Units of pools and seats together.
    pub units: Units,
    /// Whether anybody is let in.
    #[serde(default)]
    pub admission: AdmissionState,
    /// The draw, if the event has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<DrawView>,
    /// When the engine was away.
    #[serde(default, skip_serializing_if = "Gaps::is_empty")]
    pub gaps: Gaps,
}

/// Whether those who wait can be let in to anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::VariantArray)]
pub enum AdmissionState {
    /// Something is left for whoever is next.
    #[default]
    GoesOn,
    /// All there is may be taken by those inside; what they leave comes back.
    Waits,
    /// Nothing is free, and nobody inside has anything to leave.
    SoldOut,
}

impl AdmissionState {
    /// That of a room with stock: units that are free and held, and people who are choosing.
    #[must_use]
    pub fn of(free: u64, held: u64, choosing: u32, room: &RoomSettings) -> Self {
        if room.finds_something(free, choosing) {
            Self::GoesOn
        } else if free == 0 && held == 0 {
            Self::SoldOut
        } else {
            Self::Waits
        }
    }
}

/// What is public about a draw at this time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawView {
    /// SHA-256 of the seed.
    pub seed_hash: Digest,
    /// How many take part, once the prequeue is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrants: Option<u32>,
    /// SHA-256 of the list of entrants, once the prequeue is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrants_hash: Option<Digest>,
    /// When that list was fixed, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_fixed_at: Option<Time>,
    /// The seed, once it is revealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Digest>,
    /// The public value, once it is mixed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_value: Option<Box<str>>,
}

/// How units divide; `free + held + sold + blocked` is all there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Units {
    /// On sale.
    pub free: u32,
    /// In holds.
    pub held: u32,
    /// Confirmed or claimed.
    pub sold: u32,
    /// Off sale.
    pub blocked: u32,
}

/// What is left of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvailabilityView {
    /// Each pool, in the order they were added.
    pub pools: Vec<PoolView>,
    /// Each price category of seats, in the order they were added.
    pub categories: Vec<CategoryView>,
}

/// A pool and what is left of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolView {
    /// Its id.
    pub pool: PoolId,
    /// The price of one unit, in minor units.
    pub price_minor: i64,
    /// What it cost when it was added, if it ever changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_minor: Option<i64>,
    /// What it costs later, the earliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<PriceStep>,
    /// Its ticket types, the one of units that name none first, at this price.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<TypeView>,
    /// All its units.
    pub capacity: u32,
    /// How they divide.
    #[serde(flatten)]
    pub units: Units,
    /// Of the sold ones, those that were claimed.
    pub claimed: u32,
    /// Of the claimed ones, those that services claimed.
    pub claimed_by_services: u32,
    /// Blocked units by reason.
    pub blocked_why: Vec<(Box<str>, u32)>,
    /// Blocked units that are free in a channel, by channel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allotted: Vec<(ChannelId, u32)>,
}

/// The seats of one price category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoryView {
    /// Its name.
    pub name: Box<str>,
    /// The price of one seat, in minor units.
    pub price_minor: i64,
    /// What it cost when it was added, if it ever changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_minor: Option<i64>,
    /// What it costs later, the earliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<PriceStep>,
    /// Its ticket types, the one of units that name none first, at this price.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<TypeView>,
    /// How its seats divide.
    #[serde(flatten)]
    pub units: Units,
    /// Blocked seats that are free in a channel, by channel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allotted: Vec<(ChannelId, u32)>,
}

/// A seat and its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatView {
    /// Its id.
    pub seat: SeatId,
    /// Its price category.
    pub category: Arc<str>,
    /// Its status.
    pub status: SeatStatus,
    /// The booking that holds or has it (for operators).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booking: Option<BookingId>,
    /// Why it is blocked (for operators).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Box<str>>,
    /// The channel that it is blocked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelId>,
}

/// The status of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum SeatStatus {
    /// On sale.
    Free,
    /// In a hold.
    Held,
    /// Confirmed.
    Sold,
    /// Off sale.
    Blocked,
}

/// A visitor's place or session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceView {
    /// The place.
    pub place: PlaceId,
    /// Its number in the order taken, from 1.
    pub number: u32,
    /// Waiting or active.
    #[serde(flatten)]
    pub state: PlaceState,
}

/// Where a visitor stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PlaceState {
    /// In the queue.
    Queued {
        /// 1 is served next; `None` before a draw.
        position: Option<u32>,
        /// People waiting.
        total: u32,
        /// When the place lapses unless the visitor is seen; `None` before the opening.
        lapses_at: Option<Time>,
        /// Whether a sign of life would be written down now.
        see_due: bool,
    },
    /// Admitted.
    Active {
        /// When the session ends.
        until: Time,
        /// Until when the visitor must show up; `None` once they have.
        arrive_by: Option<Time>,
        /// Whether a sign of life would be written down now, of places with which they wait besides.
        #[serde(default)]
        see_due: bool,
    },
    /// The session is over, and what the visitor holds keeps the slot: no other place can be had meanwhile.
    Ended {
        /// When the last of the holds runs out, and the slot with it.
        until: Time,
    },
}

impl PlaceState {
    /// Whether a sign of life would be written down now.
    #[must_use]
    pub const fn see_due(&self) -> bool {
        match self {
            Self::Queued { see_due, .. } | Self::Active { see_due, .. } => *see_due,
            Self::Ended { .. } => false,
        }
    }
}

/// A booking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldView {
    /// What never changes about it.
    #[serde(flatten)]
    pub terms: Arc<HoldTerms>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: HoldState,
    /// Payments started so far.
    pub payments: u8,
    /// Extensions so far.
    pub extensions: u8,
    /// Tickets that were let in, by their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked_in: Vec<CheckIn>,
}

impl HoldView {
    /// What its buyer gets back who cancels it at `at`, under the event's settings; `None` if they
    /// cannot.
    #[must_use]
    pub fn refund_now(&self, settings: &Settings, at: Time) -> Option<RefundNow> {
        let is_confirmed = self.state.status() == HoldStatus::Confirmed;
        let is_unused = self.checked_in.is_empty();
        if is_confirmed && is_unused { settings.refund_now(&self.terms, at) } else { None }
    }
}

/// What was taken from a visitor who was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedView {
    /// Whom.
    pub user: UserId,
    /// Waiting places that were given up.
    pub places: u32,
    /// Whether a session ended.
    pub session: bool,
    /// Holds that were released.
    pub released: u32,
    /// Bookings whose payment runs: they stay until it has ended.
    pub paying: Vec<BookingId>,
    /// Whether they are banned.
    pub banned: bool,
}

/// Somebody who is banned from an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BanView {
    /// Whom.
    pub user: UserId,
    /// Who banned them, and why.
    #[serde(flatten)]
    pub reason: Reason,
    /// Since when.
    pub at: Time,
}

/// A claim, or a service's adjustment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimView {
    /// Its id.
    pub claim: ClaimId,
    /// Whose; `None` for a service's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// The pool.
    pub pool: PoolId,
    /// Units: positive, or negative for an adjustment downwards.
    pub amount: i64,
    /// Units claimed in the pool before.
    pub before: u32,
    /// Units claimed in the pool right after it.
    pub after: u32,
    /// When the units were to come back by themselves, as the first answer said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_until: Option<Time>,
    /// Where it stands.
    pub state: ClaimState,
}

impl ClaimView {
    /// The claim as the first answer to its request told it, whatever became of it since.
    #[must_use]
    pub fn as_first_told(&self) -> Self {
        let state = match self.state {
            ClaimState::Claimed { .. }
            | ClaimState::Returned { .. }
            | ClaimState::Expired { .. } => ClaimState::Claimed { until: self.first_until },
            adjusted @ ClaimState::Adjusted { .. } => adjusted,
        };
        Self { state, ..self.clone() }
    }
}

/// Where a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ClaimState {
    /// The units are taken.
    Claimed {
        /// When they come back by themselves; `None` is never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Time>,
    },
    /// The owner gave them back.
    Returned {
        /// When.
        at: Time,
    },
    /// They came back by themselves.
    Expired {
        /// When.
        at: Time,
    },
    /// A service's adjustment, done once and for all.
    Adjusted {
        /// When.
        at: Time,
    },
}
