//! Steps that fail, steps that are taken twice, and sagas that wait for an operator.

use crate::client::Answer;
use crate::shop::Shop;
use crate::till::{Till, message, send};
use crate::webhooks::{AMOUNT_MINOR, shop_with};
use onrush_base::config::relay::WebhookSettings;
use onrush_base::config::{CertificateSettings, Secret};
use onrush_core::Command;
use onrush_core::hold::OnDecline;
use onrush_core::ids::{BookingId, PaymentId, UserId};
use onrush_core::saga::{Stage, Step};
use onrush_ledger::money::RefundStatus;
use onrush_ledger::saga::{SagaFilter, SagaRecord};
use onrush_saga::Action;
use serde_json::{Value, json};

impl Shop {
    pub(crate) async fn act(&self, booking: &str, action: Action) -> Option<SagaRecord> {
        let booking: BookingId = booking.parse().unwrap();
        self.server.sagas().act(&booking, action, "crew").await.unwrap()
    }

    /// The bookings whose sagas are listed as stuck.
    pub(crate) async fn stuck(&self) -> Vec<String> {
        let filter = SagaFilter { stuck: Some(true), ..SagaFilter::default() };
        let page = self.server.ledger().sagas(filter, 10).await.unwrap();
        page.rows.iter().map(|saga| saga.booking.to_string()).collect()
    }

    pub(crate) async fn cancel(&self, booking: &str) -> Answer {
        let path = format!("/events/e/bookings/{booking}/cancel");
        self.admin("POST", &path).json(&json!({"by": "crew", "why": "rain"})).send().await
    }

    /// A booking of one guest that was paid for.
    pub(crate) async fn sell(&self, till: &Till) -> (String, Value) {
        let guest = self.guest().await;
        let booking = guest.hold_ga("h", 1).await;
        let payment = guest.pay(&booking, "p").await.expect(201).json();
        till.capture(payment["payment"].as_str().unwrap());
        send(self, &message("payment.captured", &payment)).await.expect(200);
        self.until_step(&booking, Step::Confirmed).await;
        (booking, payment)
    }

    /// The same, cancelled, with a gateway that refuses to give the money back.
    pub(crate) async fn sell_and_get_stuck(&self, till: &Till) -> String {
        let (booking, _) = self.sell(till).await;
        till.refuse_refunds(true);
        self.cancel(&booking).await.expect(200);
        self.until_record(&booking, |record| record.saga.stuck.is_some()).await;
        booking
    }
}

#[tokio::test]
async fn money_that_another_gateway_took_is_not_asked_of_this_one() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (booking, _) = shop.sell(&till).await;
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    let ledger = rusqlite::Connection::open(dir.path().join("ledger.db")).unwrap();
    assert_eq!(ledger.execute("UPDATE payments SET gateway = 'stripe'", []), Ok(1));
    drop(ledger);
    let shop = Shop::start_in(dir, clock, |config| {
        till.configure(config);
        config.saga.tries = 1;
    })
    .await;
    shop.cancel(&booking).await.expect(200);
    let record = shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    let why = record.saga.stuck.unwrap_or_default();
    assert!(why.contains("the payment is stripe's, and the gateway is sandbox now"), "{why}");
    assert_eq!(record.refunds[0].status, RefundStatus::Requested);
    assert_eq!(till.totals(), (AMOUNT_MINOR, 0));
}

