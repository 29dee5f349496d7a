//! Why a unit is what it is, as the organiser is told.

use crate::shop::Shop;
use serde_json::{Value, json};

async fn seat(shop: &Shop, seat: &str) -> Value {
    shop.admin("GET", &format!("/events/e/seats/{seat}")).send().await.expect(200).json()
}

/// What happened, in order.
fn whats(told: &Value) -> Vec<&str> {
    let steps = told["history"].as_array().unwrap();
    steps.iter().map(|step| step["what"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_seat_tells_who_has_it_since_when_and_what_was_before() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    crate::seat_maps::import_small_house(&shop, "e").await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let wish = json!({"seats": ["A-2"]});
    let first = ann.hold("e", "k", &wish).await.expect(201).json();
    shop.clock.advance_ms(1_000);
    let release = format!("/bookings/{}/cancel", first["booking"].as_str().unwrap());
    ann.ask("POST", &release).send().await.expect(200);
    let free = seat(&shop, "A-2").await;
    assert_eq!(
        (&free["status"], whats(&free)),
        (&json!("free"), vec!["added", "held", "released"])
    );
    assert_eq!(free["since"], free["history"][2]["at"]);
    assert!(free.get("booking").is_none() && free.get("user").is_none());

    shop.clock.advance_ms(1_000);
    let second = bob.hold("e", "k", &wish).await.expect(201).json();
    let held = seat(&shop, "A-2").await;
    assert_eq!((&held["status"], &held["user"]), (&json!("held"), &json!(bob.user)));
    assert_eq!((&held["booking"], &held["since"]), (&second["booking"], &second["created_at"]));
    let booking = second["booking"].as_str().unwrap();
    shop.clock.advance_ms(1_000);
    let sold = bob.ask("POST", &format!("/bookings/{booking}/confirm")).send().await.expect(200);
    let told = seat(&shop, "A-2").await;
    assert_eq!(
        (&told["status"], &told["since"], &told["category"], &told["row"], &told["number"]),
        (&json!("sold"), &sold.json()["confirmed_at"], &json!("Stalls"), &json!("A"), &json!("2"))
    );

    let body = json!({"by": "box office", "why": "illness"});
    shop.organise("POST", &format!("/events/e/bookings/{booking}/cancel"), &body).await;
    let told = seat(&shop, "A-2").await;
    assert_eq!(
        (&told["status"], &told["by"], &told["why"]),
        (&json!("free"), &json!("admin"), &json!("illness"))
    );
    // Its neighbour has only been there.
    assert_eq!(whats(&seat(&shop, "A-1").await), ["added"]);
}

#[tokio::test]
async fn a_blocked_seat_tells_who_blocked_it_and_why() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    crate::seat_maps::import_small_house(&shop, "e").await;
    let body = json!({"seats": ["A-1"], "by": "stage", "why": "camera"});
    shop.organise("POST", "/events/e/block", &body).await;
    let told = seat(&shop, "A-1").await;
    assert_eq!(
        (&told["status"], &told["by"], &told["why"]),
        (&json!("blocked"), &json!("admin"), &json!("camera"))
    );
    assert_eq!(told["since"], told["history"][1]["at"]);
}

#[tokio::test]
async fn a_pool_tells_each_step_with_its_units() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 2}})).await.expect(201).json();
    let reason = |body: Value| {
        let mut body = body;
        body["by"] = json!("stage");
        body["why"] = json!("room");
        body
    };
    shop.organise("POST", "/events/e/block", &reason(json!({"pools": {"ga": 3}}))).await;
    let capacity = reason(json!({"capacity": 20}));
    shop.organise("PUT", "/events/e/pools/ga/capacity", &capacity).await;
    // Another event's decisions are not this one's.
    shop.flash_sale("other").await;
    let told = shop.admin("GET", "/events/e/pools/ga").send().await.expect(200).json();
    assert_eq!(
        (&told["capacity"], &told["free"], &told["held"], &told["blocked"]),
        (&json!(20), &json!(15), &json!(2), &json!(3))
    );
    let steps = told["history"].as_array().unwrap();
    let units: Vec<_> = steps.iter().map(|step| step["units"].as_i64().unwrap()).collect();
    assert_eq!(
        (whats(&told), units),
        (vec!["added", "held", "blocked", "capacity"], vec![10, 2, 3, 10])
    );
    assert_eq!((&steps[1]["booking"], &steps[1]["user"]), (&held["booking"], &json!(guest.user)));
    assert_eq!((&steps[3]["before"], &steps[3]["after"]), (&json!(10), &json!(20)));
}

#[tokio::test]
async fn what_is_not_there_has_no_history() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    for (path, code) in [
        ("/events/e/seats/Z-9", "SEAT_NOT_FOUND"),
        ("/events/e/pools/none", "ZONE_NOT_FOUND"),
        ("/events/nowhere/seats/A-1", "EVENT_NOT_FOUND"),
        ("/events/nowhere/pools/ga", "EVENT_NOT_FOUND"),
    ] {
        let answer = shop.admin("GET", path).send().await;
        assert_eq!(answer.problem(), (404, code.into()), "{path}");
    }
    let refused = shop.ask("GET", "/admin/events/e/pools/ga").send().await;
    assert_eq!(refused.problem(), (401, "TOKEN_MISSING".into()));
}
