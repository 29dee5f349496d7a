//! The ledger's rows, made from what the engine says.

use super::gateway::{Order, RefundOrder};
use onrush_core::Time;
use onrush_core::hold::{HoldStatus, HoldTerms};
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::money::Currency;
use onrush_core::saga::Stage;
use onrush_ledger::booking::Booking;
use onrush_ledger::money::{Capture, OnDecline, Payment, Refund, RefundCause, RefundStatus};
use onrush_ledger::saga::{Saga, SagaRecord};

/// After the end of a hold, how long to wait for the feed to tell of it before asking.
pub(super) const AFTER_HOLD_MS: i64 = 10_000;

/// The ledger's row of a hold that was just placed.
pub(super) fn booking_of_hold(
    event: &EventId,
    terms: &HoldTerms,
    currency: Currency,
    at: Time,
) -> Booking {
    Booking {
        booking: terms.booking.clone(),
        event: event.clone(),
        user: terms.user.clone(),
        status: HoldStatus::Held,
        lines: terms.lines.clone(),
        prices_minor: terms.prices_minor.clone(),
        types: terms.types.clone(),
        amount_minor: terms.amount_minor,
        fee_minor: terms.fee_minor,
        currency,
        payment: None,
        refund_minor: 0,
        checked_in: 0,
        created_at: terms.created_at,
        confirmed_at: None,
        updated_at: at,
    }
}

/// A payment that was just begun.
pub(super) fn payment_of_saga(
    saga: &Saga,
    payment: &PaymentId,
    gateway: &str,
    capture: Capture,
    on_decline: OnDecline,
    at: Time,
) -> Payment {
    Payment {
        payment: payment.clone(),
        booking: saga.booking.clone(),
        gateway: gateway.to_owned(),
        reference: None,
        url: None,
        client_secret: None,
        amount_minor: saga.amount_minor,
        currency: saga.currency,
        stage: Stage::Creating,
        capture,
        captured_minor: 0,
        why: None,
        flagged: false,
        on_decline,
        created_at: at,
        updated_at: at,
    }
}

/// Money that is to go back for a payment.
pub(super) fn refund_of(
    record: &SagaRecord,
    payment: &Payment,
    amount_minor: i64,
    cause: RefundCause,
    why: &str,
    at: Time,
) -> Refund {
    Refund {
        refund: refund_key(&record.saga.booking, record.refunds.len() + 1),
        booking: record.saga.booking.clone(),
        payment: payment.payment.clone(),
        amount_minor,
        currency: payment.currency,
        status: RefundStatus::Requested,
        cause,
        decided_by: None,
        why: why.to_owned(),
        reference: None,
        created_at: at,
        updated_at: at,
    }
}

fn refund_key(booking: &BookingId, number: usize) -> String {
    format!("refund:{booking}:{number}")
}

/// What the gateway is told about a refund.
pub(super) fn order_of_refund(
    record: &SagaRecord,
    payment: &Payment,
    refund: &Refund,
) -> RefundOrder {
    RefundOrder {
        refund: refund.refund.clone(),
        payment: order_of(&record.saga, payment),
        amount_minor: refund.amount_minor,
        written_at_s: refund.created_at.0.div_euclid(1_000),
        reference: refund.reference.clone(),
    }
}

/// What the gateway is told about a payment.
pub(super) fn order_of(saga: &Saga, payment: &Payment) -> Order {
    Order {
        payment: payment.payment.clone(),
        booking: saga.booking.clone(),
        event: saga.event.clone(),
        amount_minor: payment.amount_minor,
        currency: payment.currency,
        capture: payment.capture,
        // Whoever may create a payment knows a better one.
        description: saga.event.to_string(),
        reference: payment.reference.clone(),
        written_at_s: payment.created_at.0.div_euclid(1_000),
    }
}
