//! The control room's samples: how a sale stands, second by second.

use crate::client::Events;
use crate::shop::Shop;
use serde_json::{Value, json};

async fn live(shop: &Shop, event: &str) -> Events {
    Events::open(shop.admin("GET", &format!("/events/{event}/live"))).await
}

/// The first sample that has what is looked for; each second brings another one.
async fn sample_with(live: &mut Events, has: impl Fn(&Value) -> bool) -> Value {
    loop {
        let (name, sample) = live.next_named().await.expect("another sample");
        assert_eq!(name, "sample");
        if has(&sample) {
            return sample;
        }
    }
}

#[tokio::test]
async fn what_happens_is_counted_from_sample_to_sample() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({"capacity": 1})).await;
    let mut live = live(&shop, "e").await;
    let (name, past) = live.next_named().await.unwrap();
    assert_eq!(name, "past");
    assert!(past["samples"].as_array().unwrap().last().unwrap()["at"].is_i64());
    // The samples of before may be of the moment before the opening.
    let first = sample_with(&mut live, |sample| sample["phase"] == "open").await;
    assert_eq!(first["counts"]["joined"], 0);
    assert_eq!(first["units"], json!({"free": 10, "held": 0, "sold": 0, "blocked": 0}));

    let (ann, bob) = (shop.guest().await, shop.guest().await);
    ann.join("e").await.expect(202);
    bob.join("e").await.expect(202);
    ann.until_active("e").await;
    let wish = json!({"pools": {"ga": 2}});
    let held = ann.hold("e", "k", &wish).await.expect(201).json();
    let booking = held["booking"].as_str().unwrap();
    ann.ask("POST", &format!("/bookings/{booking}/confirm")).send().await.expect(200);
    let sample = sample_with(&mut live, |sample| sample["counts"]["confirmed"] == 1).await;
    let counts = json!({"joined": 2, "admitted": 1, "left": 0, "held": 1, "confirmed": 1,
        "released": 0, "expired": 0,
        "cancelled": 0, "payments_begun": 0, "payments_failed": 0, "checked_in": 0, "sold_minor": 0});
    let mut told = sample["counts"].clone();
    // The booking may have ended Ann's session by now, and let Bob in.
    told["admitted"] = json!(1);
    assert_eq!(told, counts);
    assert_eq!(sample["units"], json!({"free": 8, "held": 0, "sold": 2, "blocked": 0}));
}

#[tokio::test]
async fn what_visitors_are_refused_is_counted_by_code_and_what_they_look_up_is_not() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let mut live = live(&shop, "e").await;
    let guest = shop.guest().await;
    for key in ["a", "b"] {
        guest.hold("e", key, &json!({"pools": {"ga": 11}})).await.expect(409);
    }
    let held = guest.hold("e", "c", &json!({"pools": {"ga": 1}})).await.expect(201).json();
    let booking = format!("/bookings/{}", held["booking"].as_str().unwrap());
    guest.ask("POST", &format!("{booking}/cancel")).send().await.expect(200);
    guest.ask("POST", &format!("{booking}/cancel")).send().await.expect(409);
    guest.get(&format!("{booking}/payment")).await.expect(404);
    shop.admin("POST", "/events/e/open").send().await.expect(409);
    assert_eq!(live.next_named().await.unwrap().0, "past");
    let sample = sample_with(&mut live, |sample| sample["refused"]["ALREADY_RELEASED"] == 1).await;
    assert_eq!(sample["refused"], json!({"INSUFFICIENT_STOCK": 2, "ALREADY_RELEASED": 1}));
}

#[tokio::test]
async fn money_of_confirmed_bookings_adds_up() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    shop.add_pool("e", "paid", 10, 1_500).await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"paid": 3}})).await.expect(201).json();
    let mut live = live(&shop, "e").await;
    let path = format!("/events/e/bookings/{}/confirm", held["booking"].as_str().unwrap());
    shop.organise("POST", &path, &json!({"payment": "box-office-1"})).await;
    assert_eq!(live.next_named().await.unwrap().0, "past");
    let sample = sample_with(&mut live, |sample| sample["counts"]["confirmed"] == 1).await;
    assert_eq!(sample["counts"]["sold_minor"], 4_500);
}

#[tokio::test]
async fn who_comes_later_gets_the_past() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({})).await;
    shop.guest().await.join("e").await.expect(202);
    let mut first = live(&shop, "e").await;
    assert_eq!(first.next_named().await.unwrap().0, "past");
    let sample = sample_with(&mut first, |sample| sample["counts"]["joined"] == 1).await;
    let past = live(&shop, "e").await.next_named().await.unwrap().1;
    assert!(past["samples"].as_array().unwrap().contains(&sample), "{past}");
}

#[tokio::test]
async fn samples_are_for_organisers_and_count_as_streams() {
    let shop = Shop::start_with(|config| config.max_streams = 1).await;
    shop.flash_sale("e").await;
    let refused = shop.ask("GET", "/admin/events/e/live").send().await;
    assert_eq!(refused.problem(), (401, "TOKEN_MISSING".into()));
    let unknown = shop.admin("GET", "/events/nowhere/live").send().await;
    assert_eq!(unknown.problem(), (404, "EVENT_NOT_FOUND".into()));
    let open = live(&shop, "e").await;
    let full = shop.admin("GET", "/events/e/live").send().await;
    assert_eq!(full.problem(), (503, "STREAMS_FULL".into()));
    drop(open);
    // The server notices the end of the first stream by itself.
    while shop.admin("GET", "/events/e/live").start_status().await != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn samples_end_when_the_server_stops() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let mut live = live(&shop, "e").await;
    assert_eq!(live.next_named().await.unwrap().0, "past");
    let Shop { server, dir: _dir, .. } = shop;
    let stopping = tokio::spawn(server.shutdown());
    while live.next_named().await.is_some() {}
    stopping.await.unwrap();
}
