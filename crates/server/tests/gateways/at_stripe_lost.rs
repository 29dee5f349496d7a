//! Refunds at Stripe of bookings whose ledger is lost afterwards: what went back does not go back again.

use crate::at_stripe::StripeShop;
use crate::at_stripe_desk::{act, made_minor, refunds, sold};
use onrush_core::saga::Step;
use onrush_ledger::money::{RefundCause, RefundStatus};
use onrush_ledger::saga::SagaRecord;
use onrush_saga::Action;
use serde_json::json;

/// What the cancellation of a booking gives back.
const BACK_MINOR: i64 = 1_000;
/// What the desk had given back of that.
const DESK_MINOR: i64 = 400;
/// What Stripe is asked for then.
const REST_MINOR: i64 = BACK_MINOR - DESK_MINOR;

/// Cancels a booking, of whose money a part goes back.
async fn cancel_in_part(at: &StripeShop, booking: &str) {
    let path = format!("/events/e/bookings/{booking}/cancel");
    let body = json!({"why": "rain", "refund_minor": BACK_MINOR});
    at.shop.organise("POST", &path, &body).await;
}

/// Waits until a booking's money is seen to, or somebody has to see to it. The clock goes to each of its
/// saga's next tries, and no further.
async fn until_over(at: &StripeShop, booking: &str) -> SagaRecord {
    let is_over = |record: &SagaRecord| {
        let next_at = record.saga.next_at.filter(|_| record.saga.tries > 0);
        at.shop.clock.set(next_at.unwrap_or_default().max(at.shop.clock.now()));
        let is_seen_to = record.saga.step == Step::Failed && !record.refunds.is_empty();
        is_seen_to || record.saga.stuck.is_some()
    };
    at.until(booking, is_over).await
}

/// A booking that was cancelled after the desk had given back a part, and whose rest went back.
async fn given_back_beside_desk() -> (StripeShop, String, SagaRecord) {
    let (at, booking, payment) = sold().await;
    let told = at.fake.events().len();
    at.fake.refund_at_desk(&payment, DESK_MINOR);
    at.bring_from(told).await;
    cancel_in_part(&at, &booking).await;
    let record = until_over(&at, &booking).await;
    let expected = vec![
        (RefundCause::AtDesk, DESK_MINOR, RefundStatus::Done),
        (RefundCause::Cancelled, REST_MINOR, RefundStatus::Done),
    ];
    assert_eq!((refunds(&record), record.saga.stuck.as_deref()), (expected, None));
    (at, booking, record)
}

/// Whether Stripe said that the key stands for a refund of another amount.
fn is_of_another_amount(record: &SagaRecord) -> bool {
    let why = record.saga.stuck.as_deref().unwrap_or_default();
    why.contains("a refund of another amount was made under its key")
}

/// The desk's part is lost with the ledger, so that all of it is asked for, under the key of the rest.
#[tokio::test]
async fn a_rest_beside_what_the_desk_gave_back_is_not_made_again_for_a_ledger_that_was_lost() {
    let (at, booking, _) = given_back_beside_desk().await;
    let at = at.without_its_ledger().await;
    let record = until_over(&at, &booking).await;
    assert_eq!(made_minor(&at), [DESK_MINOR, REST_MINOR], "{record:?}");
    assert!(is_of_another_amount(&record), "{record:?}");

    // Somebody looks at Stripe's list, and says that all of it is back.
    act(&at, &booking, Action::Release).await;
    let record = until_over(&at, &booking).await;
    let expected = vec![
        (RefundCause::Cancelled, BACK_MINOR, RefundStatus::Failed),
        (RefundCause::ByHand, BACK_MINOR, RefundStatus::Done),
    ];
    assert_eq!((refunds(&record), record.saga.stuck.as_deref()), (expected, None));
    assert_eq!(made_minor(&at), [DESK_MINOR, REST_MINOR]);
}

#[tokio::test]
async fn a_rest_that_was_asked_for_again_has_its_next_key_also_after_the_ledger_was_lost() {
    let (at, booking, record) = given_back_beside_desk().await;
    let told = at.fake.events().len();
    at.fake.settle_refund(&record.refunds[1].refund, "failed", "refund.failed");
    at.bring_from(told).await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    act(&at, &booking, Action::Retry).await;
    let record = until_over(&at, &booking).await;
    let expected = vec![
        (RefundCause::AtDesk, DESK_MINOR, RefundStatus::Done),
        (RefundCause::Cancelled, REST_MINOR, RefundStatus::Failed),
        (RefundCause::Cancelled, REST_MINOR, RefundStatus::Done),
    ];
    assert_eq!((refunds(&record), record.saga.stuck.as_deref()), (expected, None));

    let at = at.without_its_ledger().await;
    let record = until_over(&at, &booking).await;
    assert!(is_of_another_amount(&record), "{record:?}");
    // It is asked for again as it was before, and Stripe knows the second key as well.
    act(&at, &booking, Action::Retry).await;
    let record = until_over(&at, &booking).await;
    assert!(is_of_another_amount(&record), "{record:?}");
    assert_eq!(made_minor(&at), [DESK_MINOR, REST_MINOR, REST_MINOR], "the second one failed");
}
