//! What is Stripe's own: keys and what is kept under them, the search that lags, its events and its
//! way to count money.

use crate::fake_stripe::{Trouble, WEBHOOK_SECRET, signed};
use crate::inbox::{now_s, standing};
use crate::stage::{order, refund_of, secret};
use crate::suite::StripeRig;
use axum::http::HeaderMap;
use onrush_base::signature::sign;
use onrush_ledger::money::Capture;
use onrush_saga::gateway::stripe::{SIGNATURE, StripeGateway};
use onrush_saga::gateway::{
    Gateway, GatewayError, News, NotGenuine, Order, RefundOrder, RefundStanding, Standing,
};
use serde_json::{Value, json};

const DAY_S: i64 = 24 * 3_600;

fn yesterdays(order: Order) -> Order {
    Order { written_at_s: now_s() - DAY_S, ..order }
}

fn is_unavailable<T: std::fmt::Debug>(answer: Result<T, GatewayError>) {
    assert!(matches!(answer, Err(GatewayError::Unavailable(_))), "{answer:?}");
}

#[tokio::test]
async fn what_is_sent_is_what_the_documents_name() {
    let rig = StripeRig::start();
    rig.gateway.create(&order("p")).await.unwrap();
    let intent = rig.fake.intents().remove(0);
    assert_eq!((&intent["amount"], &intent["currency"]), (&json!(1_250), &json!("eur")));
    assert_eq!(intent["metadata"], json!({"payment": "p", "booking": "tour.p", "event": "tour"}));
    assert_eq!(intent["description"], "Two seats");
    let silent = Order { description: String::new(), ..order("q") };
    assert!(rig.gateway.create(&silent).await.is_ok());
    rig.fake.pay("p");
    rig.gateway.refund(&refund_of(&order("p"), 1, 50)).await.unwrap();
    let refund = json!({"payment": "p", "booking": "tour.p", "refund": "refund:tour.p:1"});
    assert_eq!(rig.fake.refunds()[0]["metadata"], refund);
}

#[tokio::test]
async fn money_is_counted_as_stripe_does_and_back() {
    let rig = StripeRig::start();
    for (payment, amount_minor, code, counted) in
        [("a", 500, "JPY", 500), ("b", 5, "ISK", 500), ("c", 5_120, "KWD", 5_120)]
    {
        let currency = code.parse().unwrap();
        let order = Order { amount_minor, currency, ..order(payment) };
        rig.gateway.create(&order).await.unwrap();
        assert_eq!(rig.fake.intents().last().unwrap()["amount"], counted);
        rig.fake.pay(payment);
        let Ok(Standing::Captured { amount_minor: captured_minor, currency: of, .. }) =
            rig.gateway.status(&order).await
        else {
            panic!("{payment} is not captured");
        };
        assert_eq!((captured_minor, of), (amount_minor, currency));
    }
    let fils = Order { amount_minor: 5_124, currency: "KWD".parse().unwrap(), ..order("d") };
    let answer = rig.gateway.create(&fils).await;
    assert!(matches!(answer, Err(GatewayError::Refused(_))), "{answer:?}");
    assert!(matches!(rig.gateway.cancel(&fils).await, Ok(Standing::Cancelled { .. })));
    assert_eq!(rig.fake.intents().len(), 3);
}

#[tokio::test]
async fn troubles_that_pass_are_unavailable_and_the_next_call_works() {
    let rig = StripeRig::start();
    for (n, trouble) in [Trouble::TooMany, Trouble::KeyInUse].into_iter().enumerate() {
        let order = order(&format!("p-{n}"));
        rig.fake.trouble("/payment_intents", trouble);
        is_unavailable(rig.gateway.create(&order).await);
        assert!(matches!(rig.gateway.create(&order).await, Ok(Standing::Open { .. })));
    }
    assert_eq!(rig.fake.intents().len(), 2);
}

