//! Amounts that a gateway counts in steps: what a buyer is told goes back is what the gateway can give back.

use crate::paying::paid_event;
use crate::seat_maps::small_house;
use crate::shop::Shop;
use crate::till::Till;
use onrush_base::config::{Config, GatewayName, Secret, StripeSettings};
use onrush_core::Command;
use onrush_core::question::EventNow;
use onrush_store::Ask;
use serde_json::{Value, json};

const DAY_MS: i64 = 24 * 3_600_000;

/// Has payments go through Stripe, where nobody pays in these tests.
pub(crate) fn with_stripe(config: &mut Config) {
    config.gateway = GatewayName::Stripe;
    config.stripe = Some(StripeSettings {
        secret_key: Secret::from("sk_test_51OnrushTestsOnly0123456789".to_owned()),
        webhook_secret: Secret::from("whsec_0123456789onrushtestsonly0123".to_owned()),
        publishable_key: None,
        base_url: "http://127.0.0.1:9".into(),
        delayed_methods: false,
    });
}

async fn shop_with_stripe() -> Shop {
    Shop::start_with(with_stripe).await
}

impl Shop {
    /// An open event in a currency, of whose price half goes back.
    async fn half_back(&self, event: &str, currency: &str, price_minor: i64) {
        let starts_at = self.clock.now().0 + 30 * DAY_MS;
        let body = json!({"event": event, "title": "Half", "currency": currency, "room": null,
            "starts_at": starts_at, "refunds": [{"days_before": 0, "percent": 50}]});
        self.organise("POST", "/events", &body).await;
        self.add_pool(event, "ga", 10, price_minor).await;
        self.organise_plainly(&format!("/events/{event}/open")).await;
    }

    /// Sells one unit at the box office, and has its buyer cancel it; says what goes back.
    async fn sell_and_cancel(&self, event: &str) -> Value {
        let guest = self.guest().await;
        let booking = guest.hold(event, "h", &json!({"pools": {"ga": 1}})).await.expect(201);
        let booking = booking.text("booking");
        let path = format!("/events/{event}/bookings/{booking}/confirm");
        self.organise("POST", &path, &json!({"payment": "till-1"})).await;
        let path = format!("/bookings/{booking}/cancel");
        guest.ask("POST", &path).send().await.expect(200).json()["refund_minor"].clone()
    }
}

#[tokio::test]
async fn half_of_15_130_dinars_is_what_the_gateway_can_give_back() {
    let shop = shop_with_stripe().await;
    // Stripe's three decimals end in 0, and its ariary has none.
    for (currency, price_minor, refund_minor) in [
        ("KWD", 15_130, 7_570),
        ("JOD", 15_130, 7_570),
        ("TND", 15_130, 7_570),
        ("OMR", 330, 170),
        ("MGA", 300, 200),
        ("EUR", 333, 167),
        ("JPY", 333, 167),
    ] {
        let event = currency.to_ascii_lowercase();
        shop.half_back(&event, currency, price_minor).await;
        assert_eq!(shop.sell_and_cancel(&event).await, json!(refund_minor), "{currency}");
    }
}

#[tokio::test]
async fn a_refund_that_the_gateway_cannot_express_is_refused_before_anything_changes() {
    let shop = shop_with_stripe().await;
    shop.half_back("kwd", "KWD", 15_130).await;
    let guest = shop.guest().await;
    let booking = guest.hold("kwd", "h", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = booking.text("booking");
    let path = format!("/events/kwd/bookings/{booking}");
    shop.organise("POST", &format!("{path}/confirm"), &json!({"payment": "till-1"})).await;
    let cancel = |refund_minor: i64| {
        let body = json!({"by": "crew", "why": "rain", "refund_minor": refund_minor});
        shop.admin("POST", &format!("{path}/cancel")).json(&body).send()
    };
    let before = shop.committed();
    let refused = cancel(7_565).await;
    assert_eq!(refused.problem(), (409, "REFUND_BETWEEN_STEPS".into()));
    assert_eq!(refused.json()["step_minor"], 10);
    assert_eq!(shop.committed(), before);
    assert_eq!(guest.booking(&booking).await["status"], "confirmed");
    let cancelled = cancel(7_560).await.expect(200).json();
    assert_eq!(cancelled["refund_minor"], 7_560);
}

/// As one made before there were steps, or before the gateway was chosen.
#[tokio::test]
async fn an_event_that_does_not_know_the_gateways_steps_learns_them_before_money_goes_back() {
    let shop = shop_with_stripe().await;
    shop.half_back("kwd", "KWD", 15_130).await;
    let event = || "kwd".parse().unwrap();
    let view = shop.server.engine().ask(event(), EventNow).await.unwrap().value;
    let mut settings = view.settings;
    settings.amount_step_minor = 1;
    let change = Command::ChangeSettings { settings: Box::new(settings) };
    shop.server.engine().execute(event(), change).await.unwrap();
    assert_eq!(shop.sell_and_cancel("kwd").await, json!(7_570));
}

/// What a seat costs with its fees is rounded to the steps, which an event may learn after its map was read.
#[tokio::test]
async fn a_seat_map_that_was_read_before_the_steps_were_learned_is_told_anew() {
    let shop = shop_with_stripe().await;
    let starts_at = shop.clock.now().0 + 30 * DAY_MS;
    let body = json!({"event": "kwd", "title": "Half", "currency": "KWD", "room": null,
        "starts_at": starts_at, "refunds": [{"days_before": 0, "percent": 50}]});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("kwd", "ga", 10, 15_130).await;
    let map = json!({"plan": small_house(), "prices": {"Stalls": 15_130}});
    shop.organise("PUT", "/events/kwd/seat-map", &map).await;
    let event = || "kwd".parse().unwrap();
    let view = shop.server.engine().ask(event(), EventNow).await.unwrap().value;
    let mut settings = view.settings;
    settings.amount_step_minor = 1;
    settings.fees.percent_bp = 100;
    let change = Command::ChangeSettings { settings: Box::new(settings) };
    shop.server.engine().execute(event(), change).await.unwrap();
    shop.organise_plainly("/events/kwd/open").await;
    let read = async || {
        let seats = shop.ask("GET", "/events/kwd/seats").send().await.expect(200);
        let left = shop.ask("GET", "/events/kwd/availability").send().await.expect(200).json();
        let all_in = seats.json()["categories"][0]["all_in_minor"].clone();
        assert_eq!(all_in, left["categories"][0]["all_in_minor"]);
        (all_in, seats.header("etag").expect("it has a tag").to_owned())
    };
    let (before, first_tag) = read().await;
    assert_eq!(before, 15_281);
    shop.sell_and_cancel("kwd").await;
    let (after, tag) = read().await;
    assert_eq!(after, 15_280);
    assert_ne!(tag, first_tag);
}

#[tokio::test]
async fn a_gateway_that_can_give_back_any_amount_gives_back_to_the_minor_unit() {
    let till = Till::start();
    let shop = Shop::start_with(|config| till.configure(config)).await;
    paid_event(&shop, "e").await;
    shop.half_back("kwd", "KWD", 15_131).await;
    assert_eq!(shop.sell_and_cancel("kwd").await, json!(7_566));
}
