//! Refunds at Stripe of bookings whose ledger is lost afterwards: what went back does not go back again.

use crate::at_stripe::StripeShop;
use crate::at_stripe_desk::{act, made_minor, refunds, sold};
use crate::at_stripe_refunds::{comes_late, paid_after};
use onrush_core::saga::Step;
use onrush_ledger::money::{RefundCause, RefundStatus};
use onrush_ledger::saga::SagaRecord;
use onrush_saga::Action;
use serde_json::json;

/// What the cancellation of a booking gives back.
const BACK_MINOR: i64 = 1_000;

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

/// A booking that was cancelled after the desk had given so much back, and whose rest went back.
async fn given_back_beside_desk(desk_minor: i64) -> (StripeShop, String, SagaRecord) {
    let (at, booking, payment) = sold().await;
    let told = at.fake.events().len();
    at.fake.refund_at_desk(&payment, desk_minor);
    at.bring_from(told).await;
    cancel_in_part(&at, &booking).await;
    let record = until_over(&at, &booking).await;
    assert_eq!(record.saga.stuck, None, "{record:?}");
    (at, booking, record)
}

/// What the desk gave back is lost with the ledger, and Stripe has a list of it.
#[tokio::test]
async fn what_the_desk_had_given_back_is_found_again_with_its_payment_and_does_not_go_back_again() {
    // What the desk gave back, what of that counts, and what Stripe is asked for.
    for (desk_minor, part_minor, rest_minor) in
        [(400, 400, 600), (1_000, 1_000, 0), (1_100, 1_000, 0)]
    {
        let (at, booking, record) = given_back_beside_desk(desk_minor).await;
        let parts = [(RefundCause::AtDesk, part_minor), (RefundCause::Cancelled, rest_minor)];
        let parts = parts.into_iter().filter(|(_, minor)| *minor > 0);
        let expected: Vec<_> =
            parts.map(|(cause, minor)| (cause, minor, RefundStatus::Done)).collect();
        assert_eq!(refunds(&record), expected);
        let made = made_minor(&at);

        let at = at.without_its_ledger().await;
        let record = until_over(&at, &booking).await;
        assert_eq!(made_minor(&at), made, "{record:?}");
        assert_eq!((refunds(&record), record.saga.stuck.as_deref()), (expected, None));
    }
}

/// It was no part of what had gone back, and is none afterwards.
#[tokio::test]
async fn what_the_desk_gave_back_after_our_own_refund_is_no_part_of_it_once_the_ledger_is_lost() {
    let (at, booking, payment) = sold().await;
    cancel_in_part(&at, &booking).await;
    let record = until_over(&at, &booking).await;
    let expected = vec![(RefundCause::Cancelled, BACK_MINOR, RefundStatus::Done)];
    assert_eq!((refunds(&record), record.saga.stuck), (expected.clone(), None));
    let told = at.fake.events().len();
    at.fake.refund_at_desk(&payment, 400);
    at.bring_from(told).await;

    let at = at.without_its_ledger().await;
    let record = until_over(&at, &booking).await;
    assert_eq!(made_minor(&at), [BACK_MINOR, 400]);
    assert_eq!((refunds(&record), record.saga.stuck.as_deref()), (expected, None));
    let paid = record.present().expect("it was found again");
    assert!(paid.flagged, "the desk's refund is to be seen to: {paid:?}");
}

/// Our own refund failed in the end, and what the desk gave back counts as if no ledger had been lost.
#[tokio::test]
async fn what_the_desk_gave_back_counts_at_the_next_try_once_our_own_refund_before_it_has_failed() {
    let (at, booking, payment) = sold().await;
    cancel_in_part(&at, &booking).await;
    until_over(&at, &booking).await;
    let told = at.fake.events().len();
    at.fake.refund_at_desk(&payment, 400);
    at.bring_from(told).await;

    let at = at.without_its_ledger().await;
    let record = until_over(&at, &booking).await;
    assert_eq!((made_minor(&at), record.saga.stuck), (vec![BACK_MINOR, 400], None));
    let told = at.fake.events().len();
    at.fake.settle_refund(&record.refunds[0].refund, "failed", "refund.failed");
    at.bring_from(told).await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    act(&at, &booking, Action::Retry).await;
    let record = until_over(&at, &booking).await;
    assert_eq!(made_minor(&at), [BACK_MINOR, 400, 600], "{record:?}");
    let expected = vec![
        (RefundCause::Cancelled, BACK_MINOR, RefundStatus::Failed),
        (RefundCause::AtDesk, 400, RefundStatus::Done),
        (RefundCause::Cancelled, 600, RefundStatus::Done),
    ];
    assert_eq!((refunds(&record), record.saga.stuck), (expected, None));
}