fn later(payment: &str) -> Order {
    Order { capture: Capture::Later, ..order(payment) }
}

/// Only cards have a fingerprint, so where cards have a limit nothing else is offered.
#[tokio::test]
async fn payment_whose_money_is_taken_later_is_for_cards_alone() {
    let rig = StripeRig::start();
    rig.gateway.create(&later("p")).await.unwrap();
    rig.gateway.create(&order("q")).await.unwrap();
    let [of_cards, of_all] = [0, 1].map(|n| rig.fake.intents()[n].clone());
    assert_eq!(of_cards["capture_method"], "manual");
    assert_eq!(of_cards["payment_method_types"], json!(["card"]));
    assert_eq!(of_cards["excluded_payment_method_types"], json!([]));
    assert_eq!(of_all["capture_method"], "automatic_async");
    assert_eq!(of_all["payment_method_types"], json!([]));
}

#[tokio::test]
async fn method_without_a_fingerprint_is_known_by_nothing() {
    let rig = StripeRig::start();
    rig.gateway.create(&later("p")).await.unwrap();
    assert!(rig.fake.pay_with("p", None));
    let standing = rig.gateway.status(&later("p")).await;
    assert!(matches!(standing, Ok(Standing::Authorised { card: None, .. })), "{standing:?}");
}

/// A message has the charge's id and no more; and it may be told of a payment that is asked about
/// later.
#[tokio::test]
async fn message_of_money_that_is_set_aside_does_not_name_the_card() {
    let rig = StripeRig::start();
    rig.gateway.create(&later("p")).await.unwrap();
    rig.fake.pay("p");
    let events = rig.fake.events();
    let told = events.last().unwrap();
    let notice = rig.gateway.read_webhook(&told.headers, &told.body, now_s()).unwrap();
    let standing = standing(notice);
    assert!(matches!(standing, Standing::Authorised { card: None, .. }), "{standing:?}");
}

/// A capture that has failed is kept under its key: the next one has another, and still takes once.
#[tokio::test]
async fn failure_that_is_kept_under_its_key_does_not_hide_the_capture() {
    for (trouble, payment) in [(Trouble::FailedAfter, "p"), (Trouble::FailedBefore, "q")] {
        let rig = StripeRig::start();
        let order = later(payment);
        rig.gateway.create(&order).await.unwrap();
        rig.fake.pay(payment);
        rig.fake.trouble("/capture", trouble);
        is_unavailable(rig.gateway.capture(&order).await);
        for _ in 0..2 {
            let standing = rig.gateway.capture(&order).await;
            assert!(matches!(standing, Ok(Standing::Captured { .. })), "{trouble:?}: {standing:?}");
        }
        assert_eq!(rig.fake.intents()[0]["amount_received"], 1_250);
    }
}

#[tokio::test]
async fn what_the_bank_set_free_is_cancelled() {
    let rig = StripeRig::start();
    let order = later("p");
    rig.gateway.create(&order).await.unwrap();
    rig.fake.pay("p");
    rig.fake.lapse("p");
    for answer in [rig.gateway.capture(&order).await, rig.gateway.status(&order).await] {
        let (reference, why) = (Some("pi_0".into()), "automatic".into());
        assert_eq!(answer, Ok(Standing::Cancelled { reference, why }));
    }
}

#[tokio::test]
async fn silence_is_unavailable_after_the_time_it_may_take() {
    let StripeRig { fake, .. } = StripeRig::start();
    let gateway =
        StripeGateway::new(&secret(crate::fake_stripe_form::SECRET_KEY), secret(WEBHOOK_SECRET));
    let gateway = gateway.with_base_url(&fake.url()).with_timeout_ms(50);
    fake.trouble("/payment_intents", Trouble::Silent);
    is_unavailable(gateway.create(&order("p")).await);
    assert!(fake.intents().is_empty());
}

