//! Keys that are used again once the rules have forgotten what they stood for.

use crate::paying::{GOOD_CARD, open_paid_event, use_card};
use crate::shop::{ADMIN_KEY, Guest, Shop};
use onrush_base::config::GatewayName;
use serde_json::{Value, json};
use std::time::Duration;

const DAY_MS: i64 = 24 * 3_600_000;

async fn shop() -> Shop {
    let shop = Shop::start_with(|config| {
        config.gateway = GatewayName::Sandbox;
        config.guest_token_ttl_s = 7 * 86_400;
    })
    .await;
    open_paid_event(&shop).await;
    shop
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap_or_else(|_| panic!("{what}"));
}

/// Four units that were held with a key and given back, and a day later one unit with the same key.
async fn held_again(shop: &Shop, guest: &Guest<'_>) -> String {
    let booking = guest.hold_ga("k", 4).await;
    guest.ask("POST", &format!("/bookings/{booking}/cancel")).send().await.expect(200);
    until("the ledger follows", async || listed(shop, "released").await == [&*booking]).await;
    forgotten(shop).await;
    assert_eq!(guest.hold_ga("k", 1).await, booking);
    booking
}

/// A day passes, and the rules know nothing of what ended before.
async fn forgotten(shop: &Shop) {
    shop.clock.advance_ms(DAY_MS + 1_000);
    until("the rules forget", async || {
        let feed = shop.admin("GET", "/feed?event=e&limit=1000").send().await.expect(200).json();
        feed.to_string().contains("hold_forgotten")
    })
    .await;
}

/// Bookings of this status, as the ledger has them.
async fn listed(shop: &Shop, status: &str) -> Vec<String> {
    let path = format!("/bookings?event=e&status={status}");
    let found = shop.admin("GET", &path).send().await.expect(200).json();
    let rows = found["bookings"].as_array().unwrap();
    rows.iter().map(|row| row["booking"].as_str().unwrap().to_owned()).collect()
}

async fn free(shop: &Shop) -> Value {
    let answer = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    answer["pools"][0]["free"].clone()
}

#[tokio::test]
async fn nothing_is_paid_for_under_a_key_of_an_earlier_day() {
    let shop = shop().await;
    let guest = shop.guest().await;
    let booking = held_again(&shop, &guest).await;
    let refused = guest.pay(&booking, "p").await;
    assert_eq!(refused.problem(), (422, "BOOKING_MISMATCH".into()));
    assert_eq!(guest.booking(&booking).await["status"], "released");
    assert_eq!(free(&shop).await, 10);

    let other = guest.hold_ga("k2", 1).await;
    assert_ne!(other, booking);
    assert_eq!(guest.pay(&other, "p2").await.expect(201).json()["amount_minor"], 2_725);
}

#[tokio::test]
async fn nothing_is_confirmed_under_a_key_of_an_earlier_day() {
    let shop = shop().await;
    let guest = shop.guest().await;
    let booking = held_again(&shop, &guest).await;
    let path = format!("/events/e/bookings/{booking}/confirm");
    let refused = shop.admin("POST", &path).json(&json!({"payment": "till-7"})).send().await;
    assert_eq!(refused.problem(), (422, "BOOKING_MISMATCH".into()));
    let refused = guest.ask("POST", &format!("/bookings/{booking}/confirm")).send().await;
    assert_eq!(refused.problem(), (422, "BOOKING_MISMATCH".into()));
    assert_eq!(free(&shop).await, 10);
}

#[tokio::test]
async fn the_tickets_of_a_cancelled_booking_stay_revoked_though_its_key_holds_again() {
    let shop = shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("k", 2).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    guest.until_status(&booking, "confirmed").await;
    shop.cancel(&booking).await.expect(200);
    until("the ledger follows", async || listed(&shop, "cancelled").await == [&*booking]).await;

    forgotten(&shop).await;
    assert_eq!(guest.hold_ga("k", 1).await, booking);
    guest.ask("POST", &format!("/bookings/{booking}/cancel")).send().await.expect(200);
    // Whatever the ledger is told after it, it knows of it by then.
    let later = guest.hold_ga("later", 1).await;
    until("the ledger follows", async || listed(&shop, "held").await == [&*later]).await;
    assert_eq!(listed(&shop, "cancelled").await, [&*booking]);
    let revoked = shop.ask("GET", "/events/e/revoked-tickets").bearer(ADMIN_KEY).send().await;
    assert_eq!(revoked.expect(200).json()["bookings"], json!([booking]));
}

#[tokio::test]
async fn a_free_booking_that_the_box_office_confirms_with_a_number_is_in_the_ledger() {
    let shop = shop().await;
    shop.flash_sale("free").await;
    let guest = shop.guest().await;
    let held = guest.hold("free", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    let path = format!("/events/free/bookings/{booking}/confirm");
    let confirmed = shop.organise("POST", &path, &json!({"payment": "till-7"})).await;
    assert_eq!(confirmed["status"], "confirmed");
    until("the ledger knows", async || {
        let found = shop.admin("GET", "/bookings?event=free").send().await.expect(200).json();
        found["bookings"].as_array().is_some_and(|rows| rows.len() == 1)
    })
    .await;
}
