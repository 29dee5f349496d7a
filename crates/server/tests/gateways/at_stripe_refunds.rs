//! Several refunds of one booking: none waits for another, and none is lost sight of.

use crate::at_stripe::{StripeShop, pay, paying};
use crate::fake_stripe::Trouble;
use onrush_base::config::relay::WebhookSettings;
use onrush_base::config::{CertificateSettings, Config, Secret};
use onrush_core::saga::{Stage, Step};
use onrush_ledger::money::{Refund, RefundCause, RefundStatus};
use onrush_ledger::saga::SagaRecord;
use onrush_saga::Action;
use serde_json::{Value, json};

/// A booking that is paid for, and its payments: declined ones, and the one that paid.
pub(crate) async fn paid_after(at: &StripeShop, declined: usize) -> (String, Vec<String>) {
    at.sell(10).await;
    let guest = at.shop.guest().await;
    let (booking, first) = paying(&guest, "h").await;
    let mut payments = vec![first];
    for n in 0..declined {
        let told = at.fake.events().len();
        at.fake.decline(&payments[n], "insufficient_funds");
        at.bring_from(told).await;
        at.until(&booking, |record| record.present().is_some_and(|row| row.stage == Stage::Void))
            .await;
        at.shop.clock.advance_ms(1);
        let next = pay(&guest, &booking, &format!("p{n}")).await.expect(201).text("payment");
        payments.push(next);
    }
    let told = at.fake.events().len();
    at.fake.pay(&payments[declined]);
    at.bring_from(told).await;
    at.until(&booking, |record| record.saga.step == Step::Confirmed).await;
    (booking, payments)
}

/// Money comes for a payment that had ended.
pub(crate) async fn comes_late(at: &StripeShop, payment: &str) {
    let told = at.fake.events().len();
    at.fake.pay_late(payment);
    at.bring_from(told).await;
}

fn refund_of<'a>(record: &'a SagaRecord, payment: &str) -> &'a str {
    let mut refunds = record.refunds.iter();
    let refund = refunds.find(|refund| refund.payment.as_str() == payment);
    &refund.expect("it was asked for").refund
}

fn status_of(record: &SagaRecord, payment: &str) -> Option<RefundStatus> {
    let mut refunds = record.refunds.iter().rev();
    refunds.find(|refund| refund.payment.as_str() == payment).map(|refund| refund.status)
}

/// Nobody listens there: what is to be told waits in the ledger.
fn tell_nobody(config: &mut Config) {
    config.webhooks = vec![WebhookSettings {
        name: "crm".into(),
        url: "https://localhost:1/hook".into(),
        secret: Secret::from("a secret for tests only".to_owned()),
        kinds: None,
        allow_private: true,
        certificates: CertificateSettings::default(),
    }];
}

/// What is told of a payment's money that went back: each message's kind, and what it says.
async fn told_of(at: &StripeShop, booking: &str, payment: &str) -> Vec<(String, Value)> {
    let ledger = at.shop.server.ledger();
    let about = ledger.messages_about(vec![booking.parse().unwrap()]).await.unwrap();
    let told = about.into_iter().map(|message| {
        let said: Value = serde_json::from_str(&message.body).unwrap();
        (message.kind, said)
    });
    let refunds = told.filter(|(kind, said)| {
        ["booking_refunded", "payment_late_refunded"].contains(&kind.as_str())
            && said["payment"] == payment
    });
    refunds.collect()
}

#[tokio::test]
async fn who_is_told_of_a_refund_is_told_how_the_booking_stands() {
    let at = StripeShop::start_with("", tell_nobody).await;
    let (booking, payments) = paid_after(&at, 1).await;
    comes_late(&at, &payments[0]).await;
    at.until(&booking, |record| record.strays().next().is_none() && !record.refunds.is_empty())
        .await;
    let stray = told_of(&at, &booking, &payments[0]).await;
    let [(kind, said)] = &*stray else { panic!("{stray:?}") };
    let status = said["booking_status"].as_str();
    assert_eq!((kind.as_str(), status), ("payment_late_refunded", Some("confirmed")));

    let cancel = format!("/events/e/bookings/{booking}/cancel");
    at.shop.organise("POST", &cancel, &json!({"by": "crew", "why": "rain"})).await;
    at.until(&booking, |record| record.saga.step == Step::Failed).await;
    let own = told_of(&at, &booking, &payments[1]).await;
    let [(kind, said)] = &*own else { panic!("{own:?}") };
    let status = said["booking_status"].as_str();
    assert_eq!((kind.as_str(), status), ("booking_refunded", Some("cancelled")));
}

