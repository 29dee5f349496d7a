//! Sagas, as the organiser sees them.

use crate::http::payments::shapes::{LedgerPayment, LedgerRefund, StageName};
use crate::http::shapes::page::page;
use crate::json::ids::{CurrencyText, EventIdText, IdText, TimeMs};
use crate::json::words::words;
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::money::Currency;
use onrush_core::saga::{Stage, Step};
use onrush_ledger::saga::{Saga, SagaNote, SagaRecord};
use serde::Serialize;
use utoipa::ToSchema;

page! {
    /// A page of sagas, the longest unchanged first.
    Sagas,
    /// The sagas.
    sagas: SagaBody
}

/// The saga of one booking.
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
    pub fn new(record: SagaRecord, history: Vec<SagaNote>) -> Self {
        Self {
            saga: record.saga.into(),
            payments: record.payments.into_iter().map(Into::into).collect(),
            refunds: record.refunds.into_iter().map(Into::into).collect(),
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

words!(
    /// Where a saga stands.
    StepName, "SagaStep", Step
);
