//! What may be asked of an event. Every state change begins as one of these.

use crate::best::BestOrder;
use crate::channels::ChannelSpec;
use crate::hold::OnDecline;
use crate::ids::{
    BookingId, ChannelId, ClaimId, ExtensionId, PayerId, PaymentId, PlaceId, PoolId, ScanId, UserId,
};
use crate::lines::Lines;
use crate::payers::PayerBy;
use crate::prices::{PriceStep, Priced};
use crate::settings::{Digest, Settings};
use crate::spec::{CategorySpec, PoolSpec, Reason, SeatSpec};
use crate::types::{AskedTypes, TicketType};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Who takes a confirmed booking back, and what the buyer gets for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelTerms {
    /// Its owner, by the event's rules about refunds.
    Buyer {
        /// The owner's id.
        user: UserId,
        /// The least that they agreed to get back, in minor units; `None` is whatever the rules give.
        at_least_minor: Option<i64>,
    },
    /// The organiser.
    Organiser {
        /// What goes back, in minor units; `None` is all that was paid.
        refund_minor: Option<i64>,
    },
}

/// One thing asked of one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Creates the event.
    CreateEvent {
        /// Its settings.
        settings: Box<Settings>,
    },
    /// Replaces the event's settings. The order of the line is fixed once people may join.
    ChangeSettings {
        /// The settings from now on.
        settings: Box<Settings>,
    },
    /// Adds a pool.
    AddPool {
        /// The pool.
        spec: PoolSpec,
    },
    /// Sets how many units a pool has.
    AdjustCapacity {
        /// The pool.
        pool: PoolId,
        /// Units from now on.
        capacity: u32,
        /// Who and why.
        reason: Reason,
    },
    /// Adds seats and the price categories they are in, all or nothing.
    AddSeats {
        /// Categories, new ones and known ones alike; a known one must have the same price.
        categories: Vec<CategorySpec>,
        /// The seats.
        seats: Vec<SeatSpec>,
    },
    /// Sets what units of a pool, or seats of a category, cost from now on, and what later. What is
    /// held keeps its price.
    ChangePrice {
        /// What.
        of: Priced,
        /// The price of one unit from now on, in minor units.
        price_minor: i64,
        /// What it costs later, the earliest first; nothing else is left of what was to come.
        later: Vec<PriceStep>,
        /// Who and why.
        reason: Reason,
    },
    /// Sets what ticket types a pool or a category has from now on. What is held keeps its types.
    SetTypes {
        /// Of what.
        of: Priced,
        /// The types, the one of units that name none first; none is no types any more.
        types: Vec<TicketType>,
        /// Who and why.
        reason: Reason,
    },
    /// Takes free units off sale.
    Block {
        /// The units.
        lines: Lines,
        /// Who and why.
        reason: Reason,
    },
    /// Puts blocked units on sale again.
    Unblock {
        /// The units; those of a pool must have been blocked with the same `why`.
        lines: Lines,
        /// Who and why.
        reason: Reason,
    },
    /// Adds a channel, or changes what it is.
    SetChannel {
        /// The channel.
        spec: ChannelSpec,
        /// Who and why.
        reason: Reason,
    },
    /// Moves free units from one channel to another, or from and to the stock that is for everybody.
    Allot {
        /// The units.
        lines: Lines,
        /// The channel that they are in; `None` is everybody's stock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<ChannelId>,
        /// The channel that they go to; `None` is everybody's stock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<ChannelId>,
        /// Who and why.
        reason: Reason,
    },
    /// Gives all stock of a channel to another one, or to everybody, for good: also what comes back.
    ReleaseChannel {
        /// The channel.
        channel: ChannelId,
        /// The channel that has it from now on; `None` is everybody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        into: Option<ChannelId>,
        /// Who and why.
        reason: Reason,
    },
    /// Lets people join before the sale opens.
    OpenPrequeue,
    /// Fixes the list of those who take part in the draw.
    ClosePrequeue,
    /// Opens the sale; with a draw, reveals the seed and draws.
    OpenSale {
        /// The seed of the draw, whose SHA-256 was published.
        seed: Option<Digest>,
        /// A public random value that became known after the prequeue closed.
        public_value: Option<Box<str>>,
    },
    /// Stops admission and new holds; clocks run on.
    Pause,
    /// Ends a pause.
    Resume,
    /// Ends the sale.
    Close,
    /// Frees all that is kept of an event whose sale is closed, for good: only that it was archived,
    /// and when, is still known, and its id is never used again. What it was stands in its decisions.
    ///
    /// The rules know of no money that is still under way for a hold that ran out: whoever takes
    /// payments looks at that first.
    Archive {
        /// Who and why.
        reason: Reason,
    },

    /// Takes a place in the queue.
    Join {
        /// The place, as the caller names it: a retry has the same, and no other user has it.
        place: PlaceId,
        /// Whose.
        user: UserId,
    },
    /// Gives a place or a session up; an active visitor's unpaid holds are released.
    Leave {
        /// The place.
        place: PlaceId,
        /// Whose.
        user: UserId,
    },
    /// A sign of life from a visitor, for all of their places that wait.
    See {
        /// One of them, or the one in the room.
        place: PlaceId,
        /// Whose.
        user: UserId,
    },
    /// An admitted visitor shows up.
    Arrive {
        /// The place.
        place: PlaceId,
        /// Whose.
        user: UserId,
    },

    /// Holds units for a booking, all or nothing.
    Hold {
        /// The booking, as the caller names it: a retry has the same.
        booking: BookingId,
        /// Whose.
        user: UserId,
        /// What.
        lines: Lines,
        /// Channels that the visitor may use, the one to take from first before the others.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        channels: Vec<ChannelId>,
        /// The ticket types of the units.
        #[serde(default, skip_serializing_if = "AskedTypes::is_empty")]
        types: AskedTypes,
    },
    /// Holds the best seats there are for a booking, with what is named beside them, all or nothing.
    HoldBest {
        /// The booking, as the caller names it: a retry has the same.
        booking: BookingId,
        /// Whose.
        user: UserId,
        /// What.
        order: Arc<BestOrder>,
        /// Channels that the visitor may use, the one to take from first before the others.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        channels: Vec<ChannelId>,
        /// The ticket types of the units.
        #[serde(default, skip_serializing_if = "AskedTypes::is_empty")]
        types: AskedTypes,
    },
    /// Gives a hold more time. An extension that gave some and is asked for again gives no more: it gets
    /// the booking as it is.
    Extend {
        /// The booking.
        booking: BookingId,
        /// Whose.
        user: UserId,
        /// The extension, if the caller names it.
        extension: Option<ExtensionId>,
    },
    /// Gives a hold back.
    Release {
        /// The booking.
        booking: BookingId,
        /// Whose.
        user: UserId,
    },
    /// Says who pays for a booking, where the event limits what one e-mail address or one card may have;
    /// another payer of the same kind takes the place of the one before.
    NamePayer {
        /// The booking.
        booking: BookingId,
        /// Whose.
        user: UserId,
        /// What the payer is known by.
        by: PayerBy,
        /// The payer.
        payer: PayerId,
    },
    /// Starts a payment for a hold; if one runs already, that one stays.
    BeginPayment {
        /// The booking.
        booking: BookingId,
        /// Whose.
        user: UserId,
        /// The payment to start.
        payment: PaymentId,
    },
    /// A payment failed.
    FailPayment {
        /// The booking.
        booking: BookingId,
        /// The payment that failed.
        payment: PaymentId,
        /// Why, as the gateway says.
        why: Box<str>,
        /// What becomes of the hold.
        then: OnDecline,
    },
    /// Makes a hold final: with its payment, or without one if nothing is to be paid.
    ///
    /// Money that comes after the hold ran out still buys the same units, if they are free.
    Confirm {
        /// The booking.
        booking: BookingId,
        /// Whose.
        user: UserId,
        /// The payment that succeeded.
        payment: Option<PaymentId>,
    },
    /// Takes a confirmed booking back; its units are free again. Again it gets the first answer, but
    /// for an organiser who gives back another amount: what goes back is decided once.
    CancelConfirmed {
        /// The booking.
        booking: BookingId,
        /// Who and why.
        reason: Reason,
        /// Who may do so, and what goes back.
        terms: CancelTerms,
    },
    /// Lets the owner of a ticket in, once. The same scan again gets the first answer.
    CheckIn {
        /// The booking.
        booking: BookingId,
        /// The ticket's number within it, from 1: one ticket a unit.
        ticket: u32,
        /// The scan, if the scanner names it.
        scan: Option<ScanId>,
    },

    /// Takes units of a pool at once and for good.
    Claim {
        /// The request id: a retry has the same and gets the first answer.
        claim: ClaimId,
        /// Whose.
        user: UserId,
        /// The pool.
        pool: PoolId,
        /// How many.
        quantity: u32,
        /// After how long the units come back by themselves; `None` is never.
        ttl_ms: Option<i64>,
    },
    /// Gives a claim back.
    Declaim {
        /// The claim.
        claim: ClaimId,
        /// Whose.
        user: UserId,
    },
    /// Changes a pool's count of units claimed by services, up or down (a service key's right
    /// only).
    AdjustClaimed {
        /// The request id: a retry has the same and gets the first answer.
        claim: ClaimId,
        /// The pool.
        pool: PoolId,
        /// Units more (positive) or fewer (negative).
        amount: i64,
        /// Who and why.
        reason: Reason,
    },

    /// Takes everything from a visitor that is not paid for, in one decision, and bans them from
    /// the event if wished. A hold stays while its payment runs.
    RemoveVisitor {
        /// Whom.
        user: UserId,
        /// Who and why.
        reason: Reason,
        /// Whether they may take no place, hold or claim from now on.
        ban: bool,
    },
    /// Ends a ban.
    UnbanVisitor {
        /// Whose.
        user: UserId,
        /// Who and why.
        reason: Reason,
    },

    /// Decides one thing that is due: one deadline, or one admission.
    Tick,
    /// Moves places, sessions and holds on by the time the engine was away.
    Recover {
        /// How long it was away, in milliseconds.
        gap_ms: i64,
    },
}