/// A cancelled booking with two refunds, at both of which Stripe works: the stray's, and its own.
async fn two_under_way(at: &StripeShop) -> (String, Vec<String>) {
    let (booking, payments) = paid_after(at, 1).await;
    at.fake.hold_refunds();
    comes_late(at, &payments[0]).await;
    let cancel = format!("/events/e/bookings/{booking}/cancel");
    at.shop.organise("POST", &cancel, &json!({"by": "crew", "why": "rain"})).await;
    let is_sent = |record: &SagaRecord| {
        payments.iter().all(|payment| status_of(record, payment) == Some(RefundStatus::Sent))
    };
    at.until(&booking, is_sent).await;
    (booking, payments)
}

#[tokio::test]
async fn news_of_one_refund_is_not_lost_while_another_is_under_way() {
    let at = StripeShop::start().await;
    let (booking, payments) = two_under_way(&at).await;
    let told = at.fake.events().len();
    let record = at.saga_record(&booking).await;
    at.fake.settle_refund(refund_of(&record, &payments[1]), "succeeded", "refund.updated");
    at.bring_from(told).await;
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    assert_eq!(status_of(&record, &payments[0]), Some(RefundStatus::Sent));

    let told = at.fake.events().len();
    at.fake.settle_refund(refund_of(&record, &payments[0]), "succeeded", "refund.updated");
    at.bring_from(told).await;
    at.until(&booking, |record| record.strays().next().is_none()).await;
}

#[tokio::test]
async fn each_refund_is_asked_about_when_no_news_of_it_comes() {
    let at = StripeShop::start().await;
    let (booking, payments) = two_under_way(&at).await;
    let record = at.saga_record(&booking).await;
    at.fake.settle_refund(refund_of(&record, &payments[1]), "succeeded", "refund.updated");
    let next_at = record.saga.next_at.expect("it is asked about again");
    at.shop.clock.set(next_at.max(at.shop.clock.now()));
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    assert_eq!(status_of(&record, &payments[0]), Some(RefundStatus::Sent));
}

#[tokio::test]
async fn money_that_comes_after_a_refund_failed_goes_back_all_the_same() {
    let at = StripeShop::start().await;
    let (booking, payments) = paid_after(&at, 2).await;
    at.fake.hold_refunds();
    comes_late(&at, &payments[0]).await;
    let is_sent = |record: &SagaRecord| status_of(record, &payments[0]) == Some(RefundStatus::Sent);
    let record = at.until(&booking, is_sent).await;
    let told = at.fake.events().len();
    at.fake.settle_refund(refund_of(&record, &payments[0]), "failed", "refund.failed");
    at.bring_from(told).await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;

    comes_late(&at, &payments[1]).await;
    let asked = |record: &SagaRecord| status_of(record, &payments[1]) == Some(RefundStatus::Sent);
    at.until(&booking, asked).await;
    assert_eq!(at.fake.refunds().len(), 2);
    // What failed is still somebody's business.
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
}

#[tokio::test]
async fn news_of_a_refund_is_written_down_although_the_saga_is_stuck_with_another() {
    let at = StripeShop::start().await;
    let (booking, payments) = two_under_way(&at).await;
    let record = at.saga_record(&booking).await;
    let told = at.fake.events().len();
    at.fake.settle_refund(refund_of(&record, &payments[0]), "failed", "refund.failed");
    at.bring_from(told).await;
    let record = at.until(&booking, |record| record.saga.stuck.is_some()).await;
    let told = at.fake.events().len();
    at.fake.settle_refund(refund_of(&record, &payments[1]), "succeeded", "refund.updated");
    at.bring_from(told).await;
    let record = at.saga_record(&booking).await;
    assert_eq!(status_of(&record, &payments[1]), Some(RefundStatus::Done));
    assert!(record.saga.stuck.is_some(), "the other one is still somebody's business: {record:?}");
}

