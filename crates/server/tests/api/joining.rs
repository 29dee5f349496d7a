//! The waiting room.

use crate::shop::Shop;
use serde_json::json;

/// A sale whose room has one slot, taken by the first guest.
async fn full_room(shop: &Shop) {
    shop.sale_with_room("e", json!({"capacity": 1})).await;
    let first = shop.guest().await;
    first.join("e").await.expect(202);
    first.until_active("e").await;
}

#[tokio::test]
async fn joining_is_answered_by_whether_key_and_place_are_known() {
    let shop = Shop::start().await;
    full_room(&shop).await;
    let guest = shop.guest().await;
    let with_key = |key: &str| guest.ask("POST", "/events/e/queue").key(key);

    let first = with_key("one").send().await.expect(202).json();
    assert_eq!(first["status"], "queued");
    assert_eq!(first["position"], 1);
    assert_eq!(first["number"], 2);

    let again = with_key("one").send().await;
    assert_eq!(again.problem(), (409, "DUPLICATE".into()));
    assert_eq!(again.json()["place"], first["place"]);
    assert_eq!(again.json()["position"], 1);

    let other = with_key("two").send().await;
    assert_eq!(other.problem(), (409, "ALREADY_IN_QUEUE".into()));
    assert_eq!(other.json()["place"], first["place"]);

    let keyless = guest.join("e").await.expect(200).json();
    assert_eq!(keyless["place"], first["place"]);

    // Joining without a key, and again, is one place, returned to whoever asks again.
    let plain = shop.guest().await;
    let place = plain.join("e").await.expect(202).json();
    assert_eq!(plain.join("e").await.expect(200).json()["place"], place["place"]);
}

#[tokio::test]
async fn of_100_concurrent_calls_with_one_key_exactly_1_is_accepted() {
    let shop = Shop::start().await;
    full_room(&shop).await;
    let guest = shop.guest().await;
    let request = guest.ask("POST", "/events/e/queue").key("the-same");
    let calls: Vec<_> = (0..100).map(|_| tokio::spawn(request.clone().send())).collect();
    let (mut accepted, mut refused) = (0, 0);
    for call in calls {
        let answer = call.await.unwrap();
        if answer.status == 202 {
            accepted += 1;
        } else {
            assert_eq!(answer.problem(), (409, "DUPLICATE".into()));
            refused += 1;
        }
    }
    assert_eq!((accepted, refused), (1, 99));
    assert_eq!(guest.get("/events/e").await.json()["waiting"], 1);
}

#[tokio::test]
async fn positions_are_exact_and_fall_as_people_leave() {
    let shop = Shop::start().await;
    full_room(&shop).await;
    let (a, b, c) = (shop.guest().await, shop.guest().await, shop.guest().await);
    for guest in [&a, &b, &c] {
        guest.join("e").await.expect(202);
    }
    assert_eq!(c.place("e").await["position"], 3);
    assert_eq!(c.place("e").await["total"], 3);
    let left = a.ask("DELETE", "/events/e/queue").send().await.expect(200);
    assert_eq!(left.json(), json!({"from": "queue"}));
    assert_eq!(c.place("e").await["position"], 2);
    assert_eq!(a.place("e").await, json!({"status": "not_found"}));
    let gone = a.ask("DELETE", "/events/e/queue").send().await;
    assert_eq!(gone.problem(), (404, "PLACE_NOT_FOUND".into()));
}

#[tokio::test]
async fn several_places_of_one_user_are_served_in_the_order_taken() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({"capacity": 1, "places_per_user": 2})).await;
    let guest = shop.guest().await;
    let take = |key: &str| guest.ask("POST", "/events/e/queue").key(key).send();
    let first = take("1").await.expect(202).json();
    let second = take("2").await.expect(202).json();
    assert_eq!(take("3").await.problem(), (409, "ALREADY_IN_QUEUE".into()));
    assert_eq!(guest.until_active("e").await["place"], first["place"]);
    let path = format!("/events/e/queue?place={}", second["place"].as_str().unwrap());
    assert_eq!(guest.get(&path).await.expect(200).json()["status"], "queued");
    let left = guest.ask("DELETE", "/events/e/queue").send().await.expect(200);
    assert_eq!(left.json(), json!({"from": "active"}));
    assert_eq!(guest.until_active("e").await["place"], second["place"]);
}

