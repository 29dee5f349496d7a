//! What the ledger knows, as the organiser sees it: bookings with their buyers, sagas, payments and refunds.

use crate::http::problem::{Code, Problem};
use crate::http::shapes::booking::{BookingStatus, LinesBody};
use crate::http::shapes::payment::BuyerBody;
use crate::json::ids::{CurrencyText, EventIdText, IdText, TimeMs};
use onrush_core::Time;
use onrush_core::booking::{Stage, Step};
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::lines::Lines;
use onrush_core::money::Currency;
use onrush_ledger::booking::{Booking, Buyer};
use onrush_ledger::money::{OnDecline, Payment, Refund, RefundStatus};
use onrush_ledger::saga::{File, Saga, SagaNote};
use serde::Serialize;
use utoipa::ToSchema;

/// How many rows a page has: 1 to 1000, and 100 if nothing is said.
///
/// # Errors
/// `INVALID_QUERY`.
pub fn page_size(limit: Option<usize>) -> Result<usize, Problem> {
    match limit.unwrap_or(100) {
        limit @ 1..=1_000 => Ok(limit),
        _ => Err(Problem::new(Code::InvalidQuery, "limit: use 1 to 1000")),
    }
}

/// A page of bookings, the latest first.
#[derive(Serialize, ToSchema)]
pub struct LedgerBookings {
    /// The bookings.
    pub bookings: Vec<LedgerBooking>,
    /// What to ask for next as `after`; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

/// A booking, as the feed told of it, and who pays for it.
#[derive(Serialize, ToSchema)]
pub struct LedgerBooking {
    #[schema(value_type = IdText)]
    booking: BookingId,
    #[schema(value_type = EventIdText)]
    event: EventId,
    /// Whose.
    #[schema(value_type = IdText)]
    user: UserId,
    #[schema(value_type = BookingStatus)]
    status: String,
    #[schema(value_type = LinesBody)]
    lines: Lines,
    /// What it costs, fees included, in minor units.
    amount_minor: i64,
    /// How much of that is fees.
    fee_minor: i64,
    #[schema(value_type = CurrencyText)]
    currency: Currency,
    /// The payment that runs or succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    payment: Option<PaymentId>,
    /// What a cancellation gave back, in minor units.
    refund_minor: i64,
    /// Tickets that were let in.
    checked_in: u32,
    /// When it was held.
    #[schema(value_type = TimeMs)]
    created_at: Time,
    /// When it last changed.
    #[schema(value_type = TimeMs)]
    updated_at: Time,
    /// Who pays, unless nobody said so or it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    buyer: Option<BuyerBody>,
}

impl LedgerBooking {
    /// What the organiser is shown.
    #[must_use]
    pub fn new(row: Booking, buyer: Option<Buyer>) -> Self {
        Self {
            booking: row.booking,
            event: row.event,
            user: row.user,
            status: row.status,
            lines: row.lines,
            amount_minor: row.amount_minor,
            fee_minor: row.fee_minor,
            currency: row.currency,
            payment: row.payment,
            refund_minor: row.refund_minor,
            checked_in: row.checked_in,
            created_at: row.created_at,
            updated_at: row.updated_at,
            buyer: buyer.map(|Buyer { name, email, language }| BuyerBody { name, email, language }),
        }
    }
}

/// A page of sagas, the longest unchanged first.
#[derive(Serialize, ToSchema)]
pub struct Sagas {
    /// The sagas.
    pub sagas: Vec<SagaBody>,
    /// What to ask for next as `after`; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

/// The saga of one booking (S1.3).
#[derive(Serialize, ToSchema)]
#[schema(as = Saga)]
pub struct SagaBody {
    saga_id: String,
    #[schema(value_type = IdText)]
    booking: BookingId,
    #[schema(value_type = EventIdText)]
    event: EventId,
    #[schema(value_type = IdText)]
    user: UserId,
    amount_minor: i64,
    #[schema(value_type = CurrencyText)]
    currency: Currency,
    #[schema(value_type = StepName)]
    current_step: Step,
    /// When the units were held.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    reserve_completed_at: Option<Time>,
    /// When the money was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    payment_completed_at: Option<Time>,
    #[schema(value_type = TimeMs)]
    updated_at: Time,
    /// Counts its writes.
    version: u64,
    /// The present payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    payment: Option<PaymentId>,
    /// When it is looked at again at the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    next_at: Option<Time>,
    /// How often the present thing to do was tried in vain.
    tries: u32,
    /// Why it waits for an operator; missing if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    stuck: Option<String>,
}

impl From<Saga> for SagaBody {
    fn from(row: Saga) -> Self {
        Self {
            saga_id: row.saga_id,
            booking: row.booking,
            event: row.event,
            user: row.user,
            amount_minor: row.amount_minor,
            currency: row.currency,
            current_step: row.step,
            reserve_completed_at: row.reserve_completed_at,
            payment_completed_at: row.payment_completed_at,
            updated_at: row.updated_at,
            version: row.version,
            payment: row.payment,
            next_at: row.next_at,
            tries: row.tries,
            stuck: row.stuck,
        }
    }
}

/// Everything about one booking's money.
#[derive(Serialize, ToSchema)]
pub struct SagaFile {
    /// The saga.
    saga: SagaBody,
    /// Its payments, oldest first.
    payments: Vec<LedgerPayment>,
    /// Its refunds, oldest first.
    refunds: Vec<LedgerRefund>,
    /// What happened, oldest first.
    history: Vec<SagaNoteBody>,
}

impl SagaFile {
    /// What the organiser is shown.
    #[must_use]
    pub fn new(file: File, history: Vec<SagaNote>) -> Self {
        Self {
            saga: file.saga.into(),
            payments: file.payments.into_iter().map(Into::into).collect(),
            refunds: file.refunds.into_iter().map(Into::into).collect(),
            history: history.into_iter().map(Into::into).collect(),
        }
    }
}

/// One line of a saga's history.
#[derive(Serialize, ToSchema)]
pub struct SagaNoteBody {
    /// The saga's version from then on.
    version: u64,
    #[schema(value_type = TimeMs)]
    at: Time,
    /// The step from then on.
    #[schema(value_type = StepName)]
    step: Step,
    /// The present payment's stage from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StageName>, nullable = false)]
    stage: Option<Stage>,
    /// What happened.
    note: String,
}

impl From<SagaNote> for SagaNoteBody {
    fn from(row: SagaNote) -> Self {
        let SagaNote { version, at, step, stage, note } = row;
        Self { version, at, step, stage, note }
    }
}

/// A page of payments, the latest first.
#[derive(Serialize, ToSchema)]
pub struct LedgerPayments {
    /// The payments.
    pub payments: Vec<LedgerPayment>,
    /// What to ask for next as `after`; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

/// A payment, without what only its buyer may see.
#[derive(Serialize, ToSchema)]
pub struct LedgerPayment {
    #[schema(value_type = IdText)]
    payment: PaymentId,
    #[schema(value_type = IdText)]
    booking: BookingId,
    /// Who takes the money.
    gateway: String,
    /// What the gateway calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reference: Option<String>,
    /// What is to be paid, in minor units.
    amount_minor: i64,
    #[schema(value_type = CurrencyText)]
    currency: Currency,
    #[schema(value_type = StageName)]
    stage: Stage,
    /// What was taken, in minor units.
    captured_minor: i64,
    /// Why it failed, or what is odd about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    why: Option<String>,
    /// Whether the gateway contradicted what was asked for.
    flagged: bool,
    /// `keep` or `release`: what a decline does to the hold.
    #[schema(value_type = OnDeclineName)]
    on_decline: OnDecline,
    #[schema(value_type = TimeMs)]
    created_at: Time,
    #[schema(value_type = TimeMs)]
    updated_at: Time,
}

impl From<Payment> for LedgerPayment {
    fn from(row: Payment) -> Self {
        Self {
            payment: row.payment,
            booking: row.booking,
            gateway: row.gateway,
            reference: row.reference,
            amount_minor: row.amount_minor,
            currency: row.currency,
            stage: row.stage,
            captured_minor: row.captured_minor,
            why: row.why,
            flagged: row.flagged,
            on_decline: row.on_decline,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// A page of refunds, the latest first.
#[derive(Serialize, ToSchema)]
pub struct LedgerRefunds {
    /// The refunds.
    pub refunds: Vec<LedgerRefund>,
    /// What to ask for next as `after`; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

/// Money that goes back.
#[derive(Serialize, ToSchema)]
pub struct LedgerRefund {
    /// `refund:<booking>:<n>`: also its key at the gateway.
    refund: String,
    #[schema(value_type = IdText)]
    booking: BookingId,
    #[schema(value_type = IdText)]
    payment: PaymentId,
    /// How much, in minor units.
    amount_minor: i64,
    #[schema(value_type = CurrencyText)]
    currency: Currency,
    #[schema(value_type = RefundStatusName)]
    status: &'static str,
    /// Why it is made, or why it failed.
    why: String,
    /// What the gateway calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reference: Option<String>,
    #[schema(value_type = TimeMs)]
    created_at: Time,
    #[schema(value_type = TimeMs)]
    updated_at: Time,
}

impl From<Refund> for LedgerRefund {
    fn from(row: Refund) -> Self {
        Self {
            refund: row.refund,
            booking: row.booking,
            payment: row.payment,
            amount_minor: row.amount_minor,
            currency: row.currency,
            status: match row.status {
                RefundStatus::Requested => "requested",
                RefundStatus::Sent => "sent",
                RefundStatus::Done => "done",
                RefundStatus::Failed => "failed",
            },
            why: row.why,
            reference: row.reference,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// Where a saga stands (S1.3).
#[derive(ToSchema)]
#[schema(as = SagaStep, rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StepName {
    /// The units were asked for.
    ReserveSent,
    /// The units are held.
    ReserveOk,
    /// A payment runs.
    PaymentSent,
    /// Money was taken.
    PaymentOk,
    /// Final and paid for.
    Confirmed,
    /// Money goes back.
    Compensating,
    /// Over: nothing is held, and nothing is owed.
    Failed,
}

/// Where a payment stands.
#[derive(ToSchema)]
#[schema(as = PaymentStage, rename_all = "snake_case")]
pub enum StageName {
    /// Written down; the gateway may have heard of it or not.
    Creating,
    /// The gateway waits for the buyer.
    Open,
    /// Not wanted any more: the gateway is to cancel it.
    Closing,
    /// The gateway will never take money for it.
    Closed,
    /// Ended without money.
    Void,
    /// Money was taken.
    Captured,
    /// The money is to go back.
    Refunding,
    /// The money went back; the engine is to be told.
    Returned,
    /// The money went back.
    Refunded,
}

/// How far a refund is.
#[derive(ToSchema)]
#[schema(as = RefundStatus, rename_all = "snake_case")]
pub enum RefundStatusName {
    /// Written down; the gateway may have heard of it or not.
    Requested,
    /// The gateway works on it.
    Sent,
    /// The money went back.
    Done,
    /// The gateway will not do it.
    Failed,
}

/// What a declined payment does to its hold.
#[derive(ToSchema)]
#[schema(as = OnDecline, rename_all = "snake_case")]
pub enum OnDeclineName {
    /// The hold stays for another attempt.
    Keep,
    /// The hold is given back and the session ends (S3.7).
    Release,
}
