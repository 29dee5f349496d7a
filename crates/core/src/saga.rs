//! The booking saga: what its steps are, what is to be done at each, and where each outcome leads.
//!
//! Two functions are all of it. [`todo()`] says what to do next from what is written down, and from
//! nothing else, so that the way forward and recovery after a crash are the same. [`advance`] says
//! where an outcome leads. Both are pure: a driver writes the stage down, does what is to be done,
//! writes the outcome down, and asks again.
//!
//! ```text
//! RESERVE_SENT ─► RESERVE_OK ─► PAYMENT_SENT ─────────────────────────────► PAYMENT_OK ─► CONFIRMED
//!      │            ▲   │         creating ─► open ─► closing ─► closed      captured       │ cancelled
//!      │            │   │            └──────────┴────────┴── money ───────────►│            │
//!      │            └───┼── declined, the hold stays ───────────┘              │ no hold    │
//!      ▼                ▼                                                      ▼            ▼
//!    FAILED ◄───────────┴────────────────────── refunded ◄────────────── COMPENSATING ◄─────┘
//! ```
//!
//! Where cards have a limit, a payment goes from `open` over `authorised` (the money is set aside)
//! and `capturing` (the card may pay) to `captured`, and from each of them to `closing`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a booking's saga stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum Step {
    /// The units were asked for; the answer is not known.
    ReserveSent,
    /// The units are held.
    ReserveOk,
    /// A payment runs.
    PaymentSent,
    /// Money was taken.
    PaymentOk,
    /// The booking is final and paid for.
    Confirmed,
    /// Money goes back.
    Compensating,
    /// It is over: nothing is held, and nothing is owed.
    Failed,
}

/// Where one payment of a booking stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Stage {
    /// It is written down; the gateway may have heard of it or not.
    Creating,
    /// The gateway waits for the buyer.
    Open,
    /// The card's bank has set the money aside, and nobody has looked at the card yet.
    Authorised,
    /// The card was looked at: the gateway is to take the money that is set aside.
    Capturing,
    /// It is not wanted any more: the gateway is to cancel it, unless money was taken already.
    Closing,
    /// The gateway will never take money for it; the engine is to be told.
    Closed,
    /// It ended without money, and everybody knows.
    Void,
    /// Money was taken.
    Captured,
    /// The money is to go back.
    Refunding,
    /// The money went back; the engine is to be told.
    Returned,
    /// The money went back, and everybody knows.
    Refunded,
}

/// What a saga's driver has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Todo {
    /// Nothing: it is over, or somebody else's turn. A deadline or a message wakes the saga.
    Rest,
    /// Ask the engine what became of the hold.
    AskHold,
    /// Ask the engine whether the hold still waits for this payment, and if so the gateway what became of it.
    Watch,
    /// Have the gateway create the payment, under its own key.
    Create,
    /// Ask the gateway which card it is, and the engine whether that card may pay.
    NameCard,
    /// Have the gateway take the money that is set aside, if the hold still waits for it.
    Capture,
    /// Have the gateway cancel the payment.
    Cancel,
    /// Tell the engine that the payment failed.
    TellFailed,
    /// Have the engine confirm the hold.
    Confirm,
    /// Have the gateway give the money back, under the refund's own key.
    Refund,
    /// Tell the engine that the money went back.
    TellRefunded,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The engine holds the units.
    Held,
    /// The engine does not hold them. Nothing is given back, because nothing was taken.
    NotHeld,
    /// The buyer wants to pay: a payment is written down.
    PaymentWanted,
    /// The gateway has the payment and waits for the buyer.
    PaymentOpen,
    /// The card's bank has set the money aside, and waits to be told to hand it over.
    MoneyAuthorised,
    /// The card may pay.
    CardNamed,
    /// The gateway declined, or will not have the payment, or the card may not pay, or the hold
    /// does not wait for the payment any more.
    PaymentUnwanted,
    /// The gateway will never take money for this payment.
    PaymentClosed,
    /// The gateway took money, whenever that comes to be known.
    MoneyTaken,
    /// The engine knows that the payment failed, and the hold lives on for another.
    HoldKept,
    /// The engine knows that the payment failed, and there is no hold any more.
    HoldGone,
    /// The engine confirmed the booking with this payment.
    HoldConfirmed,
    /// The engine will never confirm the booking with this payment.
    ConfirmRefused,
    /// A confirmed booking was taken back, and money goes back for it.
    Cancelled,
    /// A confirmed booking was taken back, and no money goes back.
    CancelledUnrefunded,
    /// The gateway gave the money back.
    MoneyReturned,
    /// The engine knows that the money went back.
    Acknowledged,
}