#[tokio::test]
async fn a_gateway_that_is_down_keeps_the_hold_and_the_same_key_pays_later() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    till.down(true);
    for _ in 0..2 {
        // `problem` sees to it that there is a Retry-After.
        let refused = guest.pay(&booking, "p").await;
        assert_eq!(refused.problem(), (503, "GATEWAY_UNAVAILABLE".into()));
    }
    assert_eq!(guest.booking(&booking).await["status"], "paying");
    till.down(false);
    // Until it is the saga's turn again nobody asks the gateway.
    guest.pay(&booking, "p").await.expect(503);
    shop.clock.advance_ms(2_000);
    let payment = guest.pay(&booking, "p").await.expect(200).json();
    assert_eq!(till.calls().0, 1);
    till.capture(payment["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &payment)).await.expect(200);
    shop.until_step(&booking, Step::Confirmed).await;
    assert_eq!(shop.saga_record(&booking).await.payments.len(), 1);
}

#[tokio::test]
async fn a_hold_does_not_outlive_its_deadline_because_the_gateway_is_down() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    till.down(true);
    guest.pay(&booking, "p").await.expect(503);
    shop.clock.advance_ms(599_000);
    assert_eq!(guest.booking(&booking).await["status"], "paying");
    shop.clock.advance_ms(60_000);
    guest.until_status(&booking, "expired").await;
    till.down(false);
    shop.clock.advance_ms(120_000);
    let record = shop.until_step(&booking, Step::Failed).await;
    let payment = record.present().unwrap();
    assert_eq!(payment.stage, Stage::Void);
    // It was never there, and can never come to be.
    assert_eq!(till.status_of(payment.payment.as_str()), "cancelled");
}

/// The gateway is silent until the hold has run out: what is meant is that, and not that the gateway refuses.
#[tokio::test]
async fn a_hold_that_runs_out_while_the_gateway_is_silent_is_said_to_have_run_out() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let speak = till.fall_silent();
    let path = format!("/bookings/{booking}/payment");
    let paying = tokio::spawn(guest.ask("POST", &path).key("p").send());
    till.until_asked().await;
    let version = shop.saga_record(&booking).await.saga.version;
    shop.clock.advance_ms(600_000);
    guest.until_status(&booking, "expired").await;
    // The feed has the saga looked at again, which the request finds when it comes to write.
    shop.until_record(&booking, |record| record.saga.version > version).await;
    speak.send_replace(true);
    let answer = paying.await.unwrap();
    assert_eq!(answer.problem(), (409, "HOLD_EXPIRED".into()));
    assert_eq!(guest.pay(&booking, "p").await.body, answer.body);
    assert_eq!(guest.pay(&booking, "q").await.problem(), (409, "HOLD_EXPIRED".into()));
    assert_eq!(till.totals(), (0, 0));
}

#[tokio::test]
async fn a_ledger_that_cannot_be_written_stops_money_and_loses_none() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (guest, waiting) = (shop.guest().await, shop.guest().await);
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    let other = waiting.hold_ga("h", 1).await;
    till.capture(payment["payment"].as_str().unwrap());

    shop.server.sqlite_ledger().expect("a file").break_for_tests(true);
    let unavailable = (503, "LEDGER_UNAVAILABLE".to_owned());
    let told = message("payment.captured", &payment);
    assert_eq!(send(&shop, &told).await.problem(), unavailable);
    assert_eq!(waiting.pay(&other, "p").await.problem(), unavailable);
    assert_eq!(guest.booking(&booking).await["status"], "paying");

    shop.server.sqlite_ledger().expect("a file").break_for_tests(false);
    send(&shop, &told).await.expect(200);
    assert_eq!(guest.booking(&booking).await["status"], "confirmed");
    let paid = waiting.pay(&other, "p").await.expect(201).json();
    till.capture(paid["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &paid)).await.expect(200);
    shop.until_step(&other, Step::Confirmed).await;
    assert_eq!(till.totals(), (2 * AMOUNT_MINOR, 0));
}

#[tokio::test]
async fn a_refund_waits_for_a_ledger_that_cannot_be_written() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (booking, _) = shop.sell(&till).await;
    shop.server.sqlite_ledger().expect("a file").break_for_tests(true);
    shop.cancel(&booking).await.expect(200);
    assert_eq!(till.calls().1, 0);
    shop.server.sqlite_ledger().expect("a file").break_for_tests(false);
    shop.until_step(&booking, Step::Failed).await;
    assert_eq!((till.totals(), till.calls().1), ((AMOUNT_MINOR, AMOUNT_MINOR), 1));
}