#[tokio::test]
async fn who_shops_keeps_the_places_with_which_they_wait_besides() {
    let shop = Shop::start().await;
    let room = json!({"capacity": 1, "places_per_user": 2, "place_ttl_ms": 300_000,
        "session_ms": 900_000});
    shop.sale_with_room("e", room).await;
    let guest = shop.guest().await;
    let take = |key: &str| guest.ask("POST", "/events/e/queue").key(key).send();
    take("1").await.expect(202);
    let second = take("2").await.expect(202).json();
    guest.until_active("e").await;
    guest.ask("POST", "/events/e/queue/arrive").send().await.expect(200);
    for _ in 0..4 {
        shop.clock.advance_ms(100_000);
        assert_eq!(guest.place("e").await["status"], "active");
    }
    let path = format!("/events/e/queue?place={}", second["place"].as_str().unwrap());
    assert_eq!(guest.get(&path).await.expect(200).json()["status"], "queued");
}

/// A trap: anyone polling at position 1 gets a pass without leaving the queue.
#[tokio::test]
async fn polling_at_position_1_gives_no_pass_and_takes_no_slot() {
    let shop = Shop::start().await;
    full_room(&shop).await;
    let guest = shop.guest().await;
    guest.join("e").await.expect(202);
    for _ in 0..20 {
        let place = guest.place("e").await;
        assert_eq!(place["position"], 1);
        assert!(place.get("pass").is_none());
    }
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await;
    assert_eq!(held.problem(), (409, "NOT_YOUR_TURN".into()));
}

#[tokio::test]
async fn an_admitted_visitor_who_does_not_show_up_loses_the_slot_and_polling_is_no_arrival() {
    let shop = Shop::start().await;
    full_room(&shop).await;
    let (ghost, next) = (shop.guest().await, shop.guest().await);
    ghost.join("e").await.expect(202);
    next.join("e").await.expect(202);
    // The guest in the room never showed up either.
    shop.clock.advance_ms(120_000);
    let place = ghost.until_active("e").await;
    assert!(place["arrive_by"].is_i64());
    shop.clock.advance_ms(120_000);
    let place = next.until_active("e").await;
    assert!(place["arrive_by"].is_i64());
    let arrived = next.ask("POST", "/events/e/queue/arrive").send().await.expect(200).json();
    assert!(arrived.get("arrive_by").is_none());
    assert_eq!(arrived["until"], place["until"]);
    assert_eq!(ghost.place("e").await["status"], "not_found");
}

#[tokio::test]
async fn without_a_room_there_is_nothing_to_join() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    assert_eq!(guest.join("e").await.problem(), (409, "NO_WAITING_ROOM".into()));
    assert_eq!(guest.join("nowhere").await.problem(), (404, "EVENT_NOT_FOUND".into()));
}

#[tokio::test]
async fn a_full_queue_is_said_to_be_full() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({"capacity": 1, "max_queue_size": 1})).await;
    let guests = [shop.guest().await, shop.guest().await, shop.guest().await];
    guests[0].join("e").await.expect(202);
    guests[0].until_active("e").await;
    guests[1].join("e").await.expect(202);
    assert_eq!(guests[2].join("e").await.problem(), (409, "QUEUE_FULL".into()));
}

