//! The ledger's rows, made from what the engine says.

use super::gateway::{Order, RefundOrder};
use onrush_core::Time;
use onrush_core::hold::{HoldStatus, HoldTerms};
use onrush_core::ids::{EventId, PaymentId};
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
        refund: refund_id(record, &payment.payment, cause),
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

/// What a refund of this cause is called that is added to those of a record.
///
/// The gateway is asked under these names, and of what it was asked for a ledger that was lost knows
/// nothing: it has to come to the same numbers again. So nothing else moves the numbers of the booking's
/// own: a stray payment, of which that ledger may never hear, has numbers below its own name. What went back
/// otherwise, at the gateway's desk or by hand, is called after the last own one: rows of one moment are
/// read in the order of their names.
fn refund_id(record: &SagaRecord, payment: &PaymentId, cause: RefundCause) -> String {
    let all = record.refunds.iter();
    if cause == RefundCause::Stray {
        let key = |number: usize| format!("refund:{payment}:{number}");
        let asked = all.filter(|row| row.payment == *payment && row.cause == cause).count();
        return key(first_free(record, asked + 1, key));
    }
    let booking = &record.saga.booking;
    let key = |number: usize| format!("refund:{booking}:{number}");
    let is_own = |cause: RefundCause| cause.is_asked_for() && cause != RefundCause::Stray;
    let asked = all.filter(|row| is_own(row.cause)).count();
    let next = first_free(record, asked + 1, key);
    if is_own(cause) {
        return key(next);
    }
    let beside = |number: usize| format!("{}.{number}", key(next - 1));
    beside(first_free(record, 1, beside))
}

/// The first number from this one on under which there is no refund: earlier versions numbered all alike.
fn first_free(record: &SagaRecord, from: usize, id: impl Fn(usize) -> String) -> usize {
    let is_taken = |id: &str| record.refunds.iter().any(|row| row.refund == id);
    let mut number = from;
    while is_taken(&id(number)) {
        number += 1;
    }
    number
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
        known: record
            .refunds
            .iter()
            .filter(|row| row.payment == payment.payment)
            .map(|row| row.refund.clone())
            .collect(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use RefundCause::{AtDesk, ByHand, Cancelled, Stray};
    use onrush_core::ids::BookingId;
    use onrush_core::saga::Step;

    /// A saga with two payments, of which nothing went back.
    fn record() -> SagaRecord {
        let booking: BookingId = "gala.1".parse().expect("an id");
        let saga = Saga {
            saga_id: "saga-1".into(),
            booking,
            event: "gala".parse().expect("an id"),
            user: "ann".parse().expect("an id"),
            amount_minor: 2_500,
            currency: "EUR".parse().expect("a currency"),
            step: Step::Confirmed,
            reserve_completed_at: None,
            payment_completed_at: None,
            updated_at: Time(1),
            version: 1,
            payment: None,
            next_at: None,
            tries: 0,
            stuck: None,
        };
        let payment = |id: &str| {
            let id: PaymentId = id.parse().expect("an id");
            let (capture, then) = (Capture::AtOnce, OnDecline::Keep);
            payment_of_saga(&saga, &id, "bank", capture, then, Time(1))
        };
        let payments = vec![payment("gala.1.000000000001"), payment("gala.1.000000000002")];
        SagaRecord { saga, payments, refunds: Vec::new() }
    }

    /// Adds refunds of these causes; says what they are called. The first payment is a stray.
    fn add(record: &mut SagaRecord, causes: &[RefundCause]) -> Vec<String> {
        let mut added = Vec::new();
        for &cause in causes {
            let payment = &record.payments[usize::from(cause != Stray)];
            let refund = refund_of(record, payment, 500, cause, "", Time(1));
            added.push(refund.refund.clone());
            record.refunds.push(refund);
        }
        added
    }

    #[test]
    fn what_went_back_otherwise_moves_no_number_of_what_is_asked_for() {
        let mut record = record();
        let added = add(&mut record, &[AtDesk, AtDesk, Cancelled, ByHand, AtDesk, Cancelled]);
        let ends = ["0.1", "0.2", "1", "1.1", "1.2", "2"];
        assert_eq!(added, ends.map(|end| format!("refund:gala.1:{end}")));
        assert!(added.is_sorted(), "rows of one moment are read as they were added");
    }

    #[test]
    fn a_stray_payments_refunds_move_no_number_of_the_bookings_own() {
        let mut record = record();
        let added = add(&mut record, &[Stray, AtDesk, Cancelled, Stray, Cancelled]);
        let stray = |number: u32| format!("refund:gala.1.000000000001:{number}");
        let own = |end: &str| format!("refund:gala.1:{end}");
        assert_eq!(added, [stray(1), own("0.1"), own("1"), stray(2), own("2")]);
    }

    #[test]
    fn the_gateway_is_told_which_refunds_of_the_payment_are_written_down() {
        let mut record = record();
        add(&mut record, &[Cancelled, Stray, Cancelled]);
        let order = order_of_refund(&record, &record.payments[1], &record.refunds[2]);
        assert_eq!(order.known, ["refund:gala.1:1", "refund:gala.1:2"]);
        let order = order_of_refund(&record, &record.payments[0], &record.refunds[1]);
        assert_eq!(order.known, ["refund:gala.1.000000000001:1"]);
    }

    #[test]
    fn a_number_that_an_earlier_version_gave_is_not_given_again() {
        let mut record = record();
        add(&mut record, &[AtDesk, Cancelled]);
        for (number, row) in (1..).zip(&mut record.refunds) {
            row.refund = format!("refund:gala.1:{number}");
        }
        let added = add(&mut record, &[AtDesk, Cancelled, ByHand]);
        assert_eq!(added, ["2.1", "3", "3.1"].map(|end| format!("refund:gala.1:{end}")));
    }
}