#[tokio::test]
async fn a_booking_that_is_cancelled_twice_is_refunded_once() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (booking, payment) = shop.sell(&till).await;
    let (first, second) = tokio::join!(shop.cancel(&booking), shop.cancel(&booking));
    first.expect(200);
    second.expect(200);
    let record = shop.until_step(&booking, Step::Failed).await;
    shop.cancel(&booking).await.expect(200);
    let mut told = message("refund.done", &payment);
    told["refund"] = json!(record.refunds[0].refund);
    for _ in 0..2 {
        send(&shop, &told).await.expect(200);
    }
    for _ in 0..100 {
        shop.server.sagas().look();
        tokio::task::yield_now().await;
    }
    let record = shop.until_record(&booking, |record| record.saga.next_at.is_none()).await;
    assert_eq!(record.refunds.len(), 1);
    assert_eq!((till.totals(), till.calls()), ((AMOUNT_MINOR, AMOUNT_MINOR), (1, 1)));
}

#[tokio::test]
async fn a_saga_is_driven_once_however_many_look_at_it() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let (a, b, c) =
        tokio::join!(guest.pay(&booking, "p"), guest.pay(&booking, "q"), guest.pay(&booking, "r"));
    let ids: Vec<String> = [a, b, c].iter().map(|answer| answer.text("payment")).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let payment = guest.get(&format!("/bookings/{booking}/payment")).await.expect(200).json();
    till.capture(&ids[0]);
    let told = message("payment.captured", &payment);
    shop.clock.advance_ms(3_600_000);
    // The feed wakes recovery, the gateway tells, and somebody looks, all at the same time.
    let look = async {
        for _ in 0..100 {
            shop.server.sagas().look();
            tokio::task::yield_now().await;
        }
    };
    let (one, two, ()) = tokio::join!(send(&shop, &told), send(&shop, &told), look);
    one.expect(200);
    two.expect(200);
    let record = shop.until_step(&booking, Step::Confirmed).await;
    assert_eq!((record.payments.len(), record.refunds.len()), (1, 0));
    assert_eq!((till.totals(), till.calls().0), ((AMOUNT_MINOR, 0), 1));
}

#[tokio::test]
async fn a_refused_refund_is_stuck_until_a_retry_succeeds_and_holds_nobody_up() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let booking = shop.sell_and_get_stuck(&till).await;
    assert_eq!(shop.stuck().await, [booking.as_str()]);
    // It waits for an operator, however much time passes, and asks the gateway no more.
    let asked = till.calls().1;
    shop.clock.advance_ms(24 * 3_600_000 - 1);
    let (other, _) = shop.sell(&till).await;
    assert_eq!(till.calls().1, asked);
    assert_eq!(shop.saga_record(&other).await.saga.stuck, None);

    let still = shop.act(&booking, Action::Retry).await.expect("it is stuck");
    assert!(still.saga.stuck.is_some());
    till.refuse_refunds(false);
    shop.act(&booking, Action::Retry).await.expect("it is stuck");
    let record = shop.until_step(&booking, Step::Failed).await;
    // Each retry asks under a key of its own: a gateway keeps its refusals.
    let statuses: Vec<RefundStatus> = record.refunds.iter().map(|refund| refund.status).collect();
    assert_eq!(statuses, [RefundStatus::Failed, RefundStatus::Failed, RefundStatus::Done]);
    assert_eq!(till.totals(), (2 * AMOUNT_MINOR, AMOUNT_MINOR));
    assert_eq!(shop.stuck().await, [""; 0]);
    // What is not stuck is left alone.
    for action in [Action::Retry, Action::Refund, Action::Release] {
        assert_eq!(shop.act(&booking, action).await, None);
        assert_eq!(shop.act(&other, action).await, None);
    }
}

#[tokio::test]
async fn an_operators_refund_of_a_stuck_refund_gives_the_money_back_once() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let booking = shop.sell_and_get_stuck(&till).await;
    till.refuse_refunds(false);
    shop.act(&booking, Action::Refund).await.expect("it is stuck");
    shop.until_step(&booking, Step::Failed).await;
    assert_eq!(till.totals(), (AMOUNT_MINOR, AMOUNT_MINOR));
    let totals = shop.server.ledger().totals().await.unwrap();
    assert_eq!((totals.refunded_minor, totals.refunding_minor), (AMOUNT_MINOR, 0));
    assert_eq!(totals.stuck_sagas, 0);
}