/// Stripe keeps failures under their key, so repeating the call cannot tell what became of the first.
#[tokio::test]
async fn failure_that_is_kept_under_its_key_does_not_hide_the_payment() {
    let rig = StripeRig::start();
    let order = order("p");
    rig.fake.trouble("/payment_intents", Trouble::FailedAfter);
    is_unavailable(rig.gateway.create(&order).await);
    assert!(matches!(rig.gateway.create(&order).await, Ok(Standing::Open { .. })));
    assert!(matches!(rig.gateway.cancel(&order).await, Ok(Standing::Cancelled { .. })));

    let other = crate::stage::order("q");
    rig.fake.trouble("/payment_intents", Trouble::FailedBefore);
    for _ in 0..2 {
        is_unavailable(rig.gateway.create(&other).await);
    }
    is_unavailable(rig.gateway.cancel(&other).await);
    // Hours later the search would show it if it were there.
    let later = Order { written_at_s: now_s() - 3 * 3_600, ..other };
    assert!(matches!(rig.gateway.cancel(&later).await, Ok(Standing::Cancelled { .. })));
    assert_eq!(rig.fake.intents().len(), 1);
}

#[tokio::test]
async fn failure_that_is_kept_under_its_key_does_not_hide_the_refund() {
    let rig = StripeRig::start();
    let order = order("p");
    rig.gateway.create(&order).await.unwrap();
    rig.fake.pay("p");
    let refund = refund_of(&order, 1, 300);
    rig.fake.trouble("/refunds", Trouble::FailedAfter);
    is_unavailable(rig.gateway.refund(&refund).await);
    assert!(matches!(rig.gateway.refund(&refund).await, Ok(RefundStanding::Done { .. })));
    assert_eq!(rig.fake.refunds().len(), 1);
}

/// Trap: a key is good for a day. Repeating the call afterwards makes a second payment.
#[tokio::test]
async fn after_a_day_a_payment_is_looked_up_and_not_repeated() {
    let rig = StripeRig::start();
    let order = order("p");
    let open = rig.gateway.create(&order).await;
    rig.fake.forget_keys();
    let old = yesterdays(order);
    assert_eq!(rig.gateway.create(&old).await, open);
    assert!(matches!(rig.gateway.cancel(&old).await, Ok(Standing::Cancelled { .. })));
    let unheard = yesterdays(crate::stage::order("q"));
    assert!(matches!(rig.gateway.create(&unheard).await, Ok(Standing::Cancelled { .. })));
    assert!(matches!(rig.gateway.cancel(&unheard).await, Ok(Standing::Cancelled { .. })));
    assert_eq!(rig.gateway.status(&unheard).await, Ok(Standing::Unknown));
    assert_eq!(rig.fake.intents().len(), 1);
}

/// Trap: the same for refunds, also when there are more than fit on one page.
#[tokio::test]
async fn after_a_day_a_refund_is_looked_up_and_not_repeated() {
    let rig = StripeRig::start();
    let order = order("p");
    rig.gateway.create(&order).await.unwrap();
    rig.fake.pay("p");
    let refunds: Vec<RefundOrder> = (1..=5).map(|n| refund_of(&order, n, 100)).collect();
    for refund in &refunds {
        rig.gateway.refund(refund).await.unwrap();
    }
    rig.fake.forget_keys();
    for refund in refunds {
        let old = RefundOrder { written_at_s: now_s() - DAY_S, ..refund };
        assert!(matches!(rig.gateway.refund(&old).await, Ok(RefundStanding::Done { .. })));
    }
    assert_eq!(rig.fake.refunds().len(), 5);
    let unheard = RefundOrder { written_at_s: now_s() - DAY_S, ..refund_of(&order, 6, 100) };
    rig.gateway.refund(&unheard).await.unwrap();
    assert_eq!(rig.fake.refunds().len(), 6);
}

