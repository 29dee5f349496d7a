//! How fast a line moves, as visitors are told.

use crate::shop::Shop;
use serde_json::{Value, json};
use std::time::Duration;

async fn pace(shop: &Shop) -> Value {
    let answer = shop.ask("GET", "/events/e/pace").send().await.expect(200);
    assert_eq!(answer.header("cache-control"), Some("max-age=1"));
    answer.json()
}

#[tokio::test]
async fn the_pace_of_a_line_is_missing_until_enough_is_known_and_then_a_range() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({"capacity": 20})).await;
    let at = pace(&shop).await["at"].clone();
    assert_eq!(
        pace(&shop).await,
        json!({"event": "e", "at": at, "phase": "open", "admission": "goes_on", "waiting": 0,
            "active": 0, "units": {"free": 10, "held": 0, "sold": 0, "blocked": 0}})
    );
    shop.add_pool("e", "more", 20, 0).await;
    for _ in 0..20 {
        let guest = shop.guest().await;
        guest.join("e").await.expect(202);
        guest.until_active("e").await;
        shop.clock.advance_ms(2_000);
    }
    shop.guest().await.join("e").await.expect(202);
    // The feed is followed a moment behind, and a part of it is a pace too.
    let told = async {
        loop {
            let now = pace(&shop).await;
            let [from, to] = ["from", "to"].map(|end| now["per_min"][end].as_f64().unwrap_or(0.0));
            if 0.0 < from && from < 30.0 && 30.0 < to && to < 60.0 {
                return now;
            }
            tokio::task::yield_now().await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(20), told).await;
    let told = told.expect("a pace around thirty a minute");
    assert_eq!((&told["waiting"], &told["active"]), (&json!(1), &json!(20)));
}

#[tokio::test]
async fn an_unknown_event_has_no_pace() {
    let shop = Shop::start().await;
    let answer = shop.ask("GET", "/events/nowhere/pace").send().await;
    assert_eq!(answer.problem(), (404, "EVENT_NOT_FOUND".into()));
}