#[tokio::test]
async fn an_operators_release_of_a_stuck_refund_ends_it_without_the_gateway() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let booking = shop.sell_and_get_stuck(&till).await;
    shop.act(&booking, Action::Release).await.expect("it is stuck");
    shop.until_step(&booking, Step::Failed).await;
    let totals = shop.server.ledger().totals().await.unwrap();
    assert_eq!((totals.stuck_sagas, totals.refunding_minor), (0, 0));
    assert_eq!(till.totals(), (AMOUNT_MINOR, 0));
}

#[tokio::test]
async fn a_refund_that_is_made_after_all_is_told_like_any_other() {
    let till = Till::start();
    let shop = Shop::start_with(|config| {
        till.configure(config);
        // Nobody listens there: what is to be told waits.
        config.webhooks = vec![WebhookSettings {
            name: "crm".into(),
            url: "https://localhost:1/hook".into(),
            secret: Secret::from("a secret for tests only".to_owned()),
            kinds: None,
            allow_private: true,
            certificates: CertificateSettings::default(),
        }];
    })
    .await;
    crate::paying::paid_event(&shop, "e").await;
    let (booking, payment) = shop.sell(&till).await;
    till.refuse_refunds(true);
    shop.cancel(&booking).await.expect(200);
    let record = shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    let mut told = message("refund.done", &payment);
    told["refund"] = json!(record.refunds[0].refund);
    send(&shop, &told).await.expect(200);
    shop.until_step(&booking, Step::Failed).await;
    let about = shop.server.ledger().messages_about(vec![booking.parse().unwrap()]).await.unwrap();
    let refunds = about.iter().filter(|message| message.kind == "booking_refunded").count();
    assert_eq!(refunds, 1, "{about:?}");
}

/// A confirmed booking with a second payment, whose money the gateway refuses to give back.
pub(crate) async fn stray_that_is_stuck(shop: &Shop, till: &Till) -> String {
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let first = guest.pay(&booking, "p").await.expect(201).json();
    send(shop, &message("payment.declined", &first)).await.expect(200);
    shop.clock.advance_ms(1);
    let second = guest.pay(&booking, "p2").await.expect(201).json();
    till.capture(second["payment"].as_str().unwrap());
    send(shop, &message("payment.captured", &second)).await.expect(200);
    till.refuse_refunds(true);
    till.capture(first["payment"].as_str().unwrap());
    send(shop, &message("payment.captured", &first)).await.expect(200);
    let record = shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    assert_eq!(record.saga.step, Step::Confirmed);
    booking
}