/// Where a saga stands altogether: its step, and the stage of its present payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The step.
    pub step: Step,
    /// The present payment's stage, if there ever was a payment.
    pub stage: Option<Stage>,
}

/// An outcome that cannot come at this position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Illegal {
    /// Where the saga stood.
    pub position: Position,
    /// What was said to have happened.
    pub outcome: Outcome,
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { position: Position { step, stage }, outcome } = self;
        write!(f, "{outcome:?} cannot happen at {step:?} with a payment at {stage:?}")
    }
}

impl std::error::Error for Illegal {}

/// What to do next at `position`.
#[must_use]
pub fn todo(position: Position) -> Todo {
    match (position.step, position.stage) {
        (Step::ReserveSent | Step::ReserveOk | Step::Confirmed, _) => Todo::AskHold,
        (Step::PaymentSent, Some(Stage::Creating)) => Todo::Create,
        (Step::PaymentSent, Some(Stage::Open)) => Todo::Watch,
        (Step::PaymentSent, Some(Stage::Authorised)) => Todo::NameCard,
        (Step::PaymentSent, Some(Stage::Capturing)) => Todo::Capture,
        (Step::PaymentSent, Some(Stage::Closing)) => Todo::Cancel,
        (Step::PaymentSent, Some(Stage::Closed)) => Todo::TellFailed,
        (Step::PaymentOk, Some(Stage::Captured)) => Todo::Confirm,
        (Step::Compensating, Some(Stage::Refunding)) => Todo::Refund,
        (Step::Compensating, Some(Stage::Returned)) => Todo::TellRefunded,
        (Step::Failed | Step::PaymentSent | Step::PaymentOk | Step::Compensating, _) => Todo::Rest,
    }
}

