//! Money of a payment that is not the booking's present one, and a gateway that will not give it back.

use crate::shop::Shop;
use crate::stuck::stray_that_is_stuck;
use crate::till::{Till, message, send};
use crate::webhooks::{AMOUNT_MINOR, shop_with};
use onrush_core::saga::{Stage, Step};
use onrush_ledger::LedgerError;
use onrush_ledger::money::RefundStatus;
use onrush_ledger::saga::{SagaRecord, Transition};
use onrush_saga::Action;
use serde_json::json;

/// Has the gateway give money back, but for the stray payment of a booking.
async fn refuse_the_strays(shop: &Shop, till: &Till, booking: &str) {
    let record = shop.saga_record(booking).await;
    let stray = record.strays().next().expect("there is one");
    till.refuse_refunds_of(stray.payment.as_str());
}

/// Whether the booking's own money went back.
fn own_is_back(record: &SagaRecord) -> bool {
    let own = |payment: &str| record.present().is_some_and(|row| row.payment.as_str() == payment);
    let done = |status: RefundStatus| status == RefundStatus::Done;
    record.refunds.iter().any(|row| own(row.payment.as_str()) && done(row.status))
}

/// The booking is over, and what became of the stray's money is still somebody's business, soon.
async fn until_over_and_stuck(shop: &Shop, booking: &str) -> SagaRecord {
    shop.until_step(booking, Step::Failed).await;
    shop.clock.advance_ms(31_000);
    let record = shop.until_record(booking, |record| record.saga.stuck.is_some()).await;
    assert_eq!((record.saga.step, record.strays().count()), (Step::Failed, 1));
    record
}

#[tokio::test]
async fn a_cancelled_booking_is_refunded_although_a_strays_refund_is_refused() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let booking = stray_that_is_stuck(&shop, &till).await;
    refuse_the_strays(&shop, &till, &booking).await;
    shop.cancel(&booking).await.expect(200);
    shop.until_record(&booking, own_is_back).await;
    until_over_and_stuck(&shop, &booking).await;
    assert_eq!(till.totals(), (2 * AMOUNT_MINOR, AMOUNT_MINOR));
}

#[tokio::test]
async fn a_cancellation_does_not_wait_for_a_strays_refund_that_is_asked_for_again() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let booking = stray_that_is_stuck(&shop, &till).await;
    till.down(true);
    shop.act(&booking, Action::Retry).await.expect("it is stuck");
    shop.cancel(&booking).await.expect(200);
    let asked_for = |record: &SagaRecord| record.saga.step == Step::Compensating;
    shop.until_tried(&booking, asked_for).await;
    refuse_the_strays(&shop, &till, &booking).await;
    till.down(false);
    shop.until_tried(&booking, own_is_back).await;
    until_over_and_stuck(&shop, &booking).await;
    assert_eq!(till.totals(), (2 * AMOUNT_MINOR, AMOUNT_MINOR));
}