/// Stripe's list has the newest first.
#[tokio::test]
async fn what_is_found_again_of_the_desk_is_told_in_its_order_and_in_the_history() {
    let (at, booking, payment) = sold().await;
    let told = at.fake.events().len();
    at.fake.refund_at_desk(&payment, 300);
    at.fake.refund_at_desk(&payment, 100);
    at.bring_from(told).await;
    cancel_in_part(&at, &booking).await;
    until_over(&at, &booking).await;
    let at = at.without_its_ledger().await;
    let record = until_over(&at, &booking).await;
    assert_eq!((made_minor(&at), record.saga.stuck.as_deref()), (vec![300, 100, 600], None));
    let told = record.present().and_then(|row| row.why.clone()).unwrap_or_default();
    assert!(told.contains("1.00 EUR"), "the last word counts: {told}");
    let history = at.shop.server.ledger().history(&record.saga.booking).await.unwrap();
    let line = history.iter().find(|line| line.note.contains("3.00 EUR"));
    let note = &line.expect("it is told").note;
    assert!(note.find("3.00 EUR") < note.find("1.00 EUR"), "{note}");
}

#[tokio::test]
async fn what_the_desk_gave_back_in_place_of_a_refund_that_failed_counts_once_the_ledger_is_lost() {
    let (at, booking, payment) = sold().await;
    cancel_in_part(&at, &booking).await;
    let record = until_over(&at, &booking).await;
    let told = at.fake.events().len();
    at.fake.settle_refund(&record.refunds[0].refund, "failed", "refund.failed");
    at.bring_from(told).await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    at.fake.refund_at_desk(&payment, BACK_MINOR);

    let at = at.without_its_ledger().await;
    let record = until_over(&at, &booking).await;
    let expected = vec![(RefundCause::AtDesk, BACK_MINOR, RefundStatus::Done)];
    assert_eq!((refunds(&record), record.saga.stuck.as_deref()), (expected, None));
    assert_eq!(made_minor(&at), [BACK_MINOR, BACK_MINOR]);
}

/// An older ledger has the payment, and nothing of what its desk gave back.
#[tokio::test]
async fn a_refund_of_another_amount_under_its_key_is_asked_for_under_no_other_one() {
    let (at, booking, payment) = sold().await;
    let record = at.saga_record(&booking).await;
    let paid_as = record.present().and_then(|row| row.reference.clone()).expect("it has a name");
    at.fake.refund_as(&paid_as, &format!("refund:{booking}:1"), 600);
    at.fake.refund_at_desk(&payment, 400);
    cancel_in_part(&at, &booking).await;
    let is_stuck = |record: &SagaRecord| record.saga.stuck.is_some();
    let requested = vec![(RefundCause::Cancelled, BACK_MINOR, RefundStatus::Requested)];
    for _ in 0..2 {
        let record = at.until(&booking, is_stuck).await;
        let why = record.saga.stuck.clone().unwrap_or_default();
        assert!(why.contains("another amount"), "{why}");
        assert_eq!((refunds(&record), made_minor(&at)), (requested.clone(), vec![600, 400]));
        act(&at, &booking, Action::Retry).await;
    }
    at.until(&booking, is_stuck).await;
    act(&at, &booking, Action::Release).await;
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    let by_hand = (RefundCause::ByHand, BACK_MINOR, RefundStatus::Done);
    assert_eq!(refunds(&record).last(), Some(&by_hand));
    assert_eq!(made_minor(&at), [600, 400]);
}

/// What a saga waits for an operator with.
async fn stuck_with(at: &StripeShop, booking: &str) -> (String, SagaRecord) {
    let record = until_over(at, booking).await;
    (record.saga.stuck.clone().unwrap_or_default(), record)
}

