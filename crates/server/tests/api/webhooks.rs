//! What gateways tell: twice, out of order, late, forged. Nothing but genuine news changes
//! anything, and that only once.

use crate::client::Answer;
use crate::paying::paid_event;
use crate::shop::{Guest, Shop};
use crate::till::{Till, WEBHOOK_SECRET, message, now_s, send, send_signed, webhook};
use onrush_base::signature::sign;
use onrush_core::ids::BookingId;
use onrush_core::saga::{Stage, Step};
use onrush_ledger::money::RefundStatus;
use onrush_ledger::saga::SagaRecord;
use onrush_saga::Action;
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) const AMOUNT_MINOR: i64 = 2_725;

/// A shop with a gateway that the test plays, and an event `e` whose ten standing places cost 25.00 each.
pub(crate) async fn shop_with(till: &Till) -> Shop {
    let shop = Shop::start_with(|config| till.configure(config)).await;
    paid_event(&shop, "e").await;
    shop
}

impl Shop {
    pub(crate) async fn saga_record(&self, booking: &str) -> SagaRecord {
        let booking: BookingId = booking.parse().unwrap();
        self.server.ledger().saga_record(&booking).await.unwrap().expect("there is a saga")
    }

    /// Waits until a saga is where it should be, and looks for it meanwhile as if time passed.
    pub(crate) async fn until_record(
        &self,
        booking: &str,
        fits: impl Fn(&SagaRecord) -> bool,
    ) -> SagaRecord {
        let wait = async {
            loop {
                // The feed may not have been followed so far yet.
                let id: BookingId = booking.parse().unwrap();
                let record = self.server.ledger().saga_record(&id).await.unwrap();
                if let Some(record) = record.filter(&fits) {
                    return record;
                }
                self.server.sagas().look();
                tokio::task::yield_now().await;
            }
        };
        match tokio::time::timeout(Duration::from_secs(20), wait).await {
            Ok(record) => record,
            Err(_) => panic!("it stays at {:#?}", self.saga_record(booking).await),
        }
    }

    pub(crate) async fn until_step(&self, booking: &str, step: Step) -> SagaRecord {
        self.until_record(booking, |record| record.saga.step == step).await
    }

    /// The same for a saga that may have asked in vain: the clock goes to each of its next tries,
    /// and no further, because time that goes on by itself would end holds on a busy machine.
    pub(crate) async fn until_tried(
        &self,
        booking: &str,
        fits: impl Fn(&SagaRecord) -> bool,
    ) -> SagaRecord {
        let fits_now = |record: &SagaRecord| {
            let next_at = record.saga.next_at.filter(|_| record.saga.tries > 0);
            self.clock.set(next_at.unwrap_or_default().max(self.clock.now()));
            fits(record)
        };
        self.until_record(booking, fits_now).await
    }

    pub(crate) async fn until_tried_to(&self, booking: &str, step: Step) -> SagaRecord {
        self.until_tried(booking, |record| record.saga.step == step).await
    }

    async fn free(&self) -> i64 {
        let answer = self.ask("GET", "/events/e/availability").send().await;
        answer.expect(200).json()["pools"][0]["free"].as_i64().unwrap()
    }
}

/// A payment that waits for its buyer.
struct Paying<'a> {
    guest: Guest<'a>,
    booking: String,
    payment: Value,
}

impl Paying<'_> {
    fn id(&self) -> &str {
        self.payment["payment"].as_str().unwrap()
    }

    fn told(&self, kind: &str) -> Value {
        message(kind, &self.payment)
    }
}

async fn paying(shop: &Shop) -> Paying<'_> {
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    Paying { guest, booking, payment }
}

/// The same, paid for and told.
async fn confirmed<'a>(shop: &'a Shop, till: &Till) -> Paying<'a> {
    let paying = paying(shop).await;
    till.capture(paying.id());
    send(shop, &paying.told("payment.captured")).await.expect(200);
    assert_eq!(paying.guest.booking(&paying.booking).await["status"], "confirmed");
    paying
}

fn mismatch(answer: &Answer) {
    assert_eq!(answer.problem(), (409, "WEBHOOK_MISMATCH".into()));
}

