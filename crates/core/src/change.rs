//! What happened to an event. The journal and the feed are made of these; state is what they add up to.

use crate::channels::ChannelSpec;
use crate::hold::{HoldTerms, is_zero};
use crate::ids::{
    BookingId, ChannelId, ClaimId, ExtensionId, PayerId, PaymentId, PlaceId, PoolId, ScanId, UserId,
};
use crate::lines::Lines;
use crate::payers::PayerBy;
use crate::prices::{PriceStep, Priced};
use crate::settings::{Digest, Settings};
use crate::spec::{CategorySpec, PoolSpec, Reason, SeatSpec};
use crate::time::Time;
use crate::types::TicketType;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Makes of the families an enum each, [`Change`] over all of them, and one flat enum that JSON is
/// read as: recovery reads millions, and trying family after family would take its time.
macro_rules! families {
    ($($(#[$of_family:meta])* enum $name:ident in $family:ident {$(
        $(#[$of_variant:meta])*
        $variant:ident $({$($(#[$of_field:meta])* $field:ident: $type:ty,)+})?,
    )+})+) => {
        /// One change of one event. In JSON without its family: `{"hold_released": {"booking": …}}`.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(untagged, from = "Flat")]
        pub enum Change {$($(#[$of_family])* $family($name),)+}

        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Flat {$($($variant $({$($(#[$of_field])* $field: $type,)+})?,)+)+}

        impl From<Flat> for Change {
            fn from(change: Flat) -> Self {
                match change {$($(
                    Flat::$variant { $($($field),+)? } => $name::$variant { $($($field),+)? }.into(),
                )+)+}
            }
        }

        $(
            $(#[$of_family])*
            #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
            #[serde(rename_all = "snake_case")]
            pub enum $name {$(
                $(#[$of_variant])*
                $variant $({$($(#[$of_field])* $field: $type,)+})?,
            )+}

            impl From<$name> for Change {
                fn from(change: $name) -> Self {
                    Self::$family(change)
                }
            }
        )+
    };
}

families! {
    /// What the organiser sets up: settings, pools, seats, and what is off sale.
    enum SetupChange in Setup {
        /// The event exists from now on.
        EventCreated {
            /// Its settings.
            settings: Box<Settings>,
        },
        /// The event has other settings from now on.
        SettingsChanged {
            /// All of them.
            settings: Box<Settings>,
        },
        /// There is a new pool.
        PoolAdded {
            /// The pool.
            spec: PoolSpec,
        },
        /// A pool has another capacity.
        CapacityAdjusted {
            /// The pool.
            pool: PoolId,
            /// Units before.
            before: u32,
            /// Units from now on.
            after: u32,
            /// Who and why.
            reason: Reason,
        },
        /// There are new seats.
        SeatsAdded {
            /// The categories they refer to that were not known before.
            categories: Vec<CategorySpec>,
            /// The seats.
            seats: Vec<SeatSpec>,
        },
        /// Something has another price, now or later.
        PriceChanged {
            /// What.
            of: Priced,
            /// The price of one unit before, in minor units.
            before_minor: i64,
            /// The price from now on.
            price_minor: i64,
            /// What it costs later, the earliest first.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            later: Vec<PriceStep>,
            /// Who and why; nobody if it was due by what they had said before.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            reason: Option<Reason>,
        },
        /// A pool or a category has other ticket types.
        TypesSet {
            /// What.
            of: Priced,
            /// The types from now on; none if it has none any more.
            types: Vec<TicketType>,
            /// Who and why.
            reason: Reason,
        },
        /// Free units went off sale.
        UnitsBlocked {
            /// The units.
            lines: Lines,
            /// Who and why.
            reason: Reason,
        },
        /// Blocked units came back on sale.
        UnitsUnblocked {
            /// The units.
            lines: Lines,
            /// Who and why.
            reason: Reason,
        },
        /// There is a new channel, or a known one is another from now on.
        ChannelSet {
            /// The channel.
            spec: ChannelSpec,
            /// Who and why.
            reason: Reason,
        },
        /// Free units went from one channel to another.
        UnitsAllotted {
            /// The units.
            lines: Lines,
            /// The channel that they were in; nothing is everybody's stock.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            from: Option<ChannelId>,
            /// The channel that they are in now; nothing is everybody's stock.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            to: Option<ChannelId>,
            /// Who and why.
            reason: Reason,
        },
        /// All stock of a channel went to another one for good.
        ChannelReleased {
            /// The channel.
            channel: ChannelId,
            /// The channel that has it now; nothing is everybody's stock.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            into: Option<ChannelId>,
            /// Who and why; nobody if it was due by what they had said before.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            reason: Option<Reason>,
        },
    }

    /// The course of the sale: its phases and its interruptions.
    enum SaleChange in Sale {
        /// People may join.
        PrequeueOpened,
        /// The sale is open; the drawn order, if there is a draw, follows from these two.
        SaleOpened {
            /// The revealed seed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            seed: Option<Digest>,
            /// The public value mixed in.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            public_value: Option<Box<str>>,
        },
        /// No admission and no new holds for now.
        SalePaused,
        /// The pause is over.
        SaleResumed,
        /// The sale is over.
        SaleClosed,
        /// Nothing is kept of the event any more but that, and when.
        EventArchived {
            /// Who and why.
            reason: Reason,
        },
        /// The engine was away; places, sessions and holds moved on by as much.
        Resumed {
            /// How long, in milliseconds.
            gap_ms: i64,
        },
    }

    /// Places in the queue, until they are admitted or left.
    enum QueueChange in Queue {
        /// Somebody stands in the queue.
        PlaceTaken {
            /// The place.
            place: PlaceId,
            /// Whose.
            user: UserId,
            /// Its number in the order taken, from 1.
            number: u32,
        },
        /// A waiting visitor gave a sign of life.
        PlaceSeen {
            /// The place.
            place: PlaceId,
            /// Whose.
            user: UserId,
        },
        /// A waiting visitor is gone.
        PlaceLeft {
            /// The place.
            place: PlaceId,
            /// Whose.
            user: UserId,
            /// How.
            how: LeftHow,
        },
        /// The list of those who take part in the draw is fixed.
        PrequeueClosed {
            /// How many there are.
            entrants: u32,
            /// SHA-256 over their place ids in the order taken, each followed by a newline.
            entrants_hash: Digest,
        },
        /// A visitor may shop ("your turn").
        Admitted {
            /// The place.
            place: PlaceId,
            /// Whose.
            user: UserId,
            /// When the session ends.
            until: Time,
            /// Until when the visitor must show up.
            arrive_by: Time,
        },
    }

    /// Visitors after their admission, and those who are kept out.
    enum VisitorChange in Visitor {
        /// An admitted visitor showed up.
        Arrived {
            /// The place.
            place: PlaceId,
            /// Whose.
            user: UserId,
        },
        /// An admitted visitor can place no more holds.
        SessionEnded {
            /// The place.
            place: PlaceId,
            /// Whose.
            user: UserId,
            /// How.
            how: SessionEnd,
        },
        /// The room has a slot more: a session is over and so are its holds.
        SlotFreed {
            /// The place.
            place: PlaceId,
            /// Whose.
            user: UserId,
        },
        /// The organiser took everything from a visitor that is not paid for; what that was follows
        /// in the same decision.
        VisitorRemoved {
            /// Whom.
            user: UserId,
            /// Who and why.
            reason: Reason,
            /// Whether they are banned from the event from now on.
            banned: bool,
        },
        /// A visitor is banned no more.
        VisitorUnbanned {
            /// Whom.
            user: UserId,
            /// Who and why.
            reason: Reason,
        },
    }

    /// Units held until a deadline.
    enum HoldChange in Hold {
        /// Units are held for a booking.
        HoldPlaced {
            /// What never changes about it.
            terms: Arc<HoldTerms>,
            /// When it expires.
            until: Time,
        },
        /// A hold has more time.
        HoldExtended {
            /// The booking.
            booking: BookingId,
            /// When it expires from now on.
            until: Time,
            /// By which extension, where the caller named it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            extension: Option<ExtensionId>,
        },
        /// A hold was given back.
        HoldReleased {
            /// The booking.
            booking: BookingId,
        },
        /// A hold ran out.
        HoldExpired {
            /// The booking.
            booking: BookingId,
        },
        /// An ended booking's id is no longer known.
        HoldForgotten {
            /// The booking.
            booking: BookingId,
        },
    }

    /// What becomes of a hold that is paid for: payers, payments, confirmation, cancellation, check-in.
    enum BookingChange in Booking {
        /// A booking has a payer, or another one of this kind than before.
        PayerNamed {
            /// The booking.
            booking: BookingId,
            /// What the payer is known by.
            by: PayerBy,
            /// The payer.
            payer: PayerId,
        },
        /// A payment for a hold runs.
        PaymentBegun {
            /// The booking.
            booking: BookingId,
            /// The payment.
            payment: PaymentId,
            /// When the hold expires from now on.
            until: Time,
        },
        /// A payment failed; the hold waits for another.
        PaymentFailed {
            /// The booking.
            booking: BookingId,
            /// The payment.
            payment: PaymentId,
            /// Why, as the gateway says.
            why: Box<str>,
            /// When the hold expires from now on.
            until: Time,
        },
        /// A payment that a hold expired under ended without money; nothing is owed.
        LatePaymentFailed {
            /// The booking.
            booking: BookingId,
            /// The payment.
            payment: PaymentId,
            /// Why, as the gateway says.
            why: Box<str>,
        },
        /// A hold is final.
        HoldConfirmed {
            /// The booking.
            booking: BookingId,
            /// Its payment, if anything was to be paid.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            payment: Option<PaymentId>,
        },
        /// Money came after the hold ran out, and the same units were still free: the booking is
        /// final after all.
        HoldConfirmedLate {
            /// The booking.
            booking: BookingId,
            /// Its payment.
            payment: PaymentId,
        },
        /// A confirmed booking was taken back.
        ConfirmedCancelled {
            /// The booking.
            booking: BookingId,
            /// Who and why.
            reason: Reason,
            /// What goes back to the buyer, in minor units.
            #[serde(default, skip_serializing_if = "is_zero")]
            refund_minor: i64,
        },
        /// The owner of a ticket was let in.
        CheckedIn {
            /// The booking.
            booking: BookingId,
            /// The ticket's number within it, from 1.
            ticket: u32,
            /// By which scan, where the scanner named it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            scan: Option<ScanId>,
        },
    }

    /// Units taken at once.
    enum ClaimChange in Claim {
        /// Units were claimed, with the pool's claimed units before and after.
        Claimed {
            /// The claim.
            claim: ClaimId,
            /// Whose.
            user: UserId,
            /// The pool.
            pool: PoolId,
            /// How many.
            quantity: u32,
            /// When they come back by themselves.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            until: Option<Time>,
            /// Units claimed in the pool before.
            before: u32,
            /// Units claimed in the pool from now on.
            after: u32,
        },
        /// A claim was given back.
        Declaimed {
            /// The claim.
            claim: ClaimId,
            /// By its owner, or by its deadline.
            how: DeclaimedHow,
            /// Units claimed in the pool before.
            before: u32,
            /// Units claimed in the pool from now on.
            after: u32,
        },
        /// A service changed a pool's claimed units.
        ClaimedAdjusted {
            /// The request id.
            claim: ClaimId,
            /// The pool.
            pool: PoolId,
            /// Units more (positive) or fewer (negative).
            amount: i64,
            /// Units claimed in the pool before.
            before: u32,
            /// Units claimed in the pool from now on.
            after: u32,
            /// Who and why.
            reason: Reason,
        },
        /// An ended claim's or an adjustment's id is no longer known.
        ClaimForgotten {
            /// The claim.
            claim: ClaimId,
        },
    }
}

impl Change {
    /// Whether the event exists from this change on.
    #[must_use]
    pub fn creates_event(&self) -> bool {
        matches!(self, Self::Setup(SetupChange::EventCreated { .. }))
    }
}

/// How a waiting visitor went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftHow {
    /// By saying so.
    Left,
    /// By not being seen for the place's time to live.
    Lapsed,
    /// By the organiser.
    Removed,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnd {
    /// The visitor never showed up.
    NoShow,
    /// Its time was up.
    Timeout,
    /// The visitor left.
    Left,
    /// The visitor has everything they came for.
    Completed,
    /// The visitor's payment failed, and with it their hold.
    PaymentFailed,
    /// The organiser removed the visitor.
    Removed,
}

/// How a claim was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeclaimedHow {
    /// By its owner.
    Returned,
    /// By its time to live.
    Expired,
}
