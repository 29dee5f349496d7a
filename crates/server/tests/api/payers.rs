//! Limits of what one e-mail address may pay for, over HTTP, one fact a test.

use crate::client::Answer;
use crate::paying::{GOOD_CARD, POOR_CARD, paid_shop, use_card};
use crate::shop::{Guest, Shop};
use serde_json::{Value, json};

fn buyer(email: &str) -> Value {
    json!({"buyer": {"name": "Ann", "email": email, "language": "en"}})
}

/// A shop whose event `e` has these settings besides.
async fn limited(settings: Value) -> Shop {
    let shop = paid_shop().await;
    shop.organise("PATCH", "/events/e", &settings).await;
    shop
}

impl Guest<'_> {
    async fn pay_as(&self, booking: &str, key: &str, email: &str) -> Answer {
        let request = self.ask("POST", &format!("/bookings/{booking}/payment")).key(key);
        request.json(&buyer(email)).send().await
    }
}

#[tokio::test]
async fn an_event_has_limits_of_payers_and_loses_them() {
    let shop = limited(json!({"max_per_email": 4, "max_per_card": 6})).await;
    let told = shop.ask("GET", "/events/e").send().await.expect(200).json();
    assert_eq!((&told["max_per_email"], &told["max_per_card"]), (&json!(4), &json!(6)));
    for name in ["max_per_email", "max_per_card"] {
        for wrong in [0, 1_001] {
            let refused = shop.admin("PATCH", "/events/e").json(&json!({name: wrong})).send().await;
            assert_eq!(refused.problem(), (422, "INVALID_SETTINGS".into()));
            assert_eq!(refused.json()["field"], name);
        }
        let none = shop.organise("PATCH", "/events/e", &json!({name: null})).await;
        assert!(none.get(name).is_none());
    }
}

#[tokio::test]
async fn whoever_pays_under_an_address_that_has_enough_is_refused_and_keeps_the_hold() {
    let shop = limited(json!({"max_per_email": 3})).await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let first = ann.hold_ga("h", 2).await;
    let payment = ann.pay_as(&first, "p", "ann@post.example").await.expect(201).json();
    use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    ann.until_status(&first, "confirmed").await;

    let second = bob.hold_ga("h", 2).await;
    let refused = bob.pay_as(&second, "p1", "Ann+more@Post.example").await;
    assert_eq!(refused.problem(), (409, "PAYER_LIMIT_EXCEEDED".into()));
    let told = refused.json();
    assert_eq!((&told["by"], &told["limit"]), (&json!("email"), &json!(3)));
    assert!(told.get("held").is_none(), "what somebody else has is not told");
    let held = bob.booking(&second).await;
    assert_eq!((&held["status"], held.get("payments_begun")), (&json!("held"), Some(&json!(0))));
    bob.pay_as(&second, "p2", "bob@post.example").await.expect(201);
}

#[tokio::test]
async fn who_gives_no_address_where_that_counts_is_told_to() {
    let shop = limited(json!({"max_per_email": 3})).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 2).await;
    let refused = guest.pay(&booking, "p1").await;
    assert_eq!(refused.problem(), (422, "INVALID_BODY".into()));
    assert_eq!(refused.json()["field"], "buyer.email");
    assert_eq!(guest.booking(&booking).await["status"], "held");
    // One that was given before will do.
    let put = guest.ask("PUT", &format!("/bookings/{booking}/buyer"));
    put.json(&buyer("ann@post.example")["buyer"]).send().await.expect(200);
    guest.pay(&booking, "p2").await.expect(201);
    // A payment that runs is found again, whoever asks for it.
    guest.pay(&booking, "p3").await.expect(200);
}

#[tokio::test]
async fn another_address_after_a_declined_payment_takes_the_place_of_the_first() {
    let shop = limited(json!({"max_per_email": 2})).await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let first = ann.hold_ga("h", 2).await;
    let payment = ann.pay_as(&first, "p1", "ann@post.example").await.expect(201).json();
    use_card(payment["url"].as_str().unwrap(), POOR_CARD).await.expect(200);
    ann.until_status(&first, "held").await;
    let second = bob.hold_ga("h", 1).await;
    let refused = bob.pay_as(&second, "p1", "ann@post.example").await;
    assert_eq!(refused.problem(), (409, "PAYER_LIMIT_EXCEEDED".into()), "it is held still");
    ann.pay_as(&first, "p2", "ann@home.example").await.expect(201);
    bob.pay_as(&second, "p2", "ann@post.example").await.expect(201);
}

#[tokio::test]
async fn what_is_free_of_charge_counts_for_an_address_too() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    shop.organise("PATCH", "/events/e", &json!({"max_per_email": 1})).await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let confirm = async |guest: &Guest<'_>, booking: &str, body: Value| {
        guest.ask("POST", &format!("/bookings/{booking}/confirm")).json(&body).send().await
    };
    let first = ann.hold_ga("h", 1).await;
    let refused = confirm(&ann, &first, json!({})).await;
    assert_eq!(refused.problem(), (422, "INVALID_BODY".into()));
    confirm(&ann, &first, buyer("ann@post.example")).await.expect(200);
    confirm(&ann, &first, json!({})).await.expect(200);
    let second = bob.hold_ga("h", 1).await;
    let refused = confirm(&bob, &second, buyer("ann@post.example")).await;
    assert_eq!(refused.problem(), (409, "PAYER_LIMIT_EXCEEDED".into()));
    // What the organiser gives away at the box office is their own affair.
    let till = format!("/events/e/bookings/{second}/confirm");
    shop.admin("POST", &till).json(&buyer("ann@post.example")).send().await.expect(200);
}

#[tokio::test]
async fn the_feed_tells_of_a_payer_and_never_of_an_address() {
    let shop = limited(json!({"max_per_email": 3})).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    guest.pay_as(&booking, "p", "ann@post.example").await.expect(201);
    let feed = shop.admin("GET", "/feed").send().await.expect(200).json().to_string();
    assert!(feed.contains("payer_named"), "{feed}");
    assert!(!feed.contains("post.example"), "{feed}");
}