#[tokio::test]
async fn a_message_that_comes_twice_confirms_once() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let paying = paying(&shop).await;
    till.capture(paying.id());
    let told = paying.told("payment.captured");
    // Two at once, and one more.
    let (first, second) = tokio::join!(send(&shop, &told), send(&shop, &told));
    first.expect(200);
    second.expect(200);
    let after = shop.saga_record(&paying.booking).await;
    let committed = shop.committed();
    send(&shop, &told).await.expect(200);
    assert_eq!(shop.saga_record(&paying.booking).await, after);
    assert_eq!(shop.committed(), committed);
    assert_eq!((after.saga.step, after.payments.len()), (Step::Confirmed, 1));
    assert_eq!((till.totals(), shop.free().await), ((AMOUNT_MINOR, 0), 9));
}

#[tokio::test]
async fn what_comes_after_the_money_changes_nothing() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let paying = confirmed(&shop, &till).await;
    let (before, committed) = (shop.saga_record(&paying.booking).await, shop.committed());
    for kind in ["payment.declined", "payment.cancelled", "payment.open", "customer.created"] {
        send(&shop, &paying.told(kind)).await.expect(200);
        assert_eq!(shop.saga_record(&paying.booking).await, before, "{kind}");
    }
    assert_eq!(shop.committed(), committed);
    assert_eq!(till.status_of(paying.id()), "captured");
}

#[tokio::test]
async fn money_counts_more_than_a_decline_that_came_first() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let paying = paying(&shop).await;
    till.capture(paying.id());
    // The driver wants to cancel it, and learns of the money.
    send(&shop, &paying.told("payment.declined")).await.expect(200);
    let record = shop.until_step(&paying.booking, Step::Confirmed).await;
    send(&shop, &paying.told("payment.captured")).await.expect(200);
    assert_eq!(shop.saga_record(&paying.booking).await, record);
    assert_eq!(till.totals(), (AMOUNT_MINOR, 0));
}

#[tokio::test]
async fn money_for_a_payment_that_had_ended_goes_back_and_the_hold_lives_on() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let paying = paying(&shop).await;
    send(&shop, &paying.told("payment.declined")).await.expect(200);
    shop.until_step(&paying.booking, Step::ReserveOk).await;
    // The gateway had called it cancelled.
    assert_eq!(till.status_of(paying.id()), "cancelled");
    till.capture(paying.id());
    send(&shop, &paying.told("payment.captured")).await.expect(200);
    assert_eq!(till.totals(), (AMOUNT_MINOR, AMOUNT_MINOR));
    assert_eq!(paying.guest.booking(&paying.booking).await["status"], "held");

    let second = paying.guest.pay(&paying.booking, "p2").await.expect(201).json();
    till.capture(second["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &second)).await.expect(200);
    shop.until_step(&paying.booking, Step::Confirmed).await;
    assert_eq!(till.totals(), (2 * AMOUNT_MINOR, AMOUNT_MINOR));
}

/// A payment that had ended, and a captured message about another amount than was asked for.
async fn ended_and_underpaid<'a>(shop: &'a Shop, till: &Till) -> (Paying<'a>, Value) {
    let paying = paying(shop).await;
    let mut told = paying.told("payment.captured");
    told["amount_minor"] = json!(AMOUNT_MINOR - 1);
    // It came too soon once, so that the payment is flagged already.
    mismatch(&send(shop, &told).await);
    send(shop, &paying.told("payment.declined")).await.expect(200);
    shop.until_step(&paying.booking, Step::ReserveOk).await;
    till.capture_other(paying.id(), AMOUNT_MINOR - 1);
    (paying, told)
}

