//! Why the rules say no. A refusal is a value: it changed nothing, and its code never changes its meaning.

use crate::ids::{PlaceId, PoolId, SeatId};
use crate::phase::Phase;
use crate::time::Time;
use std::fmt;

/// A refused command.
///
/// Listed in order of precedence: where several would apply, the first one is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such event.
    EventNotFound,
    /// The event exists already.
    EventExists,
    /// A setting, price, capacity or text is out of range.
    InvalidSettings {
        /// What is wrong, and what to use.
        why: &'static str,
    },
    /// Nothing is asked for, a quantity is 0, or there are too many units.
    InvalidQuantity,
    /// The lines contradict themselves.
    InvalidLines {
        /// What is wrong, and what to use.
        why: &'static str,
    },
    /// There is no such pool.
    ZoneNotFound {
        /// The pool.
        pool: PoolId,
    },
    /// There is no such seat.
    SeatNotFound {
        /// The seat.
        seat: SeatId,
    },
    /// The pool exists already.
    PoolExists {
        /// The pool.
        pool: PoolId,
    },
    /// The seat exists already, or is named twice.
    SeatExists {
        /// The seat.
        seat: SeatId,
    },
    /// The user has no such place.
    PlaceNotFound,
    /// The user has no such booking.
    ReservationNotFound,
    /// The user has no such claim.
    ClaimNotFound,
    /// The id was used before for something else.
    BookingMismatch,
    /// The sale's phase does not allow it.
    EventNotOpen {
        /// The phase.
        phase: Phase,
    },
    /// The event has no waiting room.
    NoWaitingRoom,
    /// Without a session nothing can be had: the user is not in, or waits.
    NotYourTurn,
    /// The user's session is over.
    SessionOver,
    /// The booking is free of charge.
    NothingToPay,
    /// What is to be changed is fixed by now.
    SettingsFixed {
        /// What, and since when.
        why: &'static str,
    },
    /// The event has as many pools, categories or seats as it may.
    EventLimit {
        /// Of what, and how many.
        why: &'static str,
    },
    /// The sale is there already.
    AlreadyInPhase {
        /// Where.
        why: &'static str,
    },
    /// Another step of the sale comes first.
    OtherStepFirst {
        /// Which.
        why: &'static str,
    },
    /// The event has no draw.
    NoDraw,
    /// This very place is taken already.
    Duplicate {
        /// The place.
        place: PlaceId,
    },
    /// The user has as many places as allowed.
    AlreadyInQueue {
        /// His first one.
        place: PlaceId,
    },
    /// As many people wait as may.
    QueueFull,
    /// The pool has fewer free units than asked for.
    InsufficientStock {
        /// The pool.
        pool: PoolId,
        /// Free units.
        free: u32,
    },
    /// Seats are not free.
    SeatUnavailable {
        /// Which, by id.
        seats: Vec<SeatId>,
    },
    /// A claim would exceed the quantity there is (S2.1: status 0).
    ClaimExceedsQuantity {
        /// Free units.
        free: u32,
    },
    /// The user would hold more units than allowed.
    UserLimitExceeded {
        /// The limit.
        limit: u32,
        /// What he holds, has confirmed, or claimed.
        held: u32,
    },
    /// The claimed count would go below zero (S2.1: status -1).
    ClaimBelowZero {
        /// Units claimed by services.
        claimed: u32,
    },
    /// The hold was given back.
    AlreadyReleased,
    /// The booking is confirmed already.
    AlreadyConfirmed,
    /// The hold ran out.
    HoldExpired,
    /// The booking was cancelled, or is not confirmed.
    InvalidStatus {
        /// The status it has.
        status: &'static str,
    },
    /// There is something to pay first.
    PaymentRequired {
        /// How much, in minor units.
        amount_minor: i64,
    },
    /// The payment is not the one that runs.
    PaymentMismatch,
    /// As many payments were tried as may be.
    TooManyAttempts {
        /// The limit.
        limit: u8,
    },
    /// The hold was extended as often as may be.
    ExtensionLimit {
        /// The limit.
        limit: u8,
    },
    /// A payment runs (S3.9).
    CannotCancel,
    /// The capacity would be below what is held, sold or blocked.
    CapacityBelowCommitted {
        /// Held, sold and blocked units.
        committed: u32,
    },
    /// Fewer units are blocked with this reason than named.
    UnitsNotBlocked,
    /// The seed is not the one committed to.
    SeedMismatch,
    /// The booking has no such ticket.
    TicketNotFound {
        /// How many it has.
        tickets: u32,
    },
    /// The ticket, or one of the booking's, was let in already.
    AlreadyCheckedIn {
        /// When.
        at: Time,
    },
    /// The event's rules about refunds do not let the buyer cancel now.
    NotCancellable,
    /// More would go back than was paid.
    RefundExceedsPaid {
        /// What was paid, in minor units.
        paid_minor: i64,
    },
    /// The organiser has banned the user from the event. It comes before what the room and the stock would say.
    VisitorBanned,
    /// As many visitors are banned from the event as may be.
    BanListFull {
        /// The limit.
        limit: u32,
    },
    /// The user has as many bookings and claims that ended within the last day as are remembered.
    TooManyEnded {
        /// The limit.
        limit: u32,
    },
    /// The currency, or the gateway, has no such amount.
    RefundBetweenSteps {
        /// What amounts are multiples of, in minor units.
        step_minor: i64,
    },
}