#[tokio::test]
async fn a_payment_is_confirmed_although_money_of_an_earlier_one_cannot_go_back() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let first = guest.pay(&booking, "p").await.expect(201).json();
    send(&shop, &message("payment.declined", &first)).await.expect(200);
    shop.clock.advance_ms(1);
    let second = guest.pay(&booking, "p2").await.expect(201).json();
    till.refuse_refunds(true);
    till.capture(first["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &first)).await.expect(200);
    let record = shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    assert_eq!(record.saga.step, Step::PaymentSent);

    till.capture(second["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &second)).await.expect(200);
    shop.until_step(&booking, Step::Confirmed).await;
    // What went wrong with the other one is still somebody's business, soon.
    shop.clock.advance_ms(31_000);
    shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    assert_eq!(shop.saga_record(&booking).await.strays().count(), 1);
    assert_eq!(till.totals(), (2 * AMOUNT_MINOR, 0));
}

#[tokio::test]
async fn an_operators_refund_of_a_stray_payment_leaves_the_confirmed_booking_its_own() {
    for action in [Action::Refund, Action::Retry] {
        let till = Till::start();
        let shop = shop_with(&till).await;
        let booking = stray_that_is_stuck(&shop, &till).await;
        till.refuse_refunds(false);
        shop.act(&booking, action).await.expect("it is stuck");
        let record = shop.until_record(&booking, |record| record.strays().next().is_none()).await;
        assert_eq!((record.saga.step, record.saga.stuck), (Step::Confirmed, None));
        assert_eq!(till.totals(), (2 * AMOUNT_MINOR, AMOUNT_MINOR));
    }
}

#[tokio::test]
async fn an_operators_release_of_a_stray_payment_leaves_the_confirmed_booking_alone() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let booking = stray_that_is_stuck(&shop, &till).await;
    shop.act(&booking, Action::Release).await.expect("it is stuck");
    let record = shop.until_record(&booking, |record| record.strays().next().is_none()).await;
    assert_eq!((record.saga.step, record.saga.stuck), (Step::Confirmed, None));
    assert_eq!(till.totals(), (2 * AMOUNT_MINOR, 0));
    assert_eq!(shop.server.ledger().totals().await.unwrap().refunding_minor, 0);
}

/// A saga that learned from the gateway that another amount was taken.
async fn overcharged(shop: &Shop, till: &Till) -> String {
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).text("payment");
    till.capture_other(&payment, AMOUNT_MINOR + 1);
    // Five minutes without news, and the gateway is asked.
    shop.clock.advance_ms(301_000);
    shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    booking
}

#[tokio::test]
async fn an_amount_that_does_not_match_is_stuck_and_flagged_and_can_be_refunded() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let booking = overcharged(&shop, &till).await;
    let record = shop.saga_record(&booking).await;
    assert!(record.present().unwrap().flagged);
    assert_eq!(shop.stuck().await, [booking.as_str()]);
    assert_ne!(record.saga.step, Step::Confirmed);
    // Asking again does not help.
    let still = shop.act(&booking, Action::Retry).await.expect("it is stuck");
    assert!(still.saga.stuck.is_some());
    shop.act(&booking, Action::Refund).await.expect("it is stuck");
    shop.until_step(&booking, Step::Failed).await;
    assert_eq!(till.totals(), (AMOUNT_MINOR + 1, AMOUNT_MINOR + 1));
    shop.clock.advance_ms(3_600_000);
    shop.until_record(&booking, |record| record.saga.next_at.is_none()).await;
    assert_eq!(shop.saga_record(&booking).await.saga.step, Step::Failed);
}

#[tokio::test]
async fn a_gateway_that_is_down_for_long_gets_stuck_and_a_release_gives_the_units_back() {
    let till = Till::start();
    let shop = Shop::start_with(|config| {
        till.configure(config);
        config.saga.tries = 3;
    })
    .await;
    crate::paying::paid_event(&shop, "e").await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    till.down(true);
    guest.pay(&booking, "p").await.expect(503);
    for _ in 0..3 {
        shop.clock.advance_ms(60_000);
        let tries = shop.saga_record(&booking).await.saga.tries;
        let tried = |record: &SagaRecord| record.saga.tries > tries || record.saga.stuck.is_some();
        shop.until_record(&booking, tried).await;
    }
    assert_eq!(shop.stuck().await, [booking.as_str()]);
    shop.act(&booking, Action::Release).await.expect("it is stuck");
    shop.until_step(&booking, Step::Failed).await;
    assert_eq!(guest.booking(&booking).await["status"], "released");
}

/// The key is mended after an hour, and nobody has to go through what had waited for it.
#[tokio::test]
async fn what_a_refused_key_made_stuck_goes_on_by_itself_once_the_key_works() {
    let till = Till::start();
    let shop = Shop::start_with(|config| {
        till.configure(config);
        config.saga.tries = 1;
    })
    .await;
    crate::paying::paid_event(&shop, "e").await;
    let (booking, _) = shop.sell(&till).await;
    till.refuse_key(true);
    shop.cancel(&booking).await.expect(200);
    shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    shop.clock.advance_ms(3_600_000);
    assert_eq!(shop.stuck().await, [booking.as_str()]);
    till.refuse_key(false);
    // Somebody else's payment shows that the key works.
    let guest = shop.guest().await;
    let other = guest.hold_ga("h", 1).await;
    guest.pay(&other, "p").await.expect(201);
    let record = shop.until_step(&booking, Step::Failed).await;
    assert_eq!((record.saga.stuck, till.totals()), (None, (AMOUNT_MINOR, AMOUNT_MINOR)));
}