#[tokio::test]
async fn another_amount_for_a_payment_that_had_ended_goes_back_as_it_was_taken() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (paying, told) = ended_and_underpaid(&shop, &till).await;
    for _ in 0..2 {
        mismatch(&send(&shop, &told).await);
        let record = shop.saga_record(&paying.booking).await;
        let row = &record.payments[0];
        assert_eq!((row.stage, row.captured_minor), (Stage::Refunded, AMOUNT_MINOR - 1));
        assert!(row.flagged && record.saga.stuck.is_none(), "{record:?}");
        assert_eq!(till.totals(), (AMOUNT_MINOR - 1, AMOUNT_MINOR - 1));
    }
    assert_eq!(paying.guest.booking(&paying.booking).await["status"], "held");
    let second = paying.guest.pay(&paying.booking, "p2").await.expect(201).json();
    till.capture(second["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &second)).await.expect(200);
    shop.until_step(&paying.booking, Step::Confirmed).await;
}

#[tokio::test]
async fn an_operator_refunds_another_amount_for_a_payment_that_had_ended() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (paying, told) = ended_and_underpaid(&shop, &till).await;
    till.refuse_refunds(true);
    mismatch(&send(&shop, &told).await);
    shop.until_record(&paying.booking, |record| record.saga.stuck.is_some()).await;
    let still = shop.act(&paying.booking, Action::Refund).await.expect("it is stuck");
    assert!(still.saga.stuck.is_some(), "{still:?}");
    till.refuse_refunds(false);
    shop.act(&paying.booking, Action::Refund).await.expect("it is stuck");
    let back = |record: &SagaRecord| record.strays().next().is_none();
    let record = shop.until_record(&paying.booking, back).await;
    assert_eq!(record.saga.stuck, None);
    assert_eq!(till.totals(), (AMOUNT_MINOR - 1, AMOUNT_MINOR - 1));
}

/// What is no money of the payment's own currency cannot be given back here.
#[tokio::test]
async fn another_currency_for_a_payment_that_had_ended_is_heard_again_after_a_retry() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let paying = paying(&shop).await;
    send(&shop, &paying.told("payment.declined")).await.expect(200);
    shop.until_step(&paying.booking, Step::ReserveOk).await;
    let mut told = paying.told("payment.captured");
    told["currency"] = json!("USD");
    for _ in 0..2 {
        mismatch(&send(&shop, &told).await);
        let record = shop.saga_record(&paying.booking).await;
        assert!(record.saga.stuck.is_some() && record.refunds.is_empty(), "{record:?}");
        let seen = shop.act(&paying.booking, Action::Retry).await.expect("it is stuck");
        assert_eq!(seen.saga.stuck, None);
    }
}

#[tokio::test]
async fn a_second_payment_for_a_confirmed_booking_goes_back() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let paying = paying(&shop).await;
    send(&shop, &paying.told("payment.declined")).await.expect(200);
    let second = paying.guest.pay(&paying.booking, "p2").await.expect(201).json();
    till.capture(second["payment"].as_str().unwrap());
    send(&shop, &message("payment.captured", &second)).await.expect(200);
    shop.until_step(&paying.booking, Step::Confirmed).await;

    till.capture(paying.id());
    for _ in 0..2 {
        send(&shop, &paying.told("payment.captured")).await.expect(200);
    }
    let record = shop.saga_record(&paying.booking).await;
    assert_eq!((record.saga.step, record.refunds.len()), (Step::Confirmed, 1));
    assert_eq!(till.totals(), (2 * AMOUNT_MINOR, AMOUNT_MINOR));
    assert_eq!(paying.guest.booking(&paying.booking).await["status"], "confirmed");
    shop.clock.advance_ms(30_000);
    shop.until_record(&paying.booking, |record| record.saga.next_at.is_none()).await;
}

#[tokio::test]
async fn money_that_cannot_go_back_at_once_goes_back_while_the_hold_lives_on() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let paying = paying(&shop).await;
    send(&shop, &paying.told("payment.declined")).await.expect(200);
    till.capture(paying.id());
    till.down(true);
    send(&shop, &paying.told("payment.captured")).await.expect(200);
    assert_eq!(till.totals(), (AMOUNT_MINOR, 0));
    till.down(false);
    shop.clock.advance_ms(30_000);
    shop.until_record(&paying.booking, |record| record.strays().next().is_none()).await;
    assert_eq!(paying.guest.booking(&paying.booking).await["status"], "held");
    assert_eq!(till.totals(), (AMOUNT_MINOR, AMOUNT_MINOR));
}

