//! Sagas: one row a booking, and what happened to it.

use crate::booking::{Booking, Buyer};
use crate::delivery::Message;
use crate::money::{Payment, Refund};
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::money::Currency;
use onrush_core::saga::{Position, Stage, Step};

/// The saga of one booking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saga {
    /// Its own id, as it appears in logs and lists.
    pub saga_id: String,
    /// The booking.
    pub booking: BookingId,
    /// The event.
    pub event: EventId,
    /// Whose.
    pub user: UserId,
    /// What the booking costs, fees included, in minor units.
    pub amount_minor: i64,
    /// In which currency.
    pub currency: Currency,
    /// Where it stands.
    pub step: Step,
    /// When the units were held.
    pub reserve_completed_at: Option<Time>,
    /// When the present payment's money was taken.
    pub payment_completed_at: Option<Time>,
    /// When this row was last written.
    pub updated_at: Time,
    /// Counts the writes, from 1: the optimistic lock.
    pub version: u64,
    /// The present payment.
    pub payment: Option<PaymentId>,
    /// When to look at it again at the latest; `None` if nothing can happen by itself.
    pub next_at: Option<Time>,
    /// How often the present thing to do was tried in vain.
    pub tries: u32,
    /// Why it cannot go on by itself. An operator has to act.
    pub stuck: Option<String>,
}

impl Saga {
    /// The first version of the saga of a booking that is held, with nothing to do by itself.
    #[must_use]
    pub fn of_booking(booking: &Booking) -> Self {
        let Booking { booking, event, user, amount_minor, currency, created_at, .. } = booking;
        let digits = booking.as_str().rsplit_once('.').map_or("", |(_, digits)| digits);
        Self {
            saga_id: format!("saga-{digits}"),
            booking: booking.clone(),
            event: event.clone(),
            user: user.clone(),
            amount_minor: *amount_minor,
            currency: *currency,
            step: Step::ReserveOk,
            reserve_completed_at: Some(*created_at),
            payment_completed_at: None,
            updated_at: *created_at,
            version: 1,
            payment: None,
            next_at: None,
            tries: 0,
            stuck: None,
        }
    }
}

/// Everything about one booking's money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SagaRecord {
    /// The saga.
    pub saga: Saga,
    /// Its payments, oldest first.
    pub payments: Vec<Payment>,
    /// Its refunds, oldest first.
    pub refunds: Vec<Refund>,
}

impl SagaRecord {
    /// The present payment.
    #[must_use]
    pub fn present(&self) -> Option<&Payment> {
        let payment = self.saga.payment.as_ref()?;
        self.payments.iter().find(|other| other.payment == *payment)
    }

    /// Where the saga stands altogether.
    #[must_use]
    pub fn position(&self) -> Position {
        Position { step: self.saga.step, stage: self.present().map(|payment| payment.stage) }
    }

    /// Payments beside the present one from which money was taken or is on its way back.
    pub fn strays(&self) -> impl Iterator<Item = &Payment> {
        self.payments.iter().filter(|payment| {
            self.saga.payment.as_ref() != Some(&payment.payment)
                && matches!(payment.stage, Stage::Captured | Stage::Refunding)
        })
    }
}

/// One write of a saga: everything that it comes to at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The saga as it is from now on; its version is one more than the stored one's.
    pub saga: Saga,
    /// Payments that are new or other than before.
    pub payments: Vec<Payment>,
    /// Refunds that are new or other than before.
    pub refunds: Vec<Refund>,
    /// Who pays, if that came to be known. If another address was, the links that went there are
    /// withdrawn with it.
    pub buyer: Option<Buyer>,
    /// What happened, for people who read the history; empty if it is to have no line of this.
    pub note: String,
    /// What people are to be told.
    pub messages: Vec<Message>,
}

/// One line of a saga's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SagaNote {
    /// The saga's version from then on.
    pub version: u64,
    /// When.
    pub at: Time,
    /// The step from then on.
    pub step: Step,
    /// The present payment's stage from then on.
    pub stage: Option<Stage>,
    /// What happened.
    pub note: String,
}

/// Which sagas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SagaFilter {
    /// Of one event.
    pub event: Option<EventId>,
    /// At one step.
    pub step: Option<Step>,
    /// Only those that are stuck, or only those that are not.
    pub stuck: Option<bool>,
    /// Where the page begins: the `next` of the one before.
    pub after: Option<String>,
}

/// What a saga's history says of a try that the gateway declined.
#[must_use]
pub fn declined(why: &str) -> String {
    format!("{DECLINED}{why}")
}

const DECLINED: &str = "declined: ";

/// What a saga's history says when a card's bank has set the money aside.
pub const SET_ASIDE: &str = "the money is set aside, and none was taken";

/// What a saga's history says while the money is on its way, as that of a bank debit is for days.
pub const UNDER_WAY: &str = "the money is under way";

/// The same where the payment is not wanted any more.
pub const UNDER_WAY_UNWANTED: &str = "the money is under way and cannot be called back yet";

/// Whether a line of a saga's history says that somebody tried to pay: that a try was declined, or
/// that the money was set aside or under way.
#[must_use]
pub fn tells_of_a_try(note: &str) -> bool {
    let said = [SET_ASIDE, UNDER_WAY, UNDER_WAY_UNWANTED];
    note.split("; ").any(|part| part.starts_with(DECLINED) || said.contains(&part))
}