/// Where `outcome` leads from `position`. What is known already leads nowhere: an outcome may be told twice.
///
/// # Errors
/// [`Illegal`] if it cannot happen there; then nothing changes.
pub fn advance(position: Position, outcome: Outcome) -> Result<Position, Illegal> {
    use Outcome as O;
    use Stage as G;
    use Step as S;
    let at = |step, stage| Ok(Position { step, stage: Some(stage) });
    let step = |step| Ok(Position { step, stage: position.stage });
    let stay = Ok(position);
    match (position.step, position.stage, outcome) {
        (S::ReserveSent, None, O::Held) => step(S::ReserveOk),
        (S::ReserveOk, _, O::Held) => stay,
        (S::ReserveSent | S::ReserveOk, _, O::NotHeld) => step(S::Failed),
        (S::Failed, _, O::NotHeld) => stay,

        (S::ReserveOk, None | Some(G::Void), O::PaymentWanted) => at(S::PaymentSent, G::Creating),
        // The engine let another payment begin, so it knows of the end of this one.
        (S::PaymentSent, Some(G::Closed), O::PaymentWanted) => at(S::PaymentSent, G::Creating),
        (S::PaymentSent, Some(_), O::PaymentWanted) => stay,
        (S::PaymentSent, Some(G::Creating | G::Open), O::PaymentOpen) => {
            at(S::PaymentSent, G::Open)
        }
        (
            S::PaymentSent,
            Some(G::Authorised | G::Capturing | G::Closing | G::Closed),
            O::PaymentOpen,
        ) => stay,
        (S::PaymentSent, Some(G::Creating | G::Open), O::MoneyAuthorised) => {
            at(S::PaymentSent, G::Authorised)
        }
        // What is not wanted any more is not taken because it could be.
        (
            S::PaymentSent,
            Some(G::Authorised | G::Capturing | G::Closing | G::Closed),
            O::MoneyAuthorised,
        ) => stay,
        (S::PaymentSent, Some(G::Authorised), O::CardNamed) => at(S::PaymentSent, G::Capturing),
        (S::PaymentSent, Some(G::Capturing), O::CardNamed) => stay,
        (
            S::PaymentSent,
            Some(G::Creating | G::Open | G::Authorised | G::Capturing | G::Closing),
            O::PaymentUnwanted,
        ) => at(S::PaymentSent, G::Closing),
        (
            S::PaymentSent,
            Some(G::Creating | G::Open | G::Authorised | G::Capturing | G::Closing | G::Closed),
            O::PaymentClosed,
        ) => at(S::PaymentSent, G::Closed),
        // Also of a payment that the gateway had called cancelled: money counts more than words.
        (
            S::PaymentSent,
            Some(G::Creating | G::Open | G::Authorised | G::Capturing | G::Closing | G::Closed),
            O::MoneyTaken,
        ) => at(S::PaymentOk, G::Captured),
        (S::PaymentSent, Some(G::Closed), O::PaymentUnwanted) => stay,
        (S::PaymentSent, Some(G::Closed), O::HoldKept) => at(S::ReserveOk, G::Void),
        (S::PaymentSent, Some(G::Closed), O::HoldGone) => at(S::Failed, G::Void),
        (S::ReserveOk, Some(G::Void), O::HoldKept) | (S::Failed, Some(G::Void), O::HoldGone) => {
            stay
        }
        // What the gateway said before the end of a payment may be told again after it. A decline
        // that comes after the money was taken changes nothing either: the gateway's money decides.
        (
            S::ReserveOk | S::Confirmed | S::Failed,
            Some(G::Void),
            O::PaymentOpen | O::MoneyAuthorised | O::PaymentUnwanted | O::PaymentClosed,
        ) => stay,
        (
            S::PaymentOk | S::Confirmed | S::Compensating | S::Failed,
            Some(G::Captured | G::Refunding | G::Returned | G::Refunded),
            O::MoneyTaken | O::PaymentOpen | O::MoneyAuthorised | O::PaymentUnwanted,
        ) => stay,

        (S::PaymentOk, Some(G::Captured), O::HoldConfirmed) => step(S::Confirmed),
        (S::PaymentOk, Some(G::Captured), O::ConfirmRefused) => at(S::Compensating, G::Refunding),
        (S::Compensating, Some(G::Refunding | G::Returned), O::ConfirmRefused)
        | (S::Failed, Some(G::Refunded), O::ConfirmRefused) => stay,
        (S::Confirmed, _, O::HoldConfirmed | O::Held) => stay,
        // The box office took the money, or nothing was to be paid.
        (S::ReserveSent | S::ReserveOk, _, O::HoldConfirmed) => step(S::Confirmed),
        (S::Confirmed, Some(G::Captured), O::Cancelled) => at(S::Compensating, G::Refunding),
        // What the box office took goes back there.
        (S::Confirmed, None | Some(G::Void), O::Cancelled) => step(S::Failed),
        (S::Confirmed, _, O::CancelledUnrefunded) => step(S::Failed),
        // With money taken this would end the saga without saying whether it goes back: an operator has to.
        (S::Confirmed, None | Some(G::Void), O::NotHeld) => step(S::Failed),
        (S::Compensating, Some(G::Refunding | G::Returned), O::Cancelled)
        | (S::Failed, None | Some(G::Void | G::Refunded), O::Cancelled)
        | (S::Failed, None | Some(G::Void | G::Captured), O::CancelledUnrefunded) => stay,

        (S::Compensating, Some(G::Refunding | G::Returned), O::MoneyReturned) => {
            at(S::Compensating, G::Returned)
        }
        (S::Compensating, Some(G::Returned), O::Acknowledged) => at(S::Failed, G::Refunded),
        (S::Failed, Some(G::Refunded), O::MoneyReturned | O::Acknowledged) => stay,

        // All by name: whoever adds a step, a stage or an outcome is asked where it leads.
        (
            S::ReserveSent
            | S::ReserveOk
            | S::PaymentSent
            | S::PaymentOk
            | S::Confirmed
            | S::Compensating
            | S::Failed,
            None
            | Some(
                G::Creating
                | G::Open
                | G::Authorised
                | G::Capturing
                | G::Closing
                | G::Closed
                | G::Void
                | G::Captured
                | G::Refunding
                | G::Returned
                | G::Refunded,
            ),
            O::Held
            | O::NotHeld
            | O::PaymentWanted
            | O::PaymentOpen
            | O::MoneyAuthorised
            | O::CardNamed
            | O::PaymentUnwanted
            | O::PaymentClosed
            | O::MoneyTaken
            | O::HoldKept
            | O::HoldGone
            | O::HoldConfirmed
            | O::ConfirmRefused
            | O::Cancelled
            | O::CancelledUnrefunded
            | O::MoneyReturned
            | O::Acknowledged,
        ) => Err(Illegal { position, outcome }),
    }
}