/// A failed stray's refund, and a present payment that its buyer may still make: it goes on.
#[tokio::test]
async fn news_that_a_strays_refund_failed_does_not_stop_the_present_payment() {
    let at = StripeShop::start().await;
    at.sell(10).await;
    let guest = at.shop.guest().await;
    let (booking, first) = paying(&guest, "h").await;
    let told = at.fake.events().len();
    at.fake.decline(&first, "insufficient_funds");
    at.bring_from(told).await;
    let is_void =
        |record: &SagaRecord| record.present().is_some_and(|row| row.stage == Stage::Void);
    at.until(&booking, is_void).await;
    at.shop.clock.advance_ms(1);
    let second = pay(&guest, &booking, "p").await.expect(201).text("payment");
    at.fake.hold_refunds();
    comes_late(&at, &first).await;
    let is_sent = |record: &SagaRecord| status_of(record, &first) == Some(RefundStatus::Sent);
    let record = at.until(&booking, is_sent).await;
    let told = at.fake.events().len();
    at.fake.settle_refund(refund_of(&record, &first), "failed", "refund.failed");
    at.bring_from(told).await;
    let record = at.saga_record(&booking).await;
    assert_eq!(status_of(&record, &first), Some(RefundStatus::Failed));
    assert_eq!(record.saga.stuck, None, "the buyer may still pay: {record:?}");

    let told = at.fake.events().len();
    at.fake.pay(&second);
    at.bring_from(told).await;
    at.until(&booking, |record| record.saga.step == Step::Confirmed).await;
    // What went wrong with the other one is still somebody's business, soon.
    at.shop.clock.advance_ms(31_000);
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
}

#[tokio::test]
async fn a_refund_is_asked_for_until_its_gateway_answers_although_another_one_failed() {
    let at = StripeShop::start().await;
    let (booking, payments) = paid_after(&at, 2).await;
    at.fake.hold_refunds();
    comes_late(&at, &payments[0]).await;
    let is_sent = |record: &SagaRecord| status_of(record, &payments[0]) == Some(RefundStatus::Sent);
    let record = at.until(&booking, is_sent).await;
    let told = at.fake.events().len();
    at.fake.settle_refund(refund_of(&record, &payments[0]), "failed", "refund.failed");
    at.bring_from(told).await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;

    at.fake.trouble("/refunds", Trouble::TooMany);
    comes_late(&at, &payments[1]).await;
    let record = at.until(&booking, |record| record.saga.tries > 0).await;
    assert_eq!(record.saga.stuck, None, "it was asked for once: {record:?}");
    at.shop.clock.set(record.saga.next_at.expect("it is tried again").max(at.shop.clock.now()));
    let asked = |record: &SagaRecord| status_of(record, &payments[1]) == Some(RefundStatus::Sent);
    at.until(&booking, asked).await;
}

#[tokio::test]
async fn stray_money_goes_back_while_a_debit_that_is_too_late_is_under_way() {
    let at = StripeShop::start().await;
    at.sell(10).await;
    let guest = at.shop.guest().await;
    let (booking, first) = paying(&guest, "h").await;
    let told = at.fake.events().len();
    at.fake.decline(&first, "insufficient_funds");
    at.bring_from(told).await;
    let is_void =
        |record: &SagaRecord| record.present().is_some_and(|row| row.stage == Stage::Void);
    at.until(&booking, is_void).await;
    at.shop.clock.advance_ms(1);
    let second = pay(&guest, &booking, "p").await.expect(201).text("payment");
    at.fake.process(&second);
    at.shop.clock.advance_ms(3_600_000);
    let is_closing =
        |record: &SagaRecord| record.present().is_some_and(|row| row.stage == Stage::Closing);
    at.until(&booking, is_closing).await;
    comes_late(&at, &first).await;
    let is_done = |record: &SagaRecord| status_of(record, &first) == Some(RefundStatus::Done);
    let record = at.until(&booking, is_done).await;
    assert!(is_closing(&record), "{record:?}");
}