/// A key is good for one place, also once that place is gone.
#[tokio::test]
async fn a_key_is_known_after_its_place_is_gone_and_a_place_id_is_never_given_twice() {
    let shop = Shop::start().await;
    full_room(&shop).await;
    let guest = shop.guest().await;
    let with_key = |key: &str| guest.ask("POST", "/events/e/queue").key(key);
    let first = with_key("one").send().await.expect(202).json();
    guest.ask("DELETE", "/events/e/queue").send().await.expect(200);
    let again = with_key("one").send().await;
    assert_eq!(again.problem(), (409, "DUPLICATE".into()));
    assert_eq!(again.json()["place"], first["place"]);
    assert_eq!(again.json()["place_status"], "gone");
    assert!(again.text("detail").contains("new key"), "{again:?}");
    assert_eq!(guest.place("e").await, json!({"status": "not_found"}));

    let second = with_key("two").send().await.expect(202).json();
    assert_ne!(second["place"], first["place"]);
    assert_eq!(second["number"], 3);
    guest.ask("DELETE", "/events/e/queue").send().await.expect(200);

    // Without a key each joining is a request of its own, and each place has an id of its own.
    let mut ids = vec![first["place"].clone(), second["place"].clone()];
    for _ in 0..5 {
        let place = guest.join("e").await.expect(202).json();
        assert_eq!(guest.join("e").await.expect(200).json()["place"], place["place"]);
        assert!(!ids.contains(&place["place"]), "{place} was given before");
        ids.push(place["place"].clone());
        guest.ask("DELETE", "/events/e/queue").send().await.expect(200);
    }
}

/// A visitor whose session is over, and who holds a unit.
async fn overdue<'a>(shop: &'a Shop, room: serde_json::Value) -> (crate::shop::Guest<'a>, String) {
    shop.sale_with_room("e", room).await;
    let guest = shop.guest().await;
    guest.join("e").await.expect(202);
    guest.until_active("e").await;
    guest.ask("POST", "/events/e/queue/arrive").send().await.expect(200);
    shop.clock.advance_ms(500_000);
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    shop.clock.advance_ms(100_000);
    (guest, booking)
}

#[tokio::test]
async fn all_answers_agree_on_a_session_that_is_over_while_its_hold_lives() {
    let shop = Shop::start().await;
    let (guest, booking) = overdue(&shop, json!({"capacity": 1})).await;
    let held = guest.get(&format!("/bookings/{booking}")).await.expect(200).json();
    let place = guest.place("e").await;
    assert_eq!((&place["status"], &place["until"]), (&json!("ended"), &held["until"]));
    // It is the same place in every answer.
    let joined = guest.ask("POST", "/events/e/queue").key("another").send().await;
    assert_eq!(joined.problem(), (409, "ALREADY_IN_QUEUE".into()));
    let told = joined.json();
    assert_eq!((&told["place"], &told["place_status"]), (&place["place"], &json!("ended")));
    assert_eq!(told["until"], place["until"]);
    assert_eq!(guest.join("e").await.expect(200).json(), place);
    let more = guest.hold("e", "k2", &json!({"pools": {"ga": 1}})).await;
    assert_eq!(more.problem(), (409, "SESSION_OVER".into()));
    assert!(more.text("detail").contains("what you hold"), "{more:?}");
    let arrived = guest.ask("POST", "/events/e/queue/arrive").send().await;
    assert_eq!(arrived.problem(), (409, "SESSION_OVER".into()));
    // What the texts tell to do can be done.
    guest.ask("POST", &format!("/bookings/{booking}/cancel")).send().await.expect(200);
    assert_eq!(guest.place("e").await, json!({"status": "not_found"}));
    guest.ask("POST", "/events/e/queue").key("another").send().await.expect(202);
}

#[tokio::test]
async fn a_session_that_is_over_can_be_left_together_with_its_hold() {
    let shop = Shop::start().await;
    let (guest, booking) = overdue(&shop, json!({"capacity": 1})).await;
    let left = guest.ask("DELETE", "/events/e/queue").send().await.expect(200);
    assert_eq!(left.json(), json!({"from": "active"}));
    let given_back = guest.get(&format!("/bookings/{booking}")).await.expect(200).json();
    assert_eq!(given_back["status"], "released");
    guest.join("e").await.expect(202);
}
