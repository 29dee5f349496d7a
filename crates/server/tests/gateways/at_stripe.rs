//! A server whose money Stripe takes: what it takes, what it is told, and what is seen when it is ill.

use crate::client::{Answer, Request};
use crate::fake_stripe::{FakeStripe, Trouble, WEBHOOK_SECRET};
use crate::fake_stripe_form::SECRET_KEY;
use crate::inbox::{PATIENCE, Received};
use crate::shop::{Guest, Shop};
use onrush_base::config::Accept;
use onrush_base::config::Config;
use onrush_base::config::GatewayName;
use onrush_core::ids::BookingId;
use onrush_core::saga::{Stage, Step};
use onrush_ledger::money::RefundStatus;
use onrush_ledger::saga::SagaRecord;
use onrush_store::embedded::ManualClock;
use serde_json::{Value, json};
use std::fs;
use std::io::ErrorKind;
use tempfile::TempDir;

/// A shop and the Stripe that it pays at.
pub(crate) struct StripeShop {
    pub(crate) fake: FakeStripe,
    pub(crate) shop: Shop,
}

/// The settings that have Stripe at this address, and more lines of its section.
fn configure(config: &mut Config, url: &str, lines: &str) {
    let text = format!(
        "[stripe]\nsecret_key = \"{SECRET_KEY}\"\nwebhook_secret = \"{WEBHOOK_SECRET}\"\n\
         base_url = \"{url}\"\n{lines}"
    );
    config.stripe = toml::from_str::<Config>(&text).expect("these are settings").stripe;
    config.gateway = GatewayName::Stripe;
}

impl StripeShop {
    pub(crate) async fn start() -> Self {
        Self::start_with("", |_| {}).await
    }

    pub(crate) async fn start_with(lines: &str, change: impl FnOnce(&mut Config)) -> Self {
        let fake = FakeStripe::start();
        let url = fake.url();
        let shop = Shop::start_with(|config| {
            configure(config, &url, lines);
            change(config);
        })
        .await;
        Self { fake, shop }
    }

    /// The same directory, run by a server whose money Stripe takes.
    async fn take_over(dir: TempDir, clock: ManualClock) -> Self {
        let fake = FakeStripe::start();
        let url = fake.url();
        let shop = Shop::start_in(dir, clock, |config| configure(config, &url, "")).await;
        Self { fake, shop }
    }