/// Versions before numbered all refunds of a booking alike, so that the rest beside the desk's was `:2`.
#[tokio::test]
async fn a_refund_under_a_key_that_the_ledger_has_lost_is_looked_at_before_another_one_is_made() {
    let (at, booking, record) = given_back_beside_desk(400).await;
    let key = format!("refund:{booking}:2");
    at.fake.rename_refund(&record.refunds[1].refund, &key);
    let at = at.without_its_ledger().await;
    // Stripe forgets keys after a day.
    at.fake.forget_keys();
    let mut expected = vec![
        (RefundCause::AtDesk, 400, RefundStatus::Done),
        (RefundCause::Cancelled, 600, RefundStatus::Requested),
    ];
    for _ in 0..2 {
        let (why, record) = stuck_with(&at, &booking).await;
        assert!(why.contains(&format!("re_1 was made under {key}")), "{why}");
        assert_eq!((refunds(&record), made_minor(&at)), (expected.clone(), vec![400, 600]));
        act(&at, &booking, Action::Retry).await;
    }
    stuck_with(&at, &booking).await;

    // What failed gave nothing back.
    at.fake.settle_refund(&key, "failed", "refund.failed");
    act(&at, &booking, Action::Retry).await;
    let record = until_over(&at, &booking).await;
    expected[1].2 = RefundStatus::Done;
    assert_eq!((refunds(&record), record.saga.stuck.as_deref()), (expected, None));
    assert_eq!(made_minor(&at), [400, 600, 600]);
}

/// Versions before numbered late money's refunds with the booking's own.
#[tokio::test]
async fn late_money_that_went_back_under_an_earlier_versions_key_does_not_go_back_again() {
    let at = StripeShop::start().await;
    let (booking, payments) = paid_after(&at, 1).await;
    let record = at.saga_record(&booking).await;
    let late = record.payments.iter().find(|row| row.payment.as_str() == payments[0]);
    let paid_as = late.and_then(|row| row.reference.clone()).expect("it has a name");
    let key = format!("refund:{booking}:1");
    at.fake.refund_as(&paid_as, &key, BACK_MINOR);
    comes_late(&at, &payments[0]).await;
    let (why, _) = stuck_with(&at, &booking).await;
    assert!(why.contains(&format!("re_0 was made under {key}")), "{why}");
    assert_eq!(made_minor(&at), [BACK_MINOR]);
    act(&at, &booking, Action::Release).await;
    let is_back = |record: &SagaRecord| record.strays().next().is_none();
    let record = at.until(&booking, is_back).await;
    assert_eq!((record.saga.step, record.saga.stuck), (Step::Confirmed, None));
    assert_eq!(made_minor(&at), [BACK_MINOR]);
}

/// Late money comes that went back before, under a key that is not known here.
async fn comes_late_and_went_back_unknown(at: &StripeShop, booking: &str, late: &str) {
    let record = at.saga_record(booking).await;
    let row = record.payments.iter().find(|row| row.payment.as_str() == late);
    let paid_as = row.and_then(|row| row.reference.clone()).expect("it has a name");
    at.fake.refund_as(&paid_as, &format!("refund:{booking}:7"), BACK_MINOR);
    comes_late(at, late).await;
    at.until(booking, |record| record.saga.stuck.is_some()).await;
}

/// Where the refund of this cause stands, of which there is one.
fn status_of(record: &SagaRecord, cause: RefundCause) -> Option<RefundStatus> {
    record.refunds.iter().find(|row| row.cause == cause).map(|row| row.status)
}

#[tokio::test]
async fn a_release_of_late_money_that_went_back_unknown_leaves_the_bookings_own_refund_alone() {
    let at = StripeShop::start().await;
    let (booking, payments) = paid_after(&at, 1).await;
    at.fake.hold_refunds();
    cancel_in_part(&at, &booking).await;
    let is_sent =
        |record: &SagaRecord| status_of(record, RefundCause::Cancelled) == Some(RefundStatus::Sent);
    at.until(&booking, is_sent).await;
    comes_late_and_went_back_unknown(&at, &booking, &payments[0]).await;
    act(&at, &booking, Action::Release).await;
    let record = at.saga_record(&booking).await;
    assert!(is_sent(&record), "Stripe works on it: {record:?}");
    assert_eq!(status_of(&record, RefundCause::Stray), Some(RefundStatus::Failed));
    let by_hand = record.refunds.iter().filter(|row| row.cause == RefundCause::ByHand);
    let by_hand: Vec<_> = by_hand.map(|row| (row.payment.as_str(), row.amount_minor)).collect();
    assert_eq!((by_hand, &record.saga.stuck), (vec![(payments[0].as_str(), 2_500)], &None));

    let told = at.fake.events().len();
    at.fake.settle_refund(&format!("refund:{booking}:1"), "succeeded", "refund.updated");
    at.bring_from(told).await;
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    assert_eq!(status_of(&record, RefundCause::Cancelled), Some(RefundStatus::Done));
    assert_eq!((made_minor(&at), record.saga.stuck), (vec![BACK_MINOR, BACK_MINOR], None));
}