/// Trap: after a restore a key that was used before is new to us.
#[tokio::test]
async fn a_refund_is_looked_up_however_new_its_row_is_and_another_amount_is_not_known() {
    let rig = StripeRig::start();
    let order = order("p");
    rig.gateway.create(&order).await.unwrap();
    rig.fake.pay("p");
    let refund = refund_of(&order, 1, 300);
    let made = rig.gateway.refund(&refund).await;
    let other = RefundOrder { amount_minor: 500, ..refund.clone() };
    for _ in 0..2 {
        assert_eq!(rig.gateway.refund(&refund).await, made);
        let unknown = rig.gateway.refund(&other).await;
        assert!(matches!(unknown, Err(GatewayError::UnknownRefund(_))), "{unknown:?}");
        rig.fake.forget_keys();
    }
    // What failed gave nothing back: it will never be made, and another one may be.
    rig.fake.settle_refund(&refund.refund, "failed", "refund.failed");
    let refused = rig.gateway.refund(&other).await;
    assert!(matches!(refused, Err(GatewayError::Refused(_))), "{refused:?}");
    assert_eq!(rig.fake.refunds().len(), 1);
}

/// Other tools that work on the account write names of their own under the same word.
#[tokio::test]
async fn a_refund_under_another_tools_name_is_the_desks_and_stands_in_no_way() {
    let rig = StripeRig::start();
    let order = order("p");
    rig.gateway.create(&order).await.unwrap();
    rig.fake.pay("p");
    rig.fake.refund_as("pi_0", "RF-1234", 300);
    rig.fake.settle_refund("RF-1234", "succeeded", "refund.updated");
    let mut event = rig.fake.events().pop().unwrap().json();
    event["data"]["object"]["metadata"]["payment"] = json!("p");
    let news = signed(&event).read(&rig.gateway).unwrap().news;
    let Some(News::Desk(news)) = news else { panic!("it is no refund of ours: {news:?}") };
    assert_eq!((news.reference.as_str(), news.amount_minor), ("re_0", 300));

    rig.fake.refund_as("pi_0", "RF-1235", 200);
    let found = rig.gateway.desk_history("pi_0").await.unwrap();
    let found: Vec<_> =
        found.iter().map(|found| (found.news.reference.as_str(), found.is_after_ours)).collect();
    assert_eq!(found, [("re_0", false), ("re_1", false)]);
    let made = rig.gateway.refund(&refund_of(&order, 1, 100)).await;
    assert_eq!(made, Ok(RefundStanding::Done { reference: "re_2".into() }));
}

/// Trap: a search misses what is a minute old. Whoever believes it leaves a payment behind that can
/// still be paid.
#[tokio::test]
async fn cancelling_finds_a_payment_that_the_search_does_not_show_yet() {
    let rig = StripeRig::start();
    let order = order("p");
    rig.fake.let_search_fall_behind();
    rig.fake.trouble("/payment_intents", Trouble::Lost);
    is_unavailable(rig.gateway.create(&order).await);
    assert!(matches!(rig.gateway.cancel(&order).await, Ok(Standing::Cancelled { .. })));
    assert!(!rig.fake.pay("p"));
    assert_eq!(rig.fake.intents().len(), 1);
}

#[tokio::test]
async fn payment_that_is_being_processed_stays_so_until_the_gateway_knows() {
    let rig = StripeRig::start();
    let order = order("p");
    rig.gateway.create(&order).await.unwrap();
    rig.fake.process("p");
    assert!(matches!(rig.gateway.cancel(&order).await, Ok(Standing::Processing { .. })));
    rig.fake.pay("p");
    assert!(matches!(rig.gateway.cancel(&order).await, Ok(Standing::Captured { .. })));
}