#[tokio::test]
async fn money_for_a_booking_that_is_over_goes_back_and_the_saga_rests() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let paying = paying(&shop).await;
    shop.clock.advance_ms(3_600_000);
    shop.until_step(&paying.booking, Step::Failed).await;
    till.capture(paying.id());
    send(&shop, &paying.told("payment.captured")).await.expect(200);
    assert_eq!(till.totals(), (AMOUNT_MINOR, AMOUNT_MINOR));
    shop.clock.advance_ms(3_600_000);
    let rested = shop.until_record(&paying.booking, |record| record.saga.next_at.is_none()).await;
    assert_eq!(rested.saga.step, Step::Failed);
    assert_eq!(shop.server.ledger().next_due().await.unwrap(), None);
}

#[tokio::test]
async fn forged_messages_change_nothing() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    paid_event(&shop, "f").await;
    let (own, other) = (paying(&shop).await, paying(&shop).await);
    let (record, committed) = (shop.saga_record(&own.booking).await, shop.committed());
    let body = own.told("payment.captured").to_string();
    let signed = |secret: &str, at_s: i64| sign(secret.as_bytes(), body.as_bytes(), at_s);
    let good = signed(WEBHOOK_SECRET, now_s());
    let with_v0 = good.replace("v1=", "v0=");
    for (what, signature) in [
        ("another secret", signed("another secret", now_s())),
        ("an old signature", signed(WEBHOOK_SECRET, now_s() - 330)),
        ("a signature from the future", signed(WEBHOOK_SECRET, now_s() + 330)),
        ("a moved time", good.replace("t=", "t=1")),
        ("no digest of a known kind", with_v0),
        ("no time", good.split_once(',').unwrap().1.to_owned()),
        ("nonsense", "nonsense".to_owned()),
        ("an empty signature", String::new()),
    ] {
        let answer = send_signed(&shop, &body, &signature).await;
        assert_eq!(answer.problem(), (400, "WEBHOOK_NOT_GENUINE".into()), "{what}");
    }
    let unsigned = webhook(&shop, &body).send().await;
    assert_eq!(unsigned.problem(), (400, "WEBHOOK_NOT_GENUINE".into()));
    // Signed for another body.
    let longer = send_signed(&shop, &format!("{body} "), &good).await;
    assert_eq!(longer.problem(), (400, "WEBHOOK_NOT_GENUINE".into()));
    let unknown = format!("{}.000000000000", own.booking);
    for (what, member, value) in [
        ("an unknown payment", "payment", json!(unknown)),
        (
            "a payment of no booking",
            "payment",
            json!("e.00112233445566778899aabbccddeeff.000000000000"),
        ),
        ("no payment of ours", "payment", json!("pi_1")),
    ] {
        let mut told = own.told("payment.captured");
        told[member] = value;
        mismatch(&send(&shop, &told).await);
        assert_eq!(shop.saga_record(&own.booking).await, record, "{what}");
    }
    let mut broken = own.told("payment.captured");
    broken["currency"] = json!("euro");
    let answer = send(&shop, &broken).await;
    assert_eq!(answer.problem(), (400, "WEBHOOK_NOT_GENUINE".into()));
    assert_eq!(shop.saga_record(&own.booking).await, record);
    assert_eq!(shop.saga_record(&other.booking).await.saga.step, Step::PaymentSent);
    assert_eq!((shop.committed(), till.totals()), (committed, (0, 0)));
}