/// What is so of a command whatever the state of its event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Begins something for a visitor (a place, a hold, a claim) that can as well begin a little
    /// later: the first to be sent away when answers take long.
    pub begins_business: bool,
    /// Gives something back, says what a payment came to, or lets time go on: let in however much
    /// is waiting.
    pub always_let_in: bool,
    /// Begins something that needs space: refused while the disk is nearly full. What ends
    /// something, gives it back or was paid for goes on, and so does a sign of life, without which
    /// a place is lost.
    pub needs_space: bool,
    /// Begins a payment. What is held may be paid for, as long as there is space to write down what
    /// becomes of it.
    pub begins_payment: bool,
    /// Where Redis decides, it is answered once the decision is archived. Whoever has paid, or is
    /// asked to pay, must find that again whatever Redis loses; a place or a hold that is lost is
    /// taken again. What the ledger goes on from (the end of a payment) must not be lost behind its
    /// back either, and whoever was banned must not come back unnoticed. So it is with all that an
    /// organiser changes, which is rare: a pause that is lost is a sale that goes on.
    pub waits_for_archive: bool,
    /// What is wrong with it in itself is said before anything about the state of an event that
    /// exists. Others say such things after that, or have none to say.
    pub judged_first: bool,
}

/// Makes [`Command::traits`], [`Command::all_traits`] and [`Command::name`] out of one table:
/// `Command: what is so of it;`.
macro_rules! traits {
    ($($command:ident: $($is:ident)*;)+) => {
        impl Command {
            /// What is so of it whatever the state.
            #[must_use]
            pub fn traits(&self) -> Traits {
                match self {
                    $(Self::$command { .. } => Traits { $($is: true,)* ..Traits::default() },)+
                }
            }

            /// The same of each command there is, by what it is called.
            pub fn all_traits() -> impl Iterator<Item = (&'static str, Traits)> {
                [$((stringify!($command), Traits { $($is: true,)* ..Traits::default() })),+]
                    .into_iter()
            }

            /// What it is called, without whatever it carries.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$command { .. } => stringify!($command),)+
                }
            }
        }
    };
}

