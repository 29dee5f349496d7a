//! What an operator's word books: exactly the money that was to go back, and nothing for a booking
//! that is final.

use crate::books::audited;
use crate::client::Answer;
use crate::shop::Shop;
use crate::stuck::as_if_it_had_died;
use crate::till::{Till, message, send};
use crate::webhooks::{AMOUNT_MINOR, shop_with};
use onrush_core::Command;
use onrush_core::command::CancelTerms;
use onrush_core::ids::{BookingId, PaymentId, UserId};
use onrush_core::saga::Step;
use onrush_core::spec::Reason;
use onrush_ledger::money::RefundStatus;
use onrush_saga::Action;
use serde_json::{Value, json};
use std::time::Duration;

/// What goes back of [`AMOUNT_MINOR`].
const PART_MINOR: i64 = 2_000;

impl Shop {
    async fn cancel_in_part(&self, booking: &str) -> Answer {
        let body = json!({"by": "crew", "why": "rain", "refund_minor": PART_MINOR});
        let path = format!("/events/e/bookings/{booking}/cancel");
        self.admin("POST", &path).json(&body).send().await
    }

    /// A booking that was paid for and cancelled in part, whose gateway refuses to give the part back.
    async fn sell_and_get_stuck_in_part(&self, till: &Till) -> (String, Value) {
        let (booking, payment) = self.sell(till).await;
        till.refuse_refunds(true);
        self.cancel_in_part(&booking).await.expect(200);
        self.until_record(&booking, |record| record.saga.stuck.is_some()).await;
        (booking, payment)
    }

    /// What the ledger says went back, once nothing is under way any more.
    async fn refunded_minor(&self) -> i64 {
        let totals = self.server.ledger().totals().await.unwrap();
        assert_eq!((totals.stuck_sagas, totals.refunding_minor), (0, 0));
        totals.refunded_minor
    }

    /// Stops, and adds everything up.
    async fn audit(self) {
        let Self { server, dir, .. } = self;
        server.shutdown().await;
        let told = audited(dir.path()).await;
        assert_eq!((&told["violations"], &told["open_sagas"]), (&json!(0), &json!(0)), "{told}");
    }
}

#[tokio::test]
async fn an_operators_release_of_a_stuck_partial_refund_books_the_part() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (booking, _) = shop.sell_and_get_stuck_in_part(&till).await;
    shop.act(&booking, Action::Release).await.expect("it is stuck");
    shop.until_step(&booking, Step::Failed).await;
    assert_eq!(shop.refunded_minor().await, PART_MINOR);
    shop.audit().await;
}

#[tokio::test]
async fn a_part_that_was_asked_for_again_and_again_is_released_once() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (booking, _) = shop.sell_and_get_stuck_in_part(&till).await;
    for action in [Action::Retry, Action::Refund, Action::Release] {
        shop.act(&booking, action).await.expect("it is stuck");
    }
    let record = shop.until_step(&booking, Step::Failed).await;
    assert_eq!(record.refunds.len(), 4);
    assert_eq!(shop.refunded_minor().await, PART_MINOR);
    shop.audit().await;
}

#[tokio::test]
async fn a_part_that_went_back_after_all_is_not_booked_a_second_time_by_a_release() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (booking, payment) = shop.sell_and_get_stuck_in_part(&till).await;
    let first = shop.saga_record(&booking).await.refunds[0].refund.clone();
    // The gateway does not answer the second time, and then says that it made the first one.
    till.refuse_refunds(false);
    till.down(true);
    shop.act(&booking, Action::Retry).await.expect("it is stuck");
    let mut told = message("refund.done", &payment);
    (told["refund"], told["amount_minor"]) = (json!(first), json!(PART_MINOR));
    send(&shop, &told).await.expect(200);
    let record = shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    assert_eq!(record.refunds[0].status, RefundStatus::Done);
    shop.act(&booking, Action::Release).await.expect("it is stuck");
    shop.until_step(&booking, Step::Failed).await;
    assert_eq!(shop.refunded_minor().await, PART_MINOR);
    shop.audit().await;
}

/// A booking that the engine confirmed, whose saga is stuck before it could write that down.
async fn confirmed_and_stuck(shop: &Shop, till: &Till) -> String {
    let guest = shop.guest().await;
    let text = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&text, "p").await.expect(201).text("payment");
    let (booking, user): (BookingId, UserId) = (text.parse().unwrap(), guest.user.parse().unwrap());
    let payment: PaymentId = payment.parse().unwrap();
    let confirm = Command::Confirm { booking, user, payment: Some(payment.clone()) };
    as_if_it_had_died(shop, confirm).await;
    till.capture_other(payment.as_str(), AMOUNT_MINOR + 1);
    shop.clock.advance_ms(301_000);
    shop.until_record(&text, |record| record.saga.stuck.is_some()).await;
    till.capture_other(payment.as_str(), AMOUNT_MINOR);
    text
}

#[tokio::test]
async fn an_operators_release_gives_nothing_back_for_a_booking_that_is_confirmed() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let booking = confirmed_and_stuck(&shop, &till).await;
    let record = shop.act(&booking, Action::Release).await.expect("it is stuck");
    assert!(record.refunds.is_empty(), "{record:?}");
}

#[tokio::test]
async fn an_operators_refund_gives_back_what_the_cancellation_promised() {
    for action in [Action::Refund, Action::Release] {
        let till = Till::start();
        let shop = shop_with(&till).await;
        let text = confirmed_and_stuck(&shop, &till).await;
        let reason = Reason { by: "crew".into(), why: "rain".into() };
        let terms = CancelTerms::Organiser { refund_minor: Some(PART_MINOR) };
        let booking = text.parse().unwrap();
        as_if_it_had_died(&shop, Command::CancelConfirmed { booking, reason, terms }).await;
        // The follower may hear of the end first, and wakes it: then there is nothing to do.
        drop(shop.act(&text, action).await);
        let record = shop.until_step(&text, Step::Failed).await;
        let back: Vec<i64> = record.refunds.iter().map(|row| row.amount_minor).collect();
        assert_eq!(back, [PART_MINOR], "{action:?}");
    }
}

#[tokio::test]
async fn what_was_cancelled_and_forgotten_before_it_was_written_down_goes_back_as_decided() {
    for refund_minor in [PART_MINOR, 0] {
        let till = Till::start();
        let shop = shop_with(&till).await;
        let guest = shop.guest().await;
        let text = guest.hold_ga("h", 1).await;
        let payment = guest.pay(&text, "p").await.expect(201).text("payment");
        till.capture(&payment);
        till.down(true);
        let (booking, user): (BookingId, UserId) =
            (text.parse().unwrap(), guest.user.parse().unwrap());
        let payment = Some(payment.parse().unwrap());
        let confirm = Command::Confirm { booking: booking.clone(), user, payment };
        as_if_it_had_died(&shop, confirm).await;
        let reason = Reason { by: "crew".into(), why: "rain".into() };
        let terms = CancelTerms::Organiser { refund_minor: Some(refund_minor) };
        as_if_it_had_died(&shop, Command::CancelConfirmed { booking, reason, terms }).await;
        shop.clock.advance_ms(25 * 3_600_000);
        let tickets = format!("/bookings/{text}/tickets");
        let forgotten = async {
            while guest.get(&tickets).await.status != 404 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), forgotten).await.expect("it is forgotten");
        till.down(false);
        shop.until_tried_to(&text, Step::Failed).await;
        assert_eq!(till.totals(), (AMOUNT_MINOR, refund_minor));
    }
}