#[tokio::test]
async fn genuine_messages_that_do_not_fit_are_flagged_and_change_nothing_else() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    paid_event(&shop, "f").await;
    let other = paying(&shop).await;
    let far = shop.guest().await;
    let far_booking = far.hold("f", "h", &json!({"pools": {"ga": 1}})).await.expect(201);
    for (what, member, value) in [
        ("one cent less", "amount_minor", json!(AMOUNT_MINOR - 1)),
        ("a great deal", "amount_minor", json!(1_000_000_000_000_i64)),
        ("another currency", "currency", json!("USD")),
        ("another booking", "booking", json!(other.booking)),
        ("another event's booking", "booking", json!(far_booking.text("booking"))),
    ] {
        let own = paying(&shop).await;
        let committed = shop.committed();
        let mut told = own.told("payment.captured");
        told[member] = value;
        for _ in 0..2 {
            mismatch(&send(&shop, &told).await);
        }
        let record = shop.saga_record(&own.booking).await;
        let payment = record.present().unwrap();
        assert!(payment.flagged, "{what}");
        assert_eq!((record.saga.step, payment.stage), (Step::PaymentSent, Stage::Open), "{what}");
        assert_eq!(payment.captured_minor, 0, "{what}");
        assert_eq!(shop.committed(), committed, "{what}");
        // The true message still counts.
        till.capture(own.id());
        send(&shop, &own.told("payment.captured")).await.expect(200);
        assert_eq!(own.guest.booking(&own.booking).await["status"], "confirmed", "{what}");
    }
    let untouched = shop.saga_record(&other.booking).await;
    assert!(!untouched.present().unwrap().flagged);
    assert_eq!(untouched.saga.step, Step::PaymentSent);
}

#[tokio::test]
async fn news_of_a_refund_of_another_amount_does_not_end_the_row_under_its_key() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let booking = shop.sell_and_get_stuck(&till).await;
    let record = shop.saga_record(&booking).await;
    let refund = &record.refunds[0];
    let payment = json!({"payment": refund.payment, "booking": booking,
        "amount_minor": refund.amount_minor, "currency": refund.currency});
    let mut told = message("refund.done", &payment);
    told["refund"] = json!(refund.refund);
    for (member, value) in [("amount_minor", json!(AMOUNT_MINOR - 1)), ("currency", json!("USD"))] {
        let mut other = told.clone();
        other[member] = value;
        for _ in 0..2 {
            mismatch(&send(&shop, &other).await);
        }
        let record = shop.saga_record(&booking).await;
        assert_eq!(record.refunds[0].status, RefundStatus::Failed, "{member}");
        assert!(record.payments[0].flagged && record.saga.stuck.is_some(), "{member}");
    }
    // The true message still counts.
    send(&shop, &told).await.expect(200);
    let record = shop.until_step(&booking, Step::Failed).await;
    assert_eq!(record.refunds[0].status, RefundStatus::Done);
}

#[tokio::test]
async fn a_message_for_another_gateway_finds_nobody() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let answer = shop.ask("POST", "/payments/webhook/stripe").body("{}").send().await;
    assert_eq!(answer.problem(), (404, "GATEWAY_NOT_FOUND".into()));
}

#[tokio::test]
async fn late_money_buys_what_is_still_free() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let paying = paying(&shop).await;
    till.capture(paying.id());
    shop.clock.advance_ms(3_600_000);
    let record = shop.until_step(&paying.booking, Step::Confirmed).await;
    assert_eq!((till.totals(), shop.free().await), ((AMOUNT_MINOR, 0), 9));
    // The message that was late as well changes nothing.
    send(&shop, &paying.told("payment.captured")).await.expect(200);
    assert_eq!(shop.saga_record(&paying.booking).await.saga.step, record.saga.step);
}

#[tokio::test]
async fn late_money_for_what_is_gone_goes_back_and_the_ledger_says_why() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let paying = paying(&shop).await;
    till.down(true);
    shop.clock.advance_ms(3_600_000);
    paying.guest.until_status(&paying.booking, "expired").await;
    for quantity in [4, 4, 2] {
        shop.guest().await.hold_ga("h", quantity).await;
    }
    assert_eq!(shop.free().await, 0);
    till.down(false);
    till.capture(paying.id());
    send(&shop, &paying.told("payment.captured")).await.expect(200);
    let record = shop.until_step(&paying.booking, Step::Failed).await;
    assert_eq!(till.totals(), (AMOUNT_MINOR, AMOUNT_MINOR));
    assert_eq!(record.refunds.len(), 1);
    assert!(record.refunds[0].why.contains("INSUFFICIENT_STOCK"), "{}", record.refunds[0].why);
    let history = shop.server.ledger().history(&record.saga.booking).await.unwrap();
    assert!(history.iter().any(|line| line.note.contains("the money went back")), "{history:?}");
}