#[tokio::test]
async fn a_payment_ends_with_its_hold_although_a_strays_refund_is_refused() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let first = guest.pay(&booking, "p").await.expect(201).json();
    send(&shop, &message("payment.declined", &first)).await.expect(200);
    shop.clock.advance_ms(1);
    let second = guest.pay(&booking, "p2").await.expect(201).text("payment");
    till.refuse_refunds(true);
    till.capture(first["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &first)).await.expect(200);
    shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    shop.clock.advance_ms(3_600_000);
    guest.until_status(&booking, "expired").await;
    let record = until_over_and_stuck(&shop, &booking).await;
    assert_eq!(record.present().map(|row| row.stage), Some(Stage::Void));
    assert_eq!(till.status_of(&second), "cancelled");
}

#[tokio::test]
async fn a_booking_is_paid_for_although_money_of_an_earlier_payment_cannot_go_back() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let first = guest.pay(&booking, "p").await.expect(201).json();
    send(&shop, &message("payment.declined", &first)).await.expect(200);
    shop.clock.advance_ms(1);
    till.refuse_refunds(true);
    till.capture(first["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &first)).await.expect(200);
    shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    assert_eq!(guest.booking(&booking).await["status"], "held");

    let second = guest.pay(&booking, "p2").await.expect(201).json();
    assert_eq!(shop.stuck().await, [""; 0], "nobody is waited for while it is paid for");
    till.capture(second["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &second)).await.expect(200);
    shop.until_step(&booking, Step::Confirmed).await;
    shop.clock.advance_ms(31_000);
    shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    assert_eq!(shop.stuck().await, [booking.as_str()]);
    assert_eq!(shop.saga_record(&booking).await.strays().count(), 1);
    assert_eq!(till.totals(), (2 * AMOUNT_MINOR, 0));
}

/// The gateway says that it made the refund after all which it had refused.
async fn made_after_all(shop: &Shop, booking: &str) {
    let record = shop.saga_record(booking).await;
    let failed = record.refunds.iter().find(|row| row.status == RefundStatus::Failed);
    let refund = failed.expect("there is one");
    let payment = json!({"payment": refund.payment, "booking": booking,
        "amount_minor": refund.amount_minor, "currency": refund.currency});
    let mut told = message("refund.done", &payment);
    told["refund"] = json!(refund.refund);
    send(shop, &told).await.expect(200);
    assert!(is_twice(&shop.saga_record(booking).await));
}

/// Whether an operator is to hear that money went back twice.
fn is_twice(record: &SagaRecord) -> bool {
    record.saga.stuck.as_deref().is_some_and(|why| why.contains("beside another one"))
}

/// Whoever sees to it ends it.
async fn until_seen_to(shop: &Shop, booking: &str) {
    shop.act(booking, Action::Retry).await.expect("it is stuck");
    shop.until_record(booking, |record| record.saga.next_at.is_none()).await;
    assert_eq!(shop.stuck().await, [""; 0]);
}

#[tokio::test]
async fn money_that_went_back_twice_waits_for_an_operator_although_the_booking_is_cancelled() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let booking = stray_that_is_stuck(&shop, &till).await;
    shop.act(&booking, Action::Release).await.expect("it is stuck");
    made_after_all(&shop, &booking).await;

    till.refuse_refunds(false);
    shop.cancel(&booking).await.expect(200);
    shop.until_step(&booking, Step::Failed).await;
    shop.clock.advance_ms(31_000);
    shop.until_record(&booking, is_twice).await;
    assert_eq!(shop.stuck().await, [booking.as_str()]);
    assert_eq!(till.totals(), (2 * AMOUNT_MINOR, AMOUNT_MINOR));
    until_seen_to(&shop, &booking).await;
}

#[tokio::test]
async fn money_that_went_back_twice_waits_for_an_operator_although_the_buyer_pays_again() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let first = guest.pay(&booking, "p").await.expect(201).json();
    send(&shop, &message("payment.declined", &first)).await.expect(200);
    shop.clock.advance_ms(1);
    till.refuse_refunds(true);
    till.capture(first["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &first)).await.expect(200);
    shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    till.refuse_refunds(false);
    shop.act(&booking, Action::Refund).await.expect("it is stuck");
    made_after_all(&shop, &booking).await;

    let second = guest.pay(&booking, "p2").await.expect(201).json();
    till.capture(second["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &second)).await.expect(200);
    shop.until_step(&booking, Step::Confirmed).await;
    shop.clock.advance_ms(31_000);
    shop.until_record(&booking, is_twice).await;
    until_seen_to(&shop, &booking).await;
}

/// The ledger takes a payment online for the one that is to confirm what the box office was paid
/// for, and what was cancelled since.
#[tokio::test]
async fn late_money_goes_back_whole_if_another_payment_had_confirmed_what_was_cancelled() {
    const PART_MINOR: i64 = 1_000;
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let first = guest.pay(&booking, "p").await.expect(201).json();
    send(&shop, &message("payment.declined", &first)).await.expect(200);
    let path = format!("/events/e/bookings/{booking}");
    shop.organise("POST", &format!("{path}/confirm"), &json!({"payment": "till-9"})).await;
    let body = json!({"why": "rain", "refund_minor": PART_MINOR});
    shop.organise("POST", &format!("{path}/cancel"), &body).await;
    shop.until_step(&booking, Step::Failed).await;
    till.capture(first["payment"].as_str().unwrap());
    loop {
        let SagaRecord { mut saga, mut payments, .. } = shop.saga_record(&booking).await;
        saga.version += 1;
        (saga.step, saga.next_at) = (Step::PaymentOk, Some(shop.clock.now()));
        (payments[0].stage, payments[0].captured_minor) = (Stage::Captured, AMOUNT_MINOR);
        let planted = Transition {
            saga,
            payments,
            refunds: Vec::new(),
            buyer: None,
            note: "planted".into(),
            messages: Vec::new(),
        };
        match shop.server.ledger().advance(planted).await {
            Ok(_) => break,
            Err(LedgerError::Conflict) => continue,
            Err(error) => panic!("{error}"),
        }
    }
    let record = shop.until_tried_to(&booking, Step::Failed).await;
    let back: Vec<i64> = record.refunds.iter().map(|row| row.amount_minor).collect();
    assert_eq!(back, [AMOUNT_MINOR], "{record:#?}");
    assert_eq!(till.totals(), (AMOUNT_MINOR, AMOUNT_MINOR));
}
