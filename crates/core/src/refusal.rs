//! Reasons why the rules say no. A refusal is a value: it changed nothing, and its code never
//! changes its meaning.

use crate::hold::HoldStatus;
use crate::ids::{ChannelId, PlaceId, PoolId, SeatId, TypeId};
use crate::payers::PayerBy;
use crate::phase::Phase;
use crate::phrases::{Bounds, Listed, Part, not_open};
use crate::prices::Priced;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// What a refusal is about, in the terms that transports have codes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// What was named does not exist.
    NotFound,
    /// The wish is wrong in itself, whatever the state.
    Invalid,
    /// The state does not allow it.
    Conflict,
    /// Money comes first.
    Unpaid,
    /// This user may not.
    Forbidden,
    /// What was named is over for good.
    Gone,
}

/// The part of a command that a refusal is about, as the API names it: a path such as
/// `room.capacity` or `refunds[0].percent`.
pub type Field = Cow<'static, str>;

/// What never changes about a kind of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The stable code.
    pub code: &'static str,
    /// The stable number. 15 was `INVALID_STATE`, one code for what 50 to 58 say now.
    pub number: u16,
    /// What it is about.
    pub class: Class,
}

/// Makes the enum and all that is told of each of its values out of one table:
/// `Name { fields } = number "CODE" Class when-to-try-again, "text";`, where a text may use the fields.
macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident $({ $($(#[$about:meta])* $field:ident: $kind:ty,)+ })?
        = $number:literal $code:tt $class:ident $again:ident $(($unless:expr))?,
        $text:literal $(, $shown:expr)?;)+) => {
        /// A refused command.
        ///
        /// Where several would apply, the more general one is given: what does not exist before
        /// what is wrong, the event before the room, the room before the stock.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "code")]
        pub enum Refusal {
            $($(#[$doc])* #[serde(rename = $code)] $name $({ $($(#[$about])* $field: $kind,)+ })?,)+
        }

        impl Refusal {
            /// Every kind of refusal there is.
            pub const KINDS: &[Facts] =
                &[$(Facts { code: $code, number: $number, class: Class::$class },)+];

            /// What never changes about it.
            #[must_use]
            pub const fn facts(&self) -> Facts {
                match self {
                    $(Self::$name { .. } => {
                        Facts { code: $code, number: $number, class: Class::$class }
                    })+
                }
            }

            /// Whether the same command may succeed later without anything being mended.
            #[must_use]
            #[expect(unused_variables, reason = "few rows ask for a field")]
            pub fn is_retryable(&self) -> bool {
                match self {
                    $(Self::$name $({ $($field),+ })? => refusals!(@again $again $($unless)?),)+
                }
            }
        }

        impl fmt::Display for Refusal {
            #[expect(unused_variables, reason = "few texts repeat every field")]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $({ $($field),+ })? => write!(f, $text $(, $shown)?),)+
                }
            }
        }
    };
    (@again never) => { false };
    (@again later) => { true };
    (@again unless $over:expr) => { !$over };
}

refusals! {
    /// There is no such event.
    EventNotFound = 1 "EVENT_NOT_FOUND" NotFound never,
        "there is no such event; look it up in the list of events";

    /// The event exists already.
    EventExists = 2 "EVENT_EXISTS" Conflict never,
        "the event exists already; choose another id";

    /// A setting, price, capacity or text is out of range.
    InvalidSettings {
        /// What is wrong, if it is one thing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<Field>,
        /// What is wrong, and what to use.
        why: Cow<'static, str>,
    } = 3 "INVALID_SETTINGS" Invalid never,
        "{why}";

    /// Nothing is asked for, a quantity is 0, or there are too many units.
    InvalidQuantity = 4 "INVALID_QUANTITY" Invalid never,
        "ask for 1 to 1000 units, at least 1 in each line";

    /// The lines contradict themselves.
    InvalidLines {
        /// What is wrong, if it is one thing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<Field>,
        /// What is wrong, and what to use.
        why: Cow<'static, str>,
    } = 5 "INVALID_LINES" Invalid never,
        "{why}";

    /// There is no such pool.
    ZoneNotFound {
        /// The pool.
        pool: PoolId,
    } = 6 "ZONE_NOT_FOUND" NotFound never,
        "there is no pool {pool}; look the pools up under availability";

    /// There is no such seat.
    SeatNotFound {
        /// The seat.
        seat: SeatId,
    } = 7 "SEAT_NOT_FOUND" NotFound never,
        "there is no seat {seat}; look the seats up in the seat map";

    /// The pool exists already.
    PoolExists {
        /// The pool.
        pool: PoolId,
    } = 8 "POOL_EXISTS" Conflict never,
        "pool {pool} exists already; adjust its capacity, or choose another id";

    /// The seat exists already, or is named twice.
    SeatExists {
        /// The seat.
        seat: SeatId,
    } = 9 "SEAT_EXISTS" Conflict never,
        "seat {seat} exists already, or is named twice; name each seat once";

    /// The user has no such place.
    PlaceNotFound = 10 "PLACE_NOT_FOUND" NotFound never,
        "you have no such place in the queue; join first";

    /// The user has no such booking.
    ReservationNotFound = 11 "RESERVATION_NOT_FOUND" NotFound never,
        "you have no such booking; hold something first";

    /// The user has no such claim.
    ClaimNotFound = 12 "CLAIM_NOT_FOUND" NotFound never,
        "you have no such claim; check its id";

    /// The id was used before for something else.
    BookingMismatch = 13 "BOOKING_MISMATCH" Invalid never,
        "this key was used for something else; use a new key for a new wish";

    /// The sale's phase does not allow it.
    EventNotOpen {
        /// The phase.
        phase: Phase,
    } = 14 "EVENT_NOT_OPEN" Conflict unless(*phase == Phase::Closed),
        "{}", not_open(*phase);

    /// This very place is taken already.
    Duplicate {
        /// The place.
        place: PlaceId,
    } = 16 "DUPLICATE" Conflict never,
        "this request was accepted before; its place is in this answer";

    /// The user has as many places as allowed.
    AlreadyInQueue {
        /// Their first one.
        place: PlaceId,
    } = 17 "ALREADY_IN_QUEUE" Conflict never,
        "you are in the queue already; your place is in this answer";

    /// As many people wait as may.
    QueueFull = 18 "QUEUE_FULL" Conflict later,
        "the queue is full; try again in a while";

    /// The pool has fewer free units than asked for.
    InsufficientStock {
        /// The pool.
        pool: PoolId,
        /// Free units.
        free: u32,
    } = 19 "INSUFFICIENT_STOCK" Conflict later,
        "pool {pool} has {free} free; ask for fewer, or try again as holds run out";

    /// Seats are not free.
    SeatUnavailable {
        /// Which, by id.
        seats: Vec<SeatId>,
    } = 20 "SEAT_UNAVAILABLE" Conflict later,
        "not free any more, choose others: {}", Listed(seats);

    /// A claim would exceed the quantity there is.
    ClaimExceedsQuantity {
        /// Free units.
        free: u32,
    } = 21 "CLAIM_EXCEEDS_QUANTITY" Conflict later,
        "only {free} are left to claim; ask for fewer";

    /// The user would hold more units than allowed.
    UserLimitExceeded {
        /// The limit.
        limit: u32,
        /// What they hold, have confirmed, or claimed.
        held: u32,
        /// The pool or category whose units are limited; all of the event's if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<Priced>,
        /// The ticket type whose units are limited; all of the pool's or category's if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ticket_type: Option<TypeId>,
    } = 22 "USER_LIMIT_EXCEEDED" Conflict never,
        "one person may have {limit}{} and you have {held}; ask for fewer",
        Part(of.as_ref(), ticket_type.as_ref());

    /// The claimed count would go below zero.
    ClaimBelowZero {
        /// Units claimed by services.
        claimed: u32,
    } = 23 "CLAIM_BELOW_ZERO" Conflict never,
        "services have claimed only {claimed}; take back at most as many";

    /// The hold was given back.
    AlreadyReleased = 24 "ALREADY_RELEASED" Conflict never,
        "the hold was given back before; hold again";

    /// The booking is confirmed already.
    AlreadyConfirmed = 25 "ALREADY_CONFIRMED" Conflict never,
        "the booking is confirmed already; nothing is left to do";

    /// The hold ran out.
    HoldExpired = 26 "HOLD_EXPIRED" Conflict never,
        "the hold ran out; hold again";

    /// The booking was cancelled, or is not confirmed.
    InvalidStatus {
        /// The status it has.
        booking_status: HoldStatus,
    } = 27 "INVALID_STATUS" Conflict never,
        "not possible for a booking that is {booking_status}";

    /// There is something to pay first.
    PaymentRequired {
        /// How much, in minor units.
        amount_minor: i64,
    } = 28 "PAYMENT_REQUIRED" Unpaid never,
        "pay {amount_minor} minor units first, then confirm with the payment";

    /// The payment is not the one that runs.
    PaymentMismatch = 29 "PAYMENT_MISMATCH" Conflict never,
        "this is not the payment that runs for the booking; look the booking up";

    /// As many payments were tried as may be.
    TooManyAttempts {
        /// The limit.
        limit: u8,
    } = 30 "TOO_MANY_ATTEMPTS" Conflict never,
        "{limit} payments were tried already; release the hold and start again";

    /// The hold was extended as often as may be.
    ExtensionLimit {
        /// The limit.
        limit: u8,
    } = 31 "EXTENSION_LIMIT" Conflict never,
        "a hold can be extended {limit} times, within its longest life; pay now";

    /// A payment runs.
    CannotCancel = 32 "CANNOT_CANCEL" Conflict later,
        "a payment is under way; wait for its end";

    /// The capacity would be below what is held, sold or blocked.
    CapacityBelowCommitted {
        /// Held, sold and blocked units.
        committed: u32,
    } = 33 "CAPACITY_BELOW_COMMITTED" Conflict never,
        "{committed} units are held, sold or blocked; use at least as many";

    /// Fewer units are blocked with this reason than named.
    UnitsNotBlocked = 34 "UNITS_NOT_BLOCKED" Conflict never,
        "fewer units are blocked with this reason; look them up under inventory-status";

    /// The seed is not the one committed to.
    SeedMismatch = 35 "SEED_MISMATCH" Conflict never,
        "the seed's SHA-256 is not the published one; open with the seed committed to";

    /// The booking has no such ticket.
    TicketNotFound {
        /// How many it has.
        tickets: u32,
    } = 36 "TICKET_NOT_FOUND" NotFound never,
        "the booking has tickets 1 to {tickets}; check the number";

    /// The ticket, or one of the booking's, was let in already.
    AlreadyCheckedIn {
        /// When.
        checked_in_at: Time,
    } = 37 "ALREADY_CHECKED_IN" Conflict never,
        "let in already, at {checked_in_at} (milliseconds since 1970); let nobody in again";

    /// The event's rules about refunds do not let the buyer cancel now.
    NotCancellable = 38 "NOT_CANCELLABLE" Conflict never,
        "the organiser's rules do not let you cancel now; ask the organiser";

    /// More would go back than was paid.
    RefundExceedsPaid {
        /// What was paid, in minor units.
        paid_minor: i64,
    } = 39 "REFUND_EXCEEDS_PAID" Conflict never,
        "{paid_minor} minor units were paid; give back 0 to as many";

    /// The organiser has banned the user from the event. It comes before what the room and the
    /// stock would say.
    VisitorBanned = 40 "VISITOR_BANNED" Forbidden never,
        "the organiser has excluded you from this event; ask the organiser";

    /// As many visitors are banned from the event as may be.
    BanListFull {
        /// The limit.
        limit: u32,
    } = 41 "BAN_LIST_FULL" Conflict never,
        "{limit} visitors are banned from this event already; unban some first";

    /// The user has as many bookings and claims that ended within the last day as are remembered.
    TooManyEnded {
        /// The limit.
        limit: u32,
    } = 42 "TOO_MANY_ENDED" Conflict later,
        "you gave back, lost or cancelled {limit} here within a day; keep what you hold, or try \
         again when the oldest is a day old";

    /// The currency, or the gateway, has no such amount.
    RefundBetweenSteps {
        /// What amounts are multiples of, in minor units.
        step_minor: i64,
    } = 45 "REFUND_BETWEEN_STEPS" Conflict never,
        "amounts go in steps of {step_minor} minor units here; give back a multiple of that, or \
         all that was paid";

    /// Less goes back by now than the buyer agreed to.
    RefundLowered {
        /// What goes back now, in minor units.
        refund_minor: i64,
    } = 74 "REFUND_LOWERED" Conflict never,
        "only {refund_minor} minor units go back by now; cancel with that as at_least_minor, or \
         keep the booking";

    /// The event has no waiting room.
    NoWaitingRoom = 50 "NO_WAITING_ROOM" Conflict never,
        "the event has no waiting room: hold at once; to let people in, open the sale itself";

    /// Without a session nothing can be had: the user is not in, or waits.
    NotYourTurn = 51 "NOT_YOUR_TURN" Conflict never,
        "it is not your turn; join the queue, and wait until you are admitted";

    /// The user's session is over.
    SessionOver = 52 "SESSION_OVER" Conflict never,
        "your session is over; pay for what you hold or give it back, then join the queue again";

    /// The booking is free of charge.
    NothingToPay = 53 "NOTHING_TO_PAY" Conflict never,
        "nothing is to be paid; confirm at once";

    /// What is to be changed is fixed by now.
    SettingsFixed {
        /// What, if it is one setting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<Field>,
        /// What, and since when.
        why: Cow<'static, str>,
    } = 54 "SETTINGS_FIXED" Conflict never,
        "{why}";

    /// The event has as many pools, categories or seats as it may.
    EventLimit {
        /// Of what, and how many.
        why: Cow<'static, str>,
    } = 55 "EVENT_LIMIT" Conflict never,
        "{why}";

    /// The sale is there already.
    AlreadyInPhase {
        /// Where.
        why: Cow<'static, str>,
    } = 56 "ALREADY_IN_PHASE" Conflict never,
        "{why}";

    /// Another step of the sale comes first.
    OtherStepFirst {
        /// Which.
        why: Cow<'static, str>,
    } = 57 "OTHER_STEP_FIRST" Conflict never,
        "{why}";

    /// Fewer seats are free than asked for, of those that were asked for.
    TooFewSeats {
        /// How many are free.
        free: u32,
    } = 59 "TOO_FEW_SEATS" Conflict later,
        "{free} such seats are free; ask for fewer, for others, or try again as holds run out";

    /// Enough seats are free, but not side by side.
    NotTogether {
        /// How many are side by side at most.
        longest: u32,
        /// How many are free.
        free: u32,
    } = 60 "NOT_TOGETHER" Conflict later,
        "{free} such seats are free, and at most {longest} side by side; ask for fewer, for others, \
         or let them be apart";

    /// The choice leaves free seats alone, and another one of that size would not.
    LeavesSingleSeat {
        /// The seats that would be left alone, by id, in the plan's order.
        seats: Vec<SeatId>,
        /// The same choice with one group of seats moved, by id, in the plan's order.
        instead: Vec<SeatId>,
    } = 63 "LEAVES_SINGLE_SEAT" Conflict later,
        "your choice leaves a seat alone: {}; choose others, such as those in `instead`",
        Listed(seats);

    /// Fewer wheelchair places are free than asked for, of those that were asked for.
    TooFewAccessible {
        /// How many are free.
        free: u32,
    } = 64 "TOO_FEW_ACCESSIBLE" Conflict later,
        "{free} such wheelchair places are free; ask for fewer, for others, or try again as holds \
         run out";

    /// Companions' seats are asked for without the places they belong to, which are not sold.
    CompanionAlone {
        /// Which, by id.
        seats: Vec<SeatId>,
    } = 65 "COMPANION_ALONE" Invalid never,
        "for who comes with a wheelchair place, ask for that one too: {}", Listed(seats);

    /// There is no such price category.
    CategoryNotFound {
        /// The category.
        category: Box<str>,
    } = 61 "CATEGORY_NOT_FOUND" NotFound never,
        "there is no category {category}; look the categories up under availability";

    /// There is no such section.
    SectionNotFound {
        /// The section.
        section: Box<str>,
    } = 62 "SECTION_NOT_FOUND" NotFound never,
        "there is no section {section}; look the sections up in the seat map";

    /// There is no such channel.
    ChannelNotFound {
        /// The channel.
        channel: ChannelId,
    } = 66 "CHANNEL_NOT_FOUND" NotFound never,
        "there is no channel {channel}; look the channels up under the event's channels";

    /// The channel's stock went elsewhere for good.
    ChannelReleased {
        /// The channel.
        channel: ChannelId,
    } = 67 "CHANNEL_RELEASED" Conflict never,
        "channel {channel} was released; its stock is elsewhere: use that channel, or another id";

    /// More would be held and sold through the channel than may be.
    ChannelQuota {
        /// The channel.
        channel: ChannelId,
        /// Units that may be held and sold through it.
        quota: u32,
        /// Units that are.
        taken: u32,
    } = 68 "CHANNEL_QUOTA" Conflict later,
        "channel {channel} may sell {quota} and has {taken} held or sold; ask for fewer, or for seats \
         outside of it";

    /// The pool or category has no such ticket type.
    TypeNotFound {
        /// The type.
        ticket_type: TypeId,
        /// Of what; where seats are left to the rules, the first category that they may be of.
        of: Priced,
    } = 69 "TYPE_NOT_FOUND" NotFound never,
        "{of} has no ticket type {ticket_type}; look the types up under availability";

    /// Fewer units of a ticket type than a booking must have that has any, or more than it may.
    TypeLimit {
        /// The type.
        ticket_type: TypeId,
        /// Of what.
        of: Priced,
        /// Units at least, unless there are none.
        min: u32,
        /// Units at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<u32>,
        /// Units that there would be.
        asked: u32,
    } = 70 "TYPE_LIMIT" Conflict never,
        "{asked} of ticket type {ticket_type} of {of}: a booking has {}", Bounds(*min, *max);

    /// Bookings of one payer would have more units than allowed. How many they have is not told: the
    /// address or the card may be somebody else's.
    PayerLimitExceeded {
        /// What the payer is known by.
        by: PayerBy,
        /// The limit.
        limit: u32,
    } = 71 "PAYER_LIMIT_EXCEEDED" Conflict never,
        "one {} may pay for {limit} here, and yours would pay for more; hold fewer, or use another",
        by.name();

    /// The event is over and was archived: nothing is kept of it here any more.
    EventArchived {
        /// When.
        archived_at: Time,
    } = 72 "EVENT_ARCHIVED" Gone never,
        "the event is over and was archived; ask the organiser about what you bought";

    /// Somebody still waits, is in the room, or holds something.
    EventInUse {
        /// People waiting.
        waiting: u32,
        /// Slots of the room in use.
        inside: u32,
        /// Units held and not paid for.
        held: u64,
    } = 73 "EVENT_IN_USE" Conflict later,
        "{waiting} wait, {inside} are inside and {held} units are held here still; try again once \
         their time is up";

    /// The draw was promised a public value, and the sale is to open without one.
    PublicValueMissing {
        /// Which was promised.
        public_value_source: Box<str>,
    } = 75 "PUBLIC_VALUE_MISSING" Conflict never,
        "public_value: it is missing, and the draw was promised one; open the sale with it: \
         {public_value_source}";

    /// The event has no draw.
    NoDraw = 58 "NO_DRAW" Conflict never,
        "public_value: only an event with a draw takes one";
}

impl Refusal {
    /// The stable code, as docs/errors.md explains it.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.facts().code
    }

    /// The stable number.
    #[must_use]
    pub const fn number(&self) -> u16 {
        self.facts().number
    }
}