traits! {
    CreateEvent:     needs_space waits_for_archive judged_first;
    ChangeSettings:  waits_for_archive judged_first;
    AddPool:         needs_space waits_for_archive judged_first;
    AdjustCapacity:  waits_for_archive judged_first;
    AddSeats:        needs_space waits_for_archive;
    ChangePrice:     waits_for_archive judged_first;
    SetTypes:        waits_for_archive judged_first;
    Block:           waits_for_archive judged_first;
    Unblock:         waits_for_archive judged_first;
    SetChannel:      waits_for_archive judged_first;
    Allot:           waits_for_archive judged_first;
    ReleaseChannel:  waits_for_archive judged_first;
    OpenPrequeue:    waits_for_archive;
    ClosePrequeue:   waits_for_archive;
    OpenSale:        waits_for_archive;
    Pause:           waits_for_archive;
    Resume:          waits_for_archive;
    Close:           waits_for_archive;
    // What is freed must be found in the archive.
    Archive:         waits_for_archive judged_first;

    Join:            begins_business needs_space;
    Leave:           always_let_in;
    See:             ;
    Arrive:          ;

    Hold:            begins_business needs_space;
    HoldBest:        begins_business needs_space;
    // More time was promised to nobody, and asking again and again needs more space each time.
    Extend:          needs_space;
    Release:         always_let_in;
    NamePayer:       begins_payment waits_for_archive;
    BeginPayment:    begins_payment waits_for_archive;
    FailPayment:     always_let_in waits_for_archive judged_first;
    Confirm:         always_let_in waits_for_archive;
    CancelConfirmed: waits_for_archive judged_first;
    CheckIn:         waits_for_archive;

    Claim:           begins_business needs_space waits_for_archive judged_first;
    Declaim:         always_let_in waits_for_archive;
    AdjustClaimed:   needs_space waits_for_archive judged_first;

    RemoveVisitor:   always_let_in waits_for_archive judged_first;
    UnbanVisitor:    waits_for_archive judged_first;

    Tick:            always_let_in;
    Recover:         always_let_in judged_first;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_holds_and_what_is_due_are_answered_before_they_are_archived() {
        let hasty = Command::all_traits().filter(|(_, traits)| !traits.waits_for_archive);
        let hasty: Vec<_> = hasty.map(|(name, _)| name).collect();
        let places = ["Join", "Leave", "See", "Arrive"];
        let holds = ["Hold", "HoldBest", "Extend", "Release"];
        assert_eq!(hasty, [&places[..], &holds, &["Tick", "Recover"]].concat());
    }
}