#[tokio::test]
async fn wrong_key_of_the_account_is_unavailable_and_nothing_is_called_cancelled() {
    let rig = StripeRig::start();
    let gateway = StripeGateway::new(&secret("sk_wrong"), secret(WEBHOOK_SECRET));
    let gateway = gateway.with_base_url(&rig.fake.url());
    is_unavailable(gateway.create(&order("p")).await);
    is_unavailable(gateway.cancel(&order("p")).await);
    is_unavailable(gateway.status(&yesterdays(order("p"))).await);
}

#[tokio::test]
async fn odd_reference_is_never_part_of_a_path() {
    let rig = StripeRig::start();
    let order = Order { reference: Some("pi_1/../../refunds?x=".into()), ..order("p") };
    for answer in [rig.gateway.status(&order).await, rig.gateway.cancel(&order).await] {
        assert!(matches!(answer, Err(GatewayError::Refused(_))), "{answer:?}");
    }
    assert!(rig.fake.requests().is_empty());
}

#[tokio::test]
async fn events_tell_where_payments_and_refunds_stand() {
    let rig = StripeRig::start();
    let (paid, dropped) = (order("paid"), order("dropped"));
    for order in [&paid, &dropped] {
        rig.gateway.create(order).await.unwrap();
    }
    rig.fake.decline("paid", "insufficient_funds");
    rig.fake.pay("paid");
    rig.gateway.cancel(&dropped).await.unwrap();
    let refund = refund_of(&paid, 1, 100);
    rig.gateway.refund(&refund).await.unwrap();
    rig.fake.settle_refund(&refund.refund, "pending", "refund.updated");
    rig.fake.settle_refund(&refund.refund, "succeeded", "charge.refund.updated");
    rig.fake.settle_refund(&refund.refund, "failed", "refund.failed");
    let read: Vec<_> =
        rig.fake.events().iter().map(|event| event.read(&rig.gateway).unwrap()).collect();
    let news: Vec<Option<News>> = read.iter().map(|notice| notice.news.clone()).collect();
    assert_eq!(read[2].id, "evt_2");
    // Two that were created, and the refund that was: nobody needs to know.
    for n in [0, 1, 5] {
        assert_eq!(news[n], None);
    }
    let payment = |order: &Order, standing: Standing| {
        let (payment, booking) = (order.payment.clone(), order.booking.clone());
        Some(News::Payment { payment, booking, standing })
    };
    let (reference, why) = ("pi_0".to_owned(), "insufficient_funds".to_owned());
    let declined = Standing::Declined { reference: reference.clone(), why };
    assert_eq!(news[2], payment(&paid, declined));
    let captured = Standing::Captured { reference, amount_minor: 1_250, currency: paid.currency };
    assert_eq!(news[3], payment(&paid, captured));
    let (reference, why) = (Some("pi_1".into()), "abandoned".into());
    assert_eq!(news[4], payment(&dropped, Standing::Cancelled { reference, why }));
    let reference = "re_0".to_owned();
    let of_refund = |standing| {
        let (payment, refund) = (paid.payment.clone(), refund.refund.clone());
        let (amount_minor, currency) = (100, paid.currency);
        Some(News::Refund { payment, refund, amount_minor, currency, standing })
    };
    assert_eq!(news[6], of_refund(RefundStanding::Pending { reference: reference.clone() }));
    assert_eq!(news[7], of_refund(RefundStanding::Done { reference }));
    let (reference, why) = (Some("re_0".to_owned()), "failed".into());
    assert_eq!(news[8], of_refund(RefundStanding::Failed { reference, why }));
}

#[tokio::test]
async fn a_refund_that_is_not_found_may_be_made_yet_and_one_without_metadata_is_anothers() {
    let rig = StripeRig::start();
    let paid = order("paid");
    rig.gateway.create(&paid).await.unwrap();
    rig.fake.pay("paid");
    rig.fake.refund_at_desk("paid", 100);
    rig.fake.forget_metadata(0);
    let made = rig.gateway.refund(&refund_of(&paid, 1, 100)).await;
    assert_eq!(made, Ok(RefundStanding::Done { reference: "re_1".into() }));
    assert_eq!(rig.gateway.probe().await, Ok(()));
    // As with the key of another account.
    let elsewhere = RefundOrder { reference: Some("re_9".into()), ..refund_of(&paid, 2, 100) };
    let told = rig.gateway.refund(&elsewhere).await;
    assert!(matches!(told, Err(GatewayError::Unavailable(_))), "{told:?}");
}