/// The operator asked anew, and then the first refund is made after all: the second is not.
#[tokio::test]
async fn a_part_is_not_given_back_twice_when_a_refund_that_failed_is_made_after_all() {
    // One failure uses up the saga's patience: nobody asks between the lines.
    let configure = |config: &mut Config| {
        tell_nobody(config);
        config.saga.tries = 1;
    };
    let at = StripeShop::start_with("", configure).await;
    let (booking, payments) = paid_after(&at, 0).await;
    at.fake.hold_refunds();
    let cancel = format!("/events/e/bookings/{booking}/cancel");
    let part = json!({"by": "crew", "why": "rain", "refund_minor": 500});
    at.shop.organise("POST", &cancel, &part).await;
    let is_sent = |record: &SagaRecord| status_of(record, &payments[0]) == Some(RefundStatus::Sent);
    let record = at.until(&booking, is_sent).await;
    let refund = refund_of(&record, &payments[0]).to_owned();
    let told = at.fake.events().len();
    at.fake.settle_refund(&refund, "failed", "refund.failed");
    at.bring_from(told).await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;

    at.fake.revoke_key(true);
    let act = async |action: Action| {
        let sagas = at.shop.server.sagas();
        sagas.act(&booking.parse().unwrap(), action, "crew").await.unwrap();
    };
    act(Action::Retry).await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    at.fake.revoke_key(false);
    let told = at.fake.events().len();
    at.fake.settle_refund(&refund, "succeeded", "refund.updated");
    at.bring_from(told).await;
    for _ in 0..2 {
        let record = at.until(&booking, |record| record.saga.stuck.is_some()).await;
        assert_eq!(at.fake.refunds().len(), 1, "{record:?}");
        assert!(told_of(&at, &booking, &payments[0]).await.is_empty(), "another one may be made");
        act(Action::Retry).await;
    }

    // The other one is not to be made any more: what was made is told.
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    act(Action::Release).await;
    let told = told_of(&at, &booking, &payments[0]).await;
    let [(kind, said)] = &*told else { panic!("{told:?}") };
    let expected = json!({"refund_minor": 500, "currency": "EUR", "payment": payments[0],
        "why": "the refund was made after all", "booking_status": "cancelled"});
    assert_eq!((kind.as_str(), said), ("booking_refunded", &expected));
    assert_eq!(at.fake.refunds().len(), 1);
}

/// Another payment's refund failed, and has an operator end the saga: what Stripe works on goes on.
#[tokio::test]
async fn a_release_leaves_a_refund_alone_that_the_gateway_works_on() {
    for (failed, kind) in [(0, "payment_late_refunded"), (1, "booking_refunded")] {
        let at = StripeShop::start_with("", tell_nobody).await;
        let (booking, payments) = two_under_way(&at).await;
        let sent = &payments[1 - failed];
        let record = at.saga_record(&booking).await;
        let told = at.fake.events().len();
        at.fake.settle_refund(refund_of(&record, &payments[failed]), "failed", "refund.failed");
        at.bring_from(told).await;
        at.until(&booking, |record| record.saga.stuck.is_some()).await;
        let sagas = at.shop.server.sagas();
        sagas.act(&booking.parse().unwrap(), Action::Release, "crew").await.unwrap();
        let record = at.saga_record(&booking).await;
        assert_eq!(status_of(&record, sent), Some(RefundStatus::Sent), "{record:?}");
        assert_eq!(record.saga.stuck, None, "{record:?}");
        let by_hand = |row: &&Refund| row.cause == RefundCause::ByHand;
        let by_hand: Vec<_> = record.refunds.iter().filter(by_hand).collect();
        assert_eq!(by_hand.len(), 1, "{record:?}");
        assert_eq!(by_hand[0].payment.as_str(), payments[failed]);
        let told_by_hand = told_of(&at, &booking, &payments[failed]).await;
        let [(told_as, said)] = &*told_by_hand else { panic!("{told_by_hand:?}") };
        let expected = json!({"refund_minor": 2_500, "currency": "EUR", "payment": payments[failed],
            "why": "given back by other means than the gateway", "booking_status": "cancelled",
            "by_hand": true});
        assert_eq!((told_as.as_str(), said), (kind, &expected));
        assert!(told_of(&at, &booking, sent).await.is_empty(), "the gateway is still at it");

        let told = at.fake.events().len();
        at.fake.settle_refund(refund_of(&record, sent), "succeeded", "refund.updated");
        at.bring_from(told).await;
        let record = at
            .until(&booking, |record| {
                record.saga.step == Step::Failed && record.strays().next().is_none()
            })
            .await;
        assert_eq!(status_of(&record, sent), Some(RefundStatus::Done));
        assert_eq!(record.saga.stuck, None);

        // The gateway has made after all what it would not: what was told is not told again.
        let first = refund_of(&record, &payments[failed]);
        let told = at.fake.events().len();
        at.fake.settle_refund(first, "succeeded", "refund.updated");
        at.bring_from(told).await;
        let record = at.until(&booking, |record| record.saga.stuck.is_some()).await;
        assert!(record.refunds.iter().all(|row| row.status == RefundStatus::Done), "{record:?}");
        assert_eq!(told_of(&at, &booking, &payments[failed]).await, told_by_hand);
    }
}

