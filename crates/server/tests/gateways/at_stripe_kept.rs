//! Failures that Stripe keeps under their keys: what they were about is done all the same, later.

use crate::at_stripe::{StripeShop, pay, paying};
use crate::fake_stripe::Trouble;
use onrush_core::saga::{Stage, Step};
use onrush_ledger::money::RefundStatus;
use onrush_ledger::saga::SagaRecord;
use serde_json::json;

/// Lets hours go by, and the saga have each of its turns.
async fn pass_hours(at: &StripeShop, booking: &str, hours: i64) -> SagaRecord {
    let clock = &at.shop.clock;
    let end = clock.now().plus_ms(hours * 3_600_000);
    let has_had_its_turn =
        |record: &SagaRecord| record.saga.next_at.is_none_or(|next_at| next_at > clock.now());
    loop {
        let record = at.until(booking, has_had_its_turn).await;
        match record.saga.next_at.filter(|next_at| *next_at < end) {
            Some(next_at) => clock.set(next_at),
            None => break,
        }
    }
    clock.set(end);
    at.until(booking, has_had_its_turn).await
}

#[tokio::test]
async fn a_refund_whose_failure_is_kept_under_its_key_is_made_when_the_key_is_forgotten() {
    let at = StripeShop::start().await;
    at.sell(10).await;
    let (booking, payment) = paying(&at.shop.guest().await, "h").await;
    at.fake.pay(&payment);
    at.bring_from(0).await;
    at.until(&booking, |record| record.saga.step == Step::Confirmed).await;
    at.fake.trouble("/refunds", Trouble::FailedBefore);
    let cancel = format!("/events/e/bookings/{booking}/cancel");
    at.shop.organise("POST", &cancel, &json!({"by": "crew", "why": "rain"})).await;
    at.until(&booking, |record| record.saga.step == Step::Compensating).await;
    let record = pass_hours(&at, &booking, 23).await;
    assert_eq!((record.saga.stuck, at.fake.refunds().len()), (None, 0));
    assert_eq!(record.refunds[0].status, RefundStatus::Requested);
    let asked = at.fake.requests().iter().filter(|asked| *asked == "POST /v1/refunds").count();
    assert!(asked < 40, "it is asked now and then: {asked}");

    at.fake.forget_keys();
    pass_hours(&at, &booking, 2).await;
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    assert_eq!((record.saga.stuck, at.fake.refunds().len()), (None, 1));
}

#[tokio::test]
async fn a_payment_whose_failure_is_kept_under_its_key_is_given_up_when_a_search_would_show_it() {
    let at = StripeShop::start().await;
    at.sell(10).await;
    let guest = at.shop.guest().await;
    let held = guest.hold("e", "h", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    at.fake.trouble("/payment_intents", Trouble::FailedBefore);
    pay(&guest, &booking, "h").await.expect(503);
    let record = pass_hours(&at, &booking, 1).await;
    assert_eq!(record.saga.stuck, None);
    assert_eq!(record.present().map(|row| row.stage), Some(Stage::Closing));

    pass_hours(&at, &booking, 2).await;
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    assert_eq!(
        (record.present().map(|row| row.stage), record.saga.stuck),
        (Some(Stage::Void), None)
    );
    assert!(at.fake.intents().is_empty());
}