#[tokio::test]
async fn events_are_read_alike_twice_and_out_of_order() {
    let rig = StripeRig::start();
    rig.gateway.create(&order("p")).await.unwrap();
    rig.fake.decline("p", "insufficient_funds");
    rig.fake.pay("p");
    let events = rig.fake.events();
    let once: Vec<_> = events.iter().map(|event| event.read(&rig.gateway)).collect();
    let mut again: Vec<_> = events.iter().rev().map(|event| event.read(&rig.gateway)).collect();
    again.reverse();
    assert_eq!(once, again);
    assert!(matches!(standing(once[1].clone().unwrap()), Standing::Declined { .. }));
}

#[tokio::test]
async fn events_of_others_concern_nobody_and_nonsense_is_unreadable() {
    let rig = StripeRig::start();
    rig.gateway.create(&order("p")).await.unwrap();
    rig.fake.pay("p");
    let event = rig.fake.events().pop().unwrap().json();
    let with = |pointer: &str, value: Value| {
        let mut event = event.clone();
        *event.pointer_mut(pointer).unwrap() = value;
        signed(&event).read(&rig.gateway)
    };
    assert_eq!(with("/data/object/metadata", json!({})).unwrap().news, None);
    assert_eq!(with("/data/object/metadata/payment", json!("a:b")).unwrap().news, None);
    assert_eq!(with("/type", json!("customer.created")).unwrap().news, None);
    for (pointer, value) in [
        ("/data/object/status", json!("lost")),
        ("/data/object/currency", json!("qqq")),
        ("/data/object/amount_received", json!("1250")),
        ("/data/object", json!(null)),
        ("/id", json!(7)),
    ] {
        assert_eq!(with(pointer, value), Err(NotGenuine::Unreadable), "{pointer}");
    }
}

#[tokio::test]
async fn forged_events_are_not_believed() {
    let rig = StripeRig::start();
    rig.gateway.create(&order("p")).await.unwrap();
    rig.fake.pay("p");
    let body = rig.fake.events().pop().unwrap().body;
    let read = |secret: &str, at_s: i64, body: &[u8]| {
        let mut headers = HeaderMap::new();
        let signature = sign(secret.as_bytes(), body, at_s);
        headers.insert(SIGNATURE, signature.parse().unwrap());
        rig.gateway.read_webhook(&headers, body, now_s())
    };
    assert!(read(WEBHOOK_SECRET, now_s(), &body).is_ok());
    assert_eq!(read("whsec_guessed", now_s(), &body), Err(NotGenuine::SignatureWrong));
    assert_eq!(read(WEBHOOK_SECRET, now_s() - 400, &body), Err(NotGenuine::TooOld));
    assert_eq!(read(WEBHOOK_SECRET, now_s() + 400, &body), Err(NotGenuine::TooOld));
    assert_eq!(read(WEBHOOK_SECRET, now_s(), b"{}"), Err(NotGenuine::Unreadable));
    let unsigned = rig.gateway.read_webhook(&HeaderMap::new(), &body, now_s());
    assert_eq!(unsigned, Err(NotGenuine::SignatureMissing));
    let mut headers = HeaderMap::new();
    let of_other = sign(WEBHOOK_SECRET.as_bytes(), b"{\"id\":\"evt_9\"}", now_s());
    headers.insert(SIGNATURE, of_other.parse().unwrap());
    let moved = rig.gateway.read_webhook(&headers, &body, now_s());
    assert_eq!(moved, Err(NotGenuine::SignatureWrong));
}