/// What a caller can rely on about a refusal.
struct Facts {
    code: &'static str,
    number: u16,
    retryable: bool,
}

impl Refusal {
    fn facts(&self) -> Facts {
        let facts = |number, code| Facts { code, number, retryable: false };
        let again = |number, code| Facts { code, number, retryable: true };
        match self {
            Self::EventNotFound => facts(1, "EVENT_NOT_FOUND"),
            Self::EventExists => facts(2, "EVENT_EXISTS"),
            Self::InvalidSettings { .. } => facts(3, "INVALID_SETTINGS"),
            Self::InvalidQuantity => facts(4, "INVALID_QUANTITY"),
            Self::InvalidLines { .. } => facts(5, "INVALID_LINES"),
            Self::ZoneNotFound { .. } => facts(6, "ZONE_NOT_FOUND"),
            Self::SeatNotFound { .. } => facts(7, "SEAT_NOT_FOUND"),
            Self::PoolExists { .. } => facts(8, "POOL_EXISTS"),
            Self::SeatExists { .. } => facts(9, "SEAT_EXISTS"),
            Self::PlaceNotFound => facts(10, "PLACE_NOT_FOUND"),
            Self::ReservationNotFound => facts(11, "RESERVATION_NOT_FOUND"),
            Self::ClaimNotFound => facts(12, "CLAIM_NOT_FOUND"),
            Self::BookingMismatch => facts(13, "BOOKING_MISMATCH"),
            Self::EventNotOpen { phase } => match phase {
                Phase::Scheduled | Phase::Prequeue | Phase::Open | Phase::Paused => {
                    again(14, "EVENT_NOT_OPEN")
                }
                Phase::Closed => facts(14, "EVENT_NOT_OPEN"),
            },
            Self::Duplicate { .. } => facts(16, "DUPLICATE"),
            Self::AlreadyInQueue { .. } => facts(17, "ALREADY_IN_QUEUE"),
            Self::QueueFull => again(18, "QUEUE_FULL"),
            Self::InsufficientStock { .. } => again(19, "INSUFFICIENT_STOCK"),
            Self::SeatUnavailable { .. } => again(20, "SEAT_UNAVAILABLE"),
            Self::UserLimitExceeded { .. } => facts(22, "USER_LIMIT_EXCEEDED"),
            Self::ClaimExceedsQuantity { .. } => again(21, "CLAIM_EXCEEDS_QUANTITY"),
            Self::ClaimBelowZero { .. } => facts(23, "CLAIM_BELOW_ZERO"),
            Self::AlreadyReleased => facts(24, "ALREADY_RELEASED"),
            Self::AlreadyConfirmed => facts(25, "ALREADY_CONFIRMED"),
            Self::HoldExpired => facts(26, "HOLD_EXPIRED"),
            Self::InvalidStatus { .. } => facts(27, "INVALID_STATUS"),
            Self::PaymentRequired { .. } => facts(28, "PAYMENT_REQUIRED"),
            Self::PaymentMismatch => facts(29, "PAYMENT_MISMATCH"),
            Self::TooManyAttempts { .. } => facts(30, "TOO_MANY_ATTEMPTS"),
            Self::ExtensionLimit { .. } => facts(31, "EXTENSION_LIMIT"),
            Self::CannotCancel => again(32, "CANNOT_CANCEL"),
            Self::CapacityBelowCommitted { .. } => facts(33, "CAPACITY_BELOW_COMMITTED"),
            Self::UnitsNotBlocked => facts(34, "UNITS_NOT_BLOCKED"),
            Self::SeedMismatch => facts(35, "SEED_MISMATCH"),
            Self::TicketNotFound { .. } => facts(36, "TICKET_NOT_FOUND"),
            Self::AlreadyCheckedIn { .. } => facts(37, "ALREADY_CHECKED_IN"),
            Self::NotCancellable => facts(38, "NOT_CANCELLABLE"),
            Self::RefundExceedsPaid { .. } => facts(39, "REFUND_EXCEEDS_PAID"),
            Self::VisitorBanned => facts(40, "VISITOR_BANNED"),
            Self::BanListFull { .. } => facts(41, "BAN_LIST_FULL"),
            Self::TooManyEnded { .. } => again(42, "TOO_MANY_ENDED"),
            // 15 was one code for all of these.
            Self::NoWaitingRoom => facts(50, "NO_WAITING_ROOM"),
            Self::NotYourTurn => facts(51, "NOT_YOUR_TURN"),
            Self::SessionOver => facts(52, "SESSION_OVER"),
            Self::NothingToPay => facts(53, "NOTHING_TO_PAY"),
            Self::SettingsFixed { .. } => facts(54, "SETTINGS_FIXED"),
            Self::EventLimit { .. } => facts(55, "EVENT_LIMIT"),
            Self::AlreadyInPhase { .. } => facts(56, "ALREADY_IN_PHASE"),
            Self::OtherStepFirst { .. } => facts(57, "OTHER_STEP_FIRST"),
            Self::NoDraw => facts(58, "NO_DRAW"),
            Self::RefundBetweenSteps { .. } => facts(45, "REFUND_BETWEEN_STEPS"),
        }
    }