#[tokio::test]
async fn an_operators_release_closes_a_payment_that_the_buyer_could_still_make() {
    let till = Till::start();
    let shop = Shop::start_with(|config| {
        till.configure(config);
        config.saga.tries = 1;
    })
    .await;
    crate::paying::paid_event(&shop, "e").await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).text("payment");
    till.down(true);
    shop.clock.advance_ms(301_000);
    let record = shop.until_record(&booking, |record| record.saga.stuck.is_some()).await;
    assert_eq!(record.present().unwrap().stage, Stage::Open);
    till.down(false);
    shop.act(&booking, Action::Release).await.expect("it is stuck");
    shop.until_step(&booking, Step::Failed).await;
    assert_eq!(till.asked(&payment)["status"], "cancelled");
    assert_eq!(guest.booking(&booking).await["status"], "released");
}

/// Has the engine do what a process did that died before it could write it down.
pub(crate) async fn as_if_it_had_died(shop: &Shop, command: Command) {
    let event = "e".parse().unwrap();
    shop.server.engine().execute(event, command).await.unwrap();
}

#[tokio::test]
async fn a_payment_begun_before_the_last_ones_end_was_written_down_goes_on() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let text = guest.hold_ga("h", 1).await;
    let first = guest.pay(&text, "p").await.expect(201).text("payment");
    let (booking, user): (BookingId, UserId) = (text.parse().unwrap(), guest.user.parse().unwrap());
    let failed = Command::FailPayment {
        booking: booking.clone(),
        payment: first.parse().unwrap(),
        why: "declined".into(),
        then: OnDecline::Keep,
    };
    as_if_it_had_died(&shop, failed).await;
    shop.clock.advance_ms(1);
    let second: PaymentId = format!("{text}.00112233aabb").parse().unwrap();
    let begun = Command::BeginPayment { booking, user, payment: second.clone() };
    as_if_it_had_died(&shop, begun).await;

    let is_open = |record: &SagaRecord| {
        record.present().is_some_and(|row| row.payment == second && row.stage == Stage::Open)
    };
    let record = shop.until_record(&text, is_open).await;
    assert_eq!(record.saga.stuck, None);
    assert_eq!(till.status_of(&first), "cancelled");
    let payment = guest.get(&format!("/bookings/{text}/payment")).await.expect(200).json();
    till.capture(second.as_str());
    send(&shop, &message("payment.captured", &payment)).await.expect(200);
    shop.until_step(&text, Step::Confirmed).await;
    assert_eq!(till.totals(), (AMOUNT_MINOR, 0));
}

/// The ledger was put back from before the last payment's end, or whoever was to write that down died.
#[tokio::test]
async fn a_buyer_who_pays_again_before_the_last_payments_end_was_written_down_keeps_the_hold() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let text = guest.hold_ga("h", 1).await;
    let first = guest.pay(&text, "p").await.expect(201).text("payment");
    let failed = Command::FailPayment {
        booking: text.parse().unwrap(),
        payment: first.parse().unwrap(),
        why: "declined".into(),
        then: OnDecline::Keep,
    };
    as_if_it_had_died(&shop, failed).await;
    let payment = guest.pay(&text, "again").await.expect(201).json();
    let second = payment["payment"].as_str().unwrap();
    assert_ne!(second, first);
    assert_eq!(till.status_of(&first), "cancelled");
    till.capture(second);
    send(&shop, &message("payment.captured", &payment)).await.expect(200);
    shop.until_step(&text, Step::Confirmed).await;
    assert_eq!(till.totals(), (AMOUNT_MINOR, 0));
}

#[tokio::test]
async fn who_pays_is_known_although_recovery_wrote_the_payment_down() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let text = guest.hold_ga("h", 1).await;
    let (booking, user): (BookingId, UserId) = (text.parse().unwrap(), guest.user.parse().unwrap());
    let payment: PaymentId = format!("{text}.00112233aabb").parse().unwrap();
    let begun = Command::BeginPayment { booking: booking.clone(), user, payment };
    as_if_it_had_died(&shop, begun).await;
    shop.until_step(&text, Step::PaymentSent).await;
    let body = json!({"buyer": {"name": "Ann", "email": "ann@example.org"}});
    let path = format!("/bookings/{text}/payment");
    guest.ask("POST", &path).key("p").json(&body).send().await.expect(200);
    let buyer = shop.server.ledger().buyer(&booking).await.unwrap();
    assert_eq!(buyer.expect("the buyer is known").name, "Ann");
}