    /// The same shop, accepted without its ledger.
    pub(crate) async fn without_its_ledger(self) -> Self {
        let Self { fake, shop: Shop { server, clock, dir } } = self;
        server.shutdown().await;
        for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
            if let Err(error) = fs::remove_file(dir.path().join(name)) {
                assert_eq!(error.kind(), ErrorKind::NotFound, "{name}: {error}");
            }
        }
        let url = fake.url();
        let shop = Shop::start_in(dir, clock, |config| {
            configure(config, &url, "");
            config.accept_restored = Accept::Everything;
        })
        .await;
        Self { fake, shop }
    }

    /// An event `e` that is open and whose standing places cost 25.00 each.
    pub(crate) async fn sell(&self, capacity: u32) {
        let body = json!({"event": "e", "title": "Rush & Roll", "currency": "EUR", "room": null});
        self.shop.organise("POST", "/events", &body).await;
        self.shop.add_pool("e", "ga", capacity, 2_500).await;
        self.shop.organise_plainly("/events/e/open").await;
    }

    /// Brings one of Stripe's messages.
    pub(crate) async fn bring(&self, received: &Received) -> Answer {
        let header = |name: &str| received.headers[name].to_str().unwrap().to_owned();
        Request::new(self.shop.server.public_addr(), "POST", "/api/v1/payments/webhook/stripe")
            .header("stripe-signature", &header("stripe-signature"))
            .header("Content-Type", "application/json")
            .body(received.body.to_vec())
            .send()
            .await
    }

    /// Brings all that was not brought before.
    pub(crate) async fn bring_from(&self, first: usize) {
        for received in self.fake.events().iter().skip(first) {
            self.bring(received).await.expect(200);
        }
    }

    pub(crate) async fn saga_record(&self, booking: &str) -> SagaRecord {
        let booking: BookingId = booking.parse().unwrap();
        self.shop.server.ledger().saga_record(&booking).await.unwrap().expect("there is a saga")
    }

    /// Waits until a saga is where it should be, and looks for it meanwhile as if time passed.
    pub(crate) async fn until(
        &self,
        booking: &str,
        fits: impl Fn(&SagaRecord) -> bool,
    ) -> SagaRecord {
        let id: BookingId = booking.parse().unwrap();
        let wait = async {
            loop {
                // The feed may not have been followed so far yet.
                let record = self.shop.server.ledger().saga_record(&id).await.unwrap();
                if let Some(record) = record.filter(&fits) {
                    return record;
                }
                self.shop.server.sagas().look();
                tokio::task::yield_now().await;
            }
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(record) => record,
            Err(_) => panic!("it stays at {:#?}", self.saga_record(booking).await),
        }
    }

    /// The server's word about its gateway, once it is this.
    async fn until_gateway(&self, state: &str) -> Value {
        let wait = async {
            loop {
                let told = self.shop.admin("GET", "/gateway").send().await.expect(200).json();
                if told["state"] == state {
                    return told;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("it is never said")
    }

    async fn operator(&self, path: &str) -> Answer {
        let to = self.shop.server.operator_addr().unwrap();
        Request::new(to, "GET", path).send().await
    }
}

/// A payment that waits for its buyer: the booking and the payment's id.
pub(crate) async fn paying(guest: &Guest<'_>, key: &str) -> (String, String) {
    let held = guest.hold("e", key, &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    let payment = pay(guest, &booking, key).await.expect(201).text("payment");
    (booking, payment)
}

pub(crate) async fn pay(guest: &Guest<'_>, booking: &str, key: &str) -> Answer {
    guest.ask("POST", &format!("/bookings/{booking}/payment")).key(key).send().await
}

fn cannot_take(answer: &Answer, said: &str) {
    assert_eq!(answer.problem(), (409, "GATEWAY_CANNOT_TAKE".into()), "{said}");
    let detail = answer.text("detail");
    assert!(detail.contains(said), "{said}: {detail}");
}

#[tokio::test]
async fn an_event_in_a_currency_that_stripe_does_not_take_is_refused_when_it_is_made() {
    let at = StripeShop::start().await;
    for currency in ["IQD", "CLF", "XAU", "ZZZ"] {
        let body = json!({"event": "odd", "title": "Odd", "currency": currency});
        let answer = at.shop.admin("POST", "/events").json(&body).send().await;
        cannot_take(&answer, currency);
    }
    let body = json!({"event": "odd", "title": "Odd", "currency": "EUR"});
    at.shop.admin("POST", "/events").json(&body).send().await.expect(201);
}

#[tokio::test]
async fn a_price_that_stripe_does_not_take_is_refused_when_it_is_set() {
    let at = StripeShop::start().await;
    for (event, currency, fees) in [
        ("eur", "EUR", json!({})),
        ("kwd", "KWD", json!({})),
        ("fee", "KWD", json!({"percent_bp": 250})),
        ("mga", "MGA", json!({})),
        ("idr", "IDR", json!({})),
    ] {
        let body = json!({"event": event, "title": "Priced", "currency": currency, "fees": fees});
        at.shop.organise("POST", "/events", &body).await;
    }
    for (n, (event, price_minor, said)) in [
        ("eur", 49, Some("0.50 EUR")),
        ("eur", 50, None),
        ("eur", 0, None),
        ("eur", 99_999_999, None),
        ("eur", 100_000_000, Some("999999.99 EUR")),
        ("kwd", 15_131, Some("0.010 KWD")),
        ("kwd", 15_130, None),
        // 2.5 % of it is 0.378, which cannot be paid.
        ("fee", 15_130, Some("0.010 KWD")),
        ("fee", 20_000, None),
        ("mga", 16_650, Some("1.00 MGA")),
        ("mga", 16_600, None),
        ("idr", 999_999_999_999_i64, None),
    ]
    .into_iter()
    .enumerate()
    {
        let body = json!({"pool": format!("p{n}"), "capacity": 1, "price_minor": price_minor});
        let path = format!("/events/{event}/pools");
        let answer = at.shop.admin("POST", &path).json(&body).send().await;
        match said {
            Some(said) => cannot_take(&answer, said),
            None => drop(answer.expect(201)),
        }
    }
    let seat = json!({"seat_guid": "A-1", "seat_number": "1", "position": {"x": 0, "y": 0},
        "category": "Stalls"});
    let row = json!({"row_number": "A", "position": {"x": 0, "y": 0}, "seats": [seat]});
    let zone = json!({"name": "Z", "position": {"x": 0, "y": 0}, "zone_id": "z", "rows": [row]});
    let plan = json!({"name": "P", "size": {"width": 10, "height": 10}, "zones": [zone],
        "categories": [{"name": "Stalls", "color": "#7f4a91"}]});
    let import = |price_minor: i64| json!({"plan": plan, "prices": {"Stalls": price_minor}});
    let answer = at.shop.admin("PUT", "/events/eur/seat-map").json(&import(49)).send().await;
    cannot_take(&answer, "Stalls");
    at.shop.admin("PUT", "/events/eur/seat-map").json(&import(50)).send().await.expect(200);
}

#[tokio::test]
async fn a_change_of_currency_or_fees_that_stripe_does_not_take_is_refused() {
    let at = StripeShop::start().await;
    let body = json!({"event": "e", "title": "Rush", "currency": "EUR"});
    at.shop.organise("POST", "/events", &body).await;
    at.shop.add_pool("e", "ga", 10, 900).await;
    let change = async |body: Value| at.shop.admin("PATCH", "/events/e").json(&body).send().await;
    cannot_take(&change(json!({"currency": "IQD"})).await, "IQD");
    // 9.00 MXN is less than Stripe takes.
    cannot_take(&change(json!({"currency": "MXN"})).await, "10.00 MXN");
    cannot_take(&change(json!({"fees": {"fixed_minor": 100_000_000}})).await, "999999.99 EUR");
    // Without a price the currency may still be another.
    let body = json!({"event": "f", "title": "Rush", "currency": "EUR"});
    at.shop.organise("POST", "/events", &body).await;
    at.shop.organise("PATCH", "/events/f", &json!({"currency": "USD"})).await;
    change(json!({"fees": {"fixed_minor": 150}})).await.expect(200);
    change(json!({"title": "Rush hour"})).await.expect(200);
}

#[tokio::test]
async fn a_ticket_type_that_comes_to_what_stripe_does_not_take_is_refused() {
    let at = StripeShop::start().await;
    let body = json!({"event": "e", "title": "Rush", "currency": "EUR"});
    at.shop.organise("POST", "/events", &body).await;
    at.shop.add_pool("e", "ga", 10, 1_100).await;
    let put = async |path: &str, body: Value| at.shop.admin("PUT", path).json(&body).send().await;
    let types = |price: (&str, i64)| {
        let child = json!({"id": "child", "name": "Child", price.0: price.1});
        json!({"pool": "ga", "types": [child], "by": "ann", "why": "families"})
    };
    for price in [("percent_bp", 400), ("less_minor", 1_060), ("price_minor", 49)] {
        cannot_take(&put("/events/e/types", types(price)).await, "child: ");
    }
    for price in [("percent_bp", 0), ("less_minor", 1_050), ("percent_bp", 5_000)] {
        put("/events/e/types", types(price)).await.expect(200);
    }
    // A child's half of either is less than 0.50, and of 11.00 MXN than 10.00.
    let price = |price_minor: i64, later: Value| {
        let mut body = json!({"pool": "ga", "price_minor": price_minor, "by": "ann", "why": "x"});
        body["later"] = later;
        body
    };
    cannot_take(&put("/events/e/prices", price(98, json!([]))).await, "child: ");
    let later = json!([{"from": 4_000_000_000_000_i64, "price_minor": 98}]);
    cannot_take(&put("/events/e/prices", price(1_100, later)).await, "child: ");
    let change = at.shop.admin("PATCH", "/events/e").json(&json!({"currency": "MXN"}));
    cannot_take(&change.send().await, "child: ");
    put("/events/e/prices", price(100, json!([]))).await.expect(200);
}

#[tokio::test]
async fn an_event_that_was_made_before_stripe_was_asked_goes_on() {
    let shop = Shop::start().await;
    let body = json!({"event": "old", "title": "Old", "currency": "ZZZ", "room": null});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("old", "ga", 10, 3).await;
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    let at = StripeShop::take_over(dir, clock).await;
    let change = json!({"title": "Older", "hold_ttl_ms": 300_000});
    at.shop.admin("PATCH", "/events/old").json(&change).send().await.expect(200);
    at.shop.organise_plainly("/events/old/open").await;
    let guest = at.shop.guest().await;
    guest.hold("old", "h", &json!({"pools": {"ga": 1}})).await.expect(201);
}

#[tokio::test]
async fn a_key_that_stripe_refuses_is_seen_at_once_and_until_it_works_again() {
    let at = StripeShop::start().await;
    at.sell(10).await;
    at.until_gateway("ok").await;
    let ready = at.operator("/readyz").await.expect(200);
    assert_eq!(ready.body, b"ready\n");

    at.fake.revoke_key(true);
    let guest = at.shop.guest().await;
    let held = guest.hold("e", "h", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    let answer = pay(&guest, &booking, "p").await;
    assert_eq!(answer.problem(), (503, "GATEWAY_UNAVAILABLE".into()));
    let told = at.shop.admin("GET", "/gateway").send().await.expect(200).json();
    assert_eq!((&told["gateway"], &told["state"]), (&json!("stripe"), &json!("key_refused")));
    assert_eq!(told["last_failure"]["kind"], "key_refused");
    assert!(told["since"].is_i64() && told["last_success_at"].is_i64(), "{told}");
    assert!(told["what_to_do"].as_str().unwrap().contains("stripe.secret_key"), "{told}");
    assert!(!told.to_string().contains(SECRET_KEY));
    // The sale goes on: others may look, wait and hold.
    let ready = at.operator("/readyz").await.expect(200);
    let text = String::from_utf8(ready.body).unwrap();
    assert!(text.starts_with("ready\n") && text.contains("key_refused"), "{text}");
    let metrics = at.operator("/metrics").await.expect(200);
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(metrics.contains("onrush_gateway_up{gateway=\"stripe\"} 0"), "{metrics}");

    at.fake.revoke_key(false);
    at.shop.clock.advance_ms(60_000);
    at.until(&booking, |record| record.payments.iter().any(|row| row.reference.is_some())).await;
    let told = at.until_gateway("ok").await;
    assert_eq!(told["last_failure"]["kind"], "key_refused");
    let metrics = String::from_utf8(at.operator("/metrics").await.body).unwrap();
    assert!(metrics.contains("onrush_gateway_up{gateway=\"stripe\"} 1"), "{metrics}");
}

#[tokio::test]
async fn a_wrong_key_is_seen_before_the_first_buyer_comes() {
    let fake = FakeStripe::start();
    fake.revoke_key(true);
    let url = fake.url();
    let shop = Shop::start_with(|config| configure(config, &url, "")).await;
    let at = StripeShop { fake, shop };
    at.until_gateway("key_refused").await;
}

#[tokio::test]
async fn only_methods_that_answer_in_time_are_offered_and_debits_if_it_is_said() {
    // Earlier versions send these in this order: a payment of theirs is asked for again under its key.
    let all_delayed = [
        "acss_debit",
        "au_becs_debit",
        "bacs_debit",
        "boleto",
        "customer_balance",
        "konbini",
        "multibanco",
        "nz_bank_account",
        "oxxo",
        "sepa_debit",
        "sofort",
        "us_bank_account",
    ];
    // These wait for their buyer, also for small sums to come to their account, longer than a hold lasts.
    let waiting = [
        "acss_debit",
        "boleto",
        "customer_balance",
        "konbini",
        "multibanco",
        "oxxo",
        "us_bank_account",
    ];
    for (lines, expected) in [
        ("", all_delayed.as_slice()),
        ("delayed_methods = false\n", all_delayed.as_slice()),
        ("delayed_methods = true\n", waiting.as_slice()),
    ] {
        let at = StripeShop::start_with(lines, |_| {}).await;
        at.sell(10).await;
        paying(&at.shop.guest().await, "k").await;
        let intent = at.fake.intents().remove(0);
        let excluded: Vec<&str> = intent["excluded_payment_method_types"]
            .as_array()
            .unwrap()
            .iter()
            .map(|method| method.as_str().unwrap())
            .collect();
        assert_eq!(excluded, expected, "{lines}");
    }
}

/// A debit takes days. The hold does not wait for it, and neither does an operator: Stripe's word does.
#[tokio::test]
async fn a_debit_that_outlasts_its_hold_buys_late_or_goes_back_and_is_never_stuck() {
    for sold_out in [false, true] {
        let at = StripeShop::start_with("delayed_methods = true\n", |config| {
            config.saga.tries = 3;
        })
        .await;
        at.sell(1).await;
        let guest = at.shop.guest().await;
        let (booking, payment) = paying(&guest, "k").await;
        at.fake.process(&payment);
        at.bring_from(0).await;
        // The hold runs out, and hours pass.
        at.shop.clock.advance_ms(3_600_000);
        at.until(&booking, |record| record.payments[0].why.is_some()).await;
        let path = format!("/bookings/{booking}/payment");
        for _ in 0..6 {
            // Whoever reads that it has failed pays again.
            let shown = guest.get(&path).await.expect(200).json();
            let secrets = (shown.get("client_secret"), shown.get("why"));
            assert_eq!((&shown["status"], secrets), (&json!("ending"), (None, None)), "{shown}");
            let before = at.saga_record(&booking).await.saga.version;
            at.shop.clock.advance_ms(3_600_000);
            at.until(&booking, |record| {
                record.saga.stuck.is_some() || record.saga.version > before
            })
            .await;
        }
        let record = at.saga_record(&booking).await;
        assert_eq!((record.saga.stuck, record.saga.tries), (None, 0));
        assert_eq!(record.saga.step, Step::PaymentSent);
        if sold_out {
            let other = at.shop.guest().await;
            other.hold("e", "o", &json!({"pools": {"ga": 1}})).await.expect(201);
        }
        let told = at.fake.events().len();
        assert!(at.fake.pay(&payment));
        at.bring_from(told).await;
        let end = if sold_out { Step::Failed } else { Step::Confirmed };
        at.until(&booking, |record| record.saga.step == end).await;
        let back: i64 = at.fake.refunds().iter().map(|it| it["amount"].as_i64().unwrap()).sum();
        assert_eq!(back, if sold_out { 2_500 } else { 0 });
    }
}

#[tokio::test]
async fn the_buyer_reads_the_events_title_and_a_new_title_does_not_break_a_payment() {
    let at = StripeShop::start().await;
    at.sell(10).await;
    let guest = at.shop.guest().await;
    let held = guest.hold("e", "h", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    at.fake.trouble("/payment_intents", Trouble::Lost);
    let answer = pay(&guest, &booking, "p").await;
    assert_eq!(answer.problem(), (503, "GATEWAY_UNAVAILABLE".into()));
    at.shop.organise("PATCH", "/events/e", &json!({"title": "Another name"})).await;
    at.shop.clock.advance_ms(60_000);
    at.until(&booking, |record| record.payments[0].reference.is_some()).await;
    let intents = at.fake.intents();
    assert_eq!(intents.len(), 1);
    assert_eq!(intents[0]["description"], "Rush & Roll");
}

/// Trap: messages come in any order, and again after days.
#[tokio::test]
async fn an_older_message_does_not_undo_the_failure_of_a_refund() {
    let at = StripeShop::start().await;
    at.sell(10).await;
    let guest = at.shop.guest().await;
    let (booking, payment) = paying(&guest, "h").await;
    at.fake.pay(&payment);
    at.bring_from(0).await;
    at.until(&booking, |record| record.saga.step == Step::Confirmed).await;
    let cancel = format!("/events/e/bookings/{booking}/cancel");
    at.shop.organise("POST", &cancel, &json!({"by": "crew", "why": "rain"})).await;
    let record = at.until(&booking, |record| record.saga.step == Step::Failed).await;
    let refund = &record.refunds[0].refund;
    let first = at.fake.events().len();
    at.fake.settle_refund(refund, "succeeded", "refund.updated");
    at.fake.settle_refund(refund, "failed", "refund.failed");
    let events = at.fake.events();
    at.bring(&events[first + 1]).await.expect(200);
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    at.bring(&events[first]).await.expect(200);
    let record = at.saga_record(&booking).await;
    assert_eq!(record.refunds[0].status, RefundStatus::Failed);
    assert!(record.saga.stuck.is_some(), "somebody has to find another way: {record:?}");
}

/// A booking that was paid for and is being cancelled.
async fn cancelled(at: &StripeShop) -> String {
    at.sell(10).await;
    let guest = at.shop.guest().await;
    let (booking, payment) = paying(&guest, "h").await;
    at.fake.pay(&payment);
    at.bring_from(0).await;
    at.until(&booking, |record| record.saga.step == Step::Confirmed).await;
    let cancel = format!("/events/e/bookings/{booking}/cancel");
    at.shop.organise("POST", &cancel, &json!({"by": "crew", "why": "rain"})).await;
    booking
}

#[tokio::test]
async fn an_older_message_does_not_undo_the_failure_of_a_refund_whose_name_was_not_known() {
    let at = StripeShop::start().await;
    at.fake.trouble("/refunds", Trouble::FailedAfter);
    let booking = cancelled(&at).await;
    let record = at.until(&booking, |record| record.saga.tries > 0).await;
    let (refund, next_at) = (&record.refunds[0].refund, record.saga.next_at);
    let first = at.fake.events().len();
    at.fake.settle_refund(refund, "succeeded", "refund.updated");
    at.fake.settle_refund(refund, "failed", "refund.failed");
    at.shop.clock.set(next_at.expect("it is asked again"));
    at.until(&booking, |record| record.saga.stuck.is_some()).await;
    at.bring(&at.fake.events()[first]).await.expect(200);
    let record = at.saga_record(&booking).await;
    assert_eq!(record.refunds[0].status, RefundStatus::Failed);
    assert!(record.saga.stuck.is_some(), "somebody has to find another way: {record:?}");
}

#[tokio::test]
async fn a_refund_that_takes_days_uses_up_no_patience() {
    let at = StripeShop::start_with("", |config| config.saga.tries = 3).await;
    at.fake.hold_refunds();
    let booking = cancelled(&at).await;
    let is_sent = |record: &SagaRecord| {
        record.refunds.iter().any(|refund| refund.status == RefundStatus::Sent)
    };
    at.until(&booking, is_sent).await;
    let tries_are = |present: fn(u32) -> bool| {
        let at = &at;
        move |record: &SagaRecord| {
            at.shop.clock.set(record.saga.next_at.unwrap_or_default().max(at.shop.clock.now()));
            record.saga.stuck.is_some() || present(record.saga.tries)
        }
    };
    for _ in 0..4 {
        at.fake.trouble("/re_0", Trouble::TooMany);
        at.until(&booking, tries_are(|tries| tries > 0)).await;
        at.until(&booking, tries_are(|tries| tries == 0)).await;
    }
    assert_eq!(at.saga_record(&booking).await.saga.stuck, None);
}

#[tokio::test]
async fn a_payment_that_stripe_refuses_is_closed_and_another_may_be_tried() {
    let at = StripeShop::start().await;
    let body = json!({"event": "e", "title": "Rush & Roll", "currency": "EUR", "room": null});
    at.shop.organise("POST", "/events", &body).await;
    // One costs less than Stripe's most, and two cost more.
    at.shop.add_pool("e", "ga", 10, 99_999_900).await;
    at.shop.organise_plainly("/events/e/open").await;
    let guest = at.shop.guest().await;
    let held = guest.hold("e", "h", &json!({"pools": {"ga": 2}})).await.expect(201);
    let booking = held.text("booking");
    for key in ["p", "q"] {
        assert_eq!(pay(&guest, &booking, key).await.status, 502, "{key}");
        let record = at.until(&booking, |record| {
            record.present().is_some_and(|payment| payment.stage == Stage::Void)
        });
        assert_eq!(record.await.saga.stuck, None);
        let path = format!("/bookings/{booking}");
        assert_eq!(guest.get(&path).await.expect(200).json()["status"], "held", "{key}");
    }
    assert_eq!(at.fake.intents().len(), 0);
}