    /// The stable code, as docs/errors.md explains it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.facts().code
    }

    /// The stable number: the order of precedence.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.facts().number
    }

    /// Whether the same command may succeed later without anything being mended.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.facts().retryable
    }

    /// Whether nothing was changed: always so for a refusal, unlike for a failure.
    #[must_use]
    pub const fn has_no_side_effects(&self) -> bool {
        true
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EventNotFound => {
                f.write_str("there is no such event; look it up in the list of events")
            }
            Self::EventExists => f.write_str("the event exists already; choose another id"),
            Self::InvalidSettings { why }
            | Self::InvalidLines { why }
            | Self::SettingsFixed { why }
            | Self::EventLimit { why }
            | Self::AlreadyInPhase { why }
            | Self::OtherStepFirst { why } => f.write_str(why),
            Self::NoWaitingRoom => f.write_str(
                "the event has no waiting room: hold at once; to let people in, open the sale itself",
            ),
            Self::NotYourTurn => {
                f.write_str("it is not your turn; join the queue, and wait until you are admitted")
            }
            Self::SessionOver => f.write_str(
                "your session is over; pay for what you hold or give it back, then join the queue again",
            ),
            Self::NothingToPay => f.write_str("nothing is to be paid; confirm at once"),
            Self::NoDraw => f.write_str("public_value: only an event with a draw takes one"),
            Self::InvalidQuantity => {
                f.write_str("ask for 1 to 1000 units, at least 1 in each line")
            }
            Self::ZoneNotFound { pool } => {
                write!(f, "there is no pool {pool}; look the pools up under availability")
            }
            Self::SeatNotFound { seat } => {
                write!(f, "there is no seat {seat}; look the seats up in the seat map")
            }
            Self::PoolExists { pool } => {
                write!(f, "pool {pool} exists already; adjust its capacity, or choose another id")
            }
            Self::SeatExists { seat } => {
                write!(f, "seat {seat} exists already, or is named twice; name each seat once")
            }
            Self::PlaceNotFound => f.write_str("you have no such place in the queue; join first"),
            Self::ReservationNotFound => {
                f.write_str("you have no such booking; hold something first")
            }
            Self::ClaimNotFound => f.write_str("you have no such claim; check its id"),
            Self::BookingMismatch => {
                f.write_str("this key was used for something else; use a new key for a new wish")
            }
            Self::EventNotOpen { phase } => match phase {
                Phase::Scheduled | Phase::Prequeue => {
                    f.write_str("the sale is not open yet; come back when it opens")
                }
                Phase::Open => f.write_str("the sale is open; this is possible only before"),
                Phase::Paused => f.write_str("the sale is paused; try again when it goes on"),
                Phase::Closed => f.write_str("the sale is over"),
            },
            Self::Duplicate { .. } => {
                f.write_str("this request was accepted before; its place is in this answer")
            }
            Self::AlreadyInQueue { .. } => {
                f.write_str("you are in the queue already; your place is in this answer")
            }
            Self::QueueFull => f.write_str("the queue is full; try again in a while"),
            Self::InsufficientStock { pool, free } => {
                write!(
                    f,
                    "pool {pool} has {free} free; ask for fewer, or try again as holds run out"
                )
            }
            Self::SeatUnavailable { seats } => {
                f.write_str("not free any more, choose others: ")?;
                for (i, seat) in seats.iter().enumerate() {
                    write!(f, "{}{seat}", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Self::UserLimitExceeded { limit, held } => {
                write!(f, "one person may have {limit} and you have {held}; ask for fewer")
            }
            Self::ClaimExceedsQuantity { free } => {
                write!(f, "only {free} are left to claim; ask for fewer")
            }
            Self::ClaimBelowZero { claimed } => {
                write!(f, "services have claimed only {claimed}; take back at most as many")
            }
            Self::AlreadyReleased => f.write_str("the hold was given back before; hold again"),
            Self::AlreadyConfirmed => {
                f.write_str("the booking is confirmed already; nothing is left to do")
            }
            Self::HoldExpired => f.write_str("the hold ran out; hold again"),
            Self::InvalidStatus { status } => {
                write!(f, "not possible for a booking that is {status}")
            }
            Self::PaymentRequired { amount_minor } => {
                write!(f, "pay {amount_minor} minor units first, then confirm with the payment")
            }
            Self::PaymentMismatch => f.write_str(
                "this is not the payment that runs for the booking; look the booking up",
            ),
            Self::TooManyAttempts { limit } => {
                write!(f, "{limit} payments were tried already; release the hold and start again")
            }
            Self::ExtensionLimit { limit } => {
                write!(f, "a hold can be extended {limit} times, within its longest life; pay now")
            }
            Self::CannotCancel => f.write_str("a payment is under way; wait for its end"),
            Self::CapacityBelowCommitted { committed } => {
                write!(f, "{committed} units are held, sold or blocked; use at least as many")
            }
            Self::UnitsNotBlocked => f.write_str(
                "fewer units are blocked with this reason; look them up under availability",
            ),
            Self::SeedMismatch => f.write_str(
                "the seed's SHA-256 is not the published one; open with the seed committed to",
            ),
            Self::TicketNotFound { tickets } => {
                write!(f, "the booking has tickets 1 to {tickets}; check the number")
            }
            Self::AlreadyCheckedIn { at } => {
                write!(f, "let in already, at {at} (milliseconds since 1970); let nobody in again")
            }
            Self::NotCancellable => {
                f.write_str("the organiser's rules do not let you cancel now; ask the organiser")
            }
            Self::RefundExceedsPaid { paid_minor } => {
                write!(f, "{paid_minor} minor units were paid; give back 0 to as many")
            }
            Self::VisitorBanned => {
                f.write_str("the organiser has excluded you from this event; ask the organiser")
            }
            Self::BanListFull { limit } => {
                write!(f, "{limit} visitors are banned from this event already; unban some first")
            }
            Self::TooManyEnded { limit } => write!(
                f,
                "you gave back, lost or cancelled {limit} here within a day; keep what you hold, \
                 or try again when the oldest is a day old"
            ),
            Self::RefundBetweenSteps { step_minor } => write!(
                f,
                "amounts go in steps of {step_minor} minor units here; give back a multiple of \
                 that, or all that was paid"
            ),
        }
    }
}