/// The saga is stuck when the booking is cancelled.
#[tokio::test]
async fn late_money_that_went_back_unknown_does_not_hold_up_the_bookings_own_cancellation() {
    let at = StripeShop::start().await;
    let (booking, payments) = paid_after(&at, 1).await;
    comes_late_and_went_back_unknown(&at, &booking, &payments[0]).await;
    cancel_in_part(&at, &booking).await;
    act(&at, &booking, Action::Retry).await;
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    assert_eq!(status_of(&record, RefundCause::Cancelled), Some(RefundStatus::Done));
    assert_eq!(status_of(&record, RefundCause::Stray), Some(RefundStatus::Requested));

    let is_stuck = |record: &SagaRecord| {
        let next_at = record.saga.next_at.unwrap_or_default();
        at.shop.clock.set(next_at.max(at.shop.clock.now()));
        record.saga.stuck.is_some()
    };
    at.until(&booking, is_stuck).await;
    act(&at, &booking, Action::Release).await;
    let is_over =
        |record: &SagaRecord| record.saga.step == Step::Failed && record.strays().next().is_none();
    let record = at.until(&booking, is_over).await;
    assert_eq!(status_of(&record, RefundCause::Stray), Some(RefundStatus::Failed));
    assert_eq!(status_of(&record, RefundCause::ByHand), Some(RefundStatus::Done));
    assert_eq!((made_minor(&at), record.saga.stuck), (vec![BACK_MINOR, BACK_MINOR], None));
}

#[tokio::test]
async fn a_rest_that_was_asked_for_again_has_its_next_key_also_after_the_ledger_was_lost() {
    let (at, booking, record) = given_back_beside_desk(400).await;
    let told = at.fake.events().len();
    at.fake.settle_refund(&record.refunds[1].refund, "failed", "refund.failed");
    at.bring_from(told).await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    act(&at, &booking, Action::Retry).await;
    let record = until_over(&at, &booking).await;
    let expected = vec![
        (RefundCause::AtDesk, 400, RefundStatus::Done),
        (RefundCause::Cancelled, 600, RefundStatus::Failed),
        (RefundCause::Cancelled, 600, RefundStatus::Done),
    ];
    assert_eq!((refunds(&record), record.saga.stuck), (expected.clone(), None));

    // Stripe says what became of the first one, and knows the second one's key once that is asked for.
    let at = at.without_its_ledger().await;
    let record = until_over(&at, &booking).await;
    assert!(record.saga.stuck.is_some(), "{record:?}");
    act(&at, &booking, Action::Retry).await;
    let record = until_over(&at, &booking).await;
    assert_eq!((refunds(&record), record.saga.stuck), (expected, None));
    assert_eq!(made_minor(&at), [400, 600, 600]);
}

/// The payment of that money is in no book any more that the server has.
#[tokio::test]
async fn late_money_that_went_back_moves_no_key_of_the_bookings_own_once_the_ledger_is_lost() {
    let at = StripeShop::start().await;
    let (booking, payments) = paid_after(&at, 1).await;
    comes_late(&at, &payments[0]).await;
    let is_back =
        |record: &SagaRecord| record.strays().next().is_none() && !record.refunds.is_empty();
    at.until(&booking, is_back).await;
    cancel_in_part(&at, &booking).await;
    at.until(&booking, |record| record.saga.step == Step::Failed).await;
    assert_eq!(made_minor(&at), [2_500, BACK_MINOR]);

    let at = at.without_its_ledger().await;
    // Stripe forgets keys after a day.
    at.fake.forget_keys();
    let record = until_over(&at, &booking).await;
    assert_eq!(made_minor(&at), [2_500, BACK_MINOR], "{record:?}");
    let expected = vec![(RefundCause::Cancelled, BACK_MINOR, RefundStatus::Done)];
    assert_eq!((refunds(&record), record.saga.stuck), (expected, None));
}