/// An account that tells of charges alone: what was given back by hand never went through Stripe.
#[tokio::test]
async fn a_refund_at_the_desk_is_seen_although_as_much_was_given_back_by_hand() {
    let at = StripeShop::start_with("", |config| config.saga.tries = 1).await;
    let (booking, payments) = paid_after(&at, 0).await;
    at.fake.revoke_key(true);
    let cancel = format!("/events/e/bookings/{booking}/cancel");
    at.shop.organise("POST", &cancel, &json!({"by": "crew", "why": "rain"})).await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    let sagas = at.shop.server.sagas();
    sagas.act(&booking.parse().unwrap(), Action::Release, "crew").await.unwrap();
    at.fake.revoke_key(false);
    at.fake.refund_at_desk(&payments[0], 2_500);
    let told = at.fake.events().len();
    at.fake.tell_of_refunds(&payments[0]);
    at.bring_from(told).await;
    let list = at.shop.admin("GET", "/desk").send().await.expect(200).json();
    assert_eq!(list["entries"][0]["amount_minor"], 2_500, "{list}");
}

/// A part of the present payment came back from the desk: a stray's refund at Stripe is no part of that.
#[tokio::test]
async fn a_release_of_a_part_leaves_another_payments_refund_alone() {
    let at = StripeShop::start().await;
    let (booking, payments) = paid_after(&at, 1).await;
    let told = at.fake.events().len();
    at.fake.refund_at_desk(&payments[1], 1_000);
    at.bring_from(told).await;
    at.fake.hold_refunds();
    comes_late(&at, &payments[0]).await;
    let cancel = format!("/events/e/bookings/{booking}/cancel");
    at.shop.organise("POST", &cancel, &json!({"by": "crew", "why": "rain"})).await;
    let are_sent = |record: &SagaRecord| {
        payments.iter().all(|payment| status_of(record, payment) == Some(RefundStatus::Sent))
    };
    at.until(&booking, are_sent).await;
    let told = at.fake.events().len();
    at.fake.bounce_at_desk();
    at.bring_from(told).await;
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    let sagas = at.shop.server.sagas();
    sagas.act(&booking.parse().unwrap(), Action::Release, "crew").await.unwrap();
    let record = at.saga_record(&booking).await;
    assert_eq!(status_of(&record, &payments[0]), Some(RefundStatus::Sent), "{record:?}");
    let by_hand = record.refunds.iter().filter(|row| row.cause == RefundCause::ByHand);
    let by_hand: Vec<_> = by_hand.map(|row| (row.payment.as_str(), row.amount_minor)).collect();
    assert_eq!(by_hand, [(payments[1].as_str(), 1_000)]);
}
