//! Holds and what becomes of them.

use crate::shop::{Guest, Shop};
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn the_same_key_and_wish_again_gives_the_same_booking() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 2}});
    let first = guest.hold("e", "k", &wish).await.expect(201).json();
    let before = shop.committed();
    let again = guest.hold("e", "k", &wish).await.expect(201).json();
    assert_eq!(first, again);
    assert_eq!(shop.committed(), before);
    assert_eq!(first["status"], "held");
    assert_eq!(first["lines"], wish);
    assert!(first["booking"].as_str().unwrap().starts_with("e."));

    let other = guest.hold("e", "k", &json!({"pools": {"ga": 3}})).await;
    assert_eq!(other.problem(), (422, "BOOKING_MISMATCH".into()));
    // The same key in another's hands is another booking.
    let neighbour = shop.guest().await;
    let theirs = neighbour.hold("e", "k", &wish).await.expect(201).json();
    assert_ne!(theirs["booking"], first["booking"]);
    assert_eq!(free(&shop, "e").await, 6);
}

async fn free(shop: &Shop, event: &str) -> i64 {
    let answer = shop.ask("GET", &format!("/events/{event}/availability")).send().await;
    answer.expect(200).json()["pools"][0]["free"].as_i64().unwrap()
}

#[tokio::test]
async fn concurrent_calls_with_one_key_hold_once() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let request =
        guest.ask("POST", "/events/e/bookings").key("k").json(&json!({"pools": {"ga": 1}}));
    let calls: Vec<_> = (0..100).map(|_| tokio::spawn(request.clone().send())).collect();
    let mut bookings = Vec::new();
    for call in calls {
        bookings.push(call.await.unwrap().expect(201).json());
    }
    bookings.dedup();
    assert_eq!(bookings.len(), 1);
    assert_eq!(free(&shop, "e").await, 9);
}

#[tokio::test]
async fn the_last_unit_goes_to_exactly_one_of_many() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let mut calls = Vec::new();
    for _ in 0..30 {
        let guest = shop.guest().await;
        let request = guest.ask("POST", "/events/e/bookings").key("k");
        calls.push(tokio::spawn(request.json(&json!({"pools": {"ga": 1}})).send()));
    }
    let mut held = 0;
    for call in calls {
        let answer = call.await.unwrap();
        if answer.status == 201 {
            held += 1;
        } else {
            assert_eq!(answer.problem(), (409, "INSUFFICIENT_STOCK".into()));
            assert_eq!(answer.json()["free"], 0);
            assert_eq!(answer.json()["retryable"], true);
        }
    }
    assert_eq!(held, 10);
}

#[tokio::test]
async fn a_stay_is_held_for_all_nights_or_for_none() {
    let shop = Shop::start().await;
    shop.flash_sale("hotel").await;
    for (night, rooms) in [("2026-12-24", 2), ("2026-12-25", 2), ("2026-12-26", 1)] {
        shop.add_pool("hotel", &format!("deluxe.{night}"), rooms, 0).await;
    }
    let guest = shop.guest().await;
    let stay = |nights: u32, rooms: u32| {
        let stay =
            json!({"pool": "deluxe", "from": "2026-12-24", "nights": nights, "rooms": rooms});
        json!({ "stays": [stay] })
    };
    let refused = guest.hold("hotel", "a", &stay(3, 2)).await;
    assert_eq!(refused.problem(), (409, "INSUFFICIENT_STOCK".into()));
    assert_eq!(refused.json()["pool"], "deluxe.2026-12-26");
    let held = guest.hold("hotel", "b", &stay(3, 1)).await.expect(201).json();
    let nights = json!({"deluxe.2026-12-24": 1, "deluxe.2026-12-25": 1, "deluxe.2026-12-26": 1});
    assert_eq!(held["lines"]["pools"], nights);
    let beyond = guest.hold("hotel", "c", &stay(4, 1)).await;
    assert_eq!(beyond.problem(), (404, "ZONE_NOT_FOUND".into()));
}

#[tokio::test]
async fn a_hold_is_extended_released_confirmed_and_told_apart_afterwards() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let hold = async |key: &str| {
        let answer = guest.hold("e", key, &json!({"pools": {"ga": 1}})).await.expect(201);
        answer.text("booking")
    };
    let act = |booking: &str, what: &str| {
        guest.ask("POST", &format!("/bookings/{booking}/{what}")).send()
    };
    let (kept, given_back) = (hold("1").await, hold("2").await);
    shop.clock.advance_ms(60_000);
    let extended = act(&kept, "extend").await.expect(200).json();
    assert_eq!(extended["extensions"], 1);
    assert_eq!(act(&kept, "extend").await.problem(), (409, "EXTENSION_LIMIT".into()));

    let released = act(&given_back, "cancel").await.expect(200).json();
    assert_eq!(released["status"], "released");
    assert!(released["released_at"].is_i64() && released.get("until").is_none());
    assert_eq!(act(&given_back, "cancel").await.problem(), (409, "ALREADY_RELEASED".into()));
    assert_eq!(free(&shop, "e").await, 9);

    let confirmed = act(&kept, "confirm").await.expect(200).json();
    assert_eq!(confirmed["status"], "confirmed");
    assert_eq!(act(&kept, "cancel").await.problem(), (409, "NOT_CANCELLABLE".into()));
    let listed = guest.get("/bookings").await.expect(200).json();
    assert_eq!(listed["bookings"], json!([confirmed, released]));
    let none = guest.get("/bookings?event=nowhere").await;
    assert_eq!(none.problem(), (404, "EVENT_NOT_FOUND".into()));
}

#[tokio::test]
async fn a_hold_that_ran_out_is_on_sale_again_and_cannot_be_confirmed() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 10}})).await.expect(201).json();
    let booking = held["booking"].as_str().unwrap();
    shop.clock.advance_ms(600_000);
    let confirm = guest.ask("POST", &format!("/bookings/{booking}/confirm")).send().await;
    assert_eq!(confirm.problem(), (409, "HOLD_EXPIRED".into()));
    let view = guest.get(&format!("/bookings/{booking}")).await.expect(200).json();
    assert_eq!(view["status"], "expired");
    assert_eq!(free(&shop, "e").await, 10);
}

#[tokio::test]
async fn what_costs_something_is_confirmed_only_with_a_payment() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    shop.add_pool("e", "paid", 5, 4_200).await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"paid": 2}})).await.expect(201).json();
    assert_eq!(held["amount_minor"], 8_400);
    let booking = held["booking"].as_str().unwrap();
    let confirm = guest.ask("POST", &format!("/bookings/{booking}/confirm")).send().await;
    assert_eq!(confirm.problem(), (402, "PAYMENT_REQUIRED".into()));
    assert_eq!(confirm.json()["amount_minor"], 8_400);

    let at_box_office = format!("/events/e/bookings/{booking}/confirm");
    let without = shop.admin("POST", &at_box_office).send().await;
    assert_eq!(without.problem(), (402, "PAYMENT_REQUIRED".into()));
    let confirmed = shop.organise("POST", &at_box_office, &json!({"payment": "till-7"})).await;
    assert_eq!(confirmed["status"], "confirmed");
    assert_eq!(confirmed["payment"], "till-7");
    // A retry of the box office changes nothing.
    let again = shop.admin("POST", &at_box_office).json(&json!({"payment": "till-7"})).send().await;
    assert_eq!(again.expect(200).json(), confirmed);
    // Nor does another payment, which is refused, make somebody else its buyer.
    let [ann, bob] = ["Ann", "Bob"].map(|name| json!({"name": name, "email": "a@post.example"}));
    guest.ask("PUT", &format!("/bookings/{booking}/buyer")).json(&ann).send().await.expect(200);
    let body = json!({"payment": "till-8", "buyer": bob});
    let wrong = shop.admin("POST", &at_box_office).json(&body).send().await;
    assert_eq!(wrong.problem(), (409, "ALREADY_CONFIRMED".into()));
    let buyer = shop.server.ledger().buyer(&booking.parse().unwrap()).await.unwrap();
    assert_eq!(buyer.expect("a buyer").name, "Ann");
    // At no point did it look like a payment that is under way online.
    let feed = shop.admin("GET", "/feed?event=e&limit=1000").send().await.expect(200).json();
    let feed = feed["entries"].to_string();
    assert!(feed.contains("hold_confirmed") && !feed.contains("payment_begun"), "{feed}");

    let cancel = format!("/events/e/bookings/{booking}/cancel");
    let reason = json!({"by": "box office", "why": "the show moved"});
    let cancelled = shop.organise("POST", &cancel, &reason).await;
    assert_eq!(cancelled["status"], "cancelled");
}

/// The ledger has no booking of what is free of charge and was never confirmed.
#[tokio::test]
async fn whoever_was_named_for_a_free_hold_that_ended_is_exported_and_erased() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let (guest, other) = (shop.guest().await, shop.guest().await);
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let path = format!("/bookings/{}", held.text("booking"));
    let ann = json!({"name": "Ann", "email": "ann@post.example", "language": "en"});
    guest.ask("PUT", &format!("{path}/buyer")).json(&ann).send().await.expect(200);
    guest.ask("POST", &format!("{path}/cancel")).send().await.expect(200);
    shop.clock.advance_ms(25 * 3_600_000);
    let forgets = async {
        while guest.get(&path).await.status != 404 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), forgets).await.expect("it is forgotten");

    for whose in [json!({"user": guest.user}), json!({"email": "ANN@post.example"})] {
        let kept = shop.admin("POST", "/buyers/export").json(&whose).send().await.expect(200);
        let kept = kept.json();
        assert_eq!(kept["bookings"][0]["buyer"], ann, "{whose}");
        assert_eq!(kept["users"], json!([guest.user]), "{whose}");
    }
    let erase = |who: &Guest<'_>| who.ask("DELETE", &format!("{path}/buyer")).send();
    let unknown = (404, "RESERVATION_NOT_FOUND".to_owned());
    assert_eq!(erase(&other).await.problem(), unknown);
    assert_eq!(erase(&guest).await.expect(200).json(), json!({"erased": 1}));
    assert_eq!(erase(&guest).await.problem(), unknown, "nothing is known of it any more");
}

#[tokio::test]
async fn what_goes_back_now_is_told_and_is_what_a_cancellation_gives() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Show", "currency": "EUR",
        "starts_at": 4_000_000_000_000_i64, "fees": {"fixed_minor": 100},
        "refunds": [{"days_before": 7, "percent": 50}]});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("e", "paid", 5, 333).await;
    let event = shop.organise_plainly("/events/e/open").await;
    let until = 4_000_000_000_000_i64 - 7 * 24 * 3_600_000;
    assert_eq!(event["refunds"], json!([{"days_before": 7, "percent": 50, "until": until}]));
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"paid": 1}})).await.expect(201).json();
    assert_eq!((&held["payments_begun"], held.get("refund_now")), (&json!(0), None));
    let booking = held["booking"].as_str().unwrap();
    let confirm = format!("/events/e/bookings/{booking}/confirm");
    shop.organise("POST", &confirm, &json!({"payment": "till-7"})).await;

    let promised = json!({"percent": 50, "refund_minor": 167, "kept_minor": 266, "until": until});
    let path = format!("/bookings/{booking}");
    assert_eq!(guest.get(&path).await.expect(200).json()["refund_now"], promised);
    let list = guest.get("/bookings").await.expect(200).json();
    assert_eq!(list["bookings"][0]["refund_now"], promised);
    let cancel = guest.ask("POST", &format!("{path}/cancel")).send().await.expect(200).json();
    assert_eq!(cancel["refund_minor"], 167);
    assert_eq!(guest.get(&path).await.expect(200).json().get("refund_now"), None);
}

#[tokio::test]
async fn the_latest_end_of_a_hold_is_told_and_downtime_moves_it_on() {
    const MIN_MS: i64 = 60_000;
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201).json();
    let path = format!("/bookings/{}", held["booking"].as_str().unwrap());
    let before = guest.get(&path).await.expect(200).json();
    let created_ms = before["created_at"].as_i64().unwrap();
    assert_eq!(before["latest_until"], created_ms + 30 * MIN_MS);

    shop.clock.advance_ms(5 * MIN_MS);
    let (token, Shop { server, clock, dir }) = (guest.token, shop);
    server.shutdown().await;
    clock.advance_ms(45 * MIN_MS);
    let shop = Shop::start_in(dir, clock, |_| {}).await;
    let ask = |method: &str, path: &str| shop.ask(method, path).bearer(&token).send();
    let after = ask("GET", &path).await.expect(200).json();
    let away_ms = after["until"].as_i64().unwrap() - before["until"].as_i64().unwrap();
    assert!(away_ms >= 45 * MIN_MS, "{after}");
    let latest_ms = created_ms + 30 * MIN_MS + away_ms;
    assert_eq!(after["latest_until"], latest_ms);
    let list = ask("GET", "/bookings").await.expect(200).json();
    assert_eq!(list["bookings"][0]["latest_until"], latest_ms);
    let cancelled = ask("POST", &format!("{path}/cancel")).await.expect(200).json();
    assert_eq!(cancelled["status"], "released");
    assert_eq!(ask("GET", &path).await.expect(200).json().get("latest_until"), None);
}

/// A buyer gives a hold back on one device while another pays for it.
#[tokio::test]
async fn who_gives_back_only_what_is_held_keeps_what_was_confirmed() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Show", "currency": "EUR",
        "starts_at": 4_000_000_000_000_i64, "refunds": [{"days_before": 7, "percent": 50}]});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("e", "paid", 5, 333).await;
    shop.organise_plainly("/events/e/open").await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"paid": 1}})).await.expect(201);
    let booking = held.text("booking");
    let confirm = format!("/events/e/bookings/{booking}/confirm");
    shop.organise("POST", &confirm, &json!({"payment": "till-7"})).await;

    let cancel = |key: &str, body: &Value| {
        guest.ask("POST", &format!("/bookings/{booking}/cancel")).key(key).json(body).send()
    };
    let only_held = json!({"only": "held"});
    for _ in 0..2 {
        let refused = cancel("1", &only_held).await;
        assert_eq!(refused.problem(), (409, "ALREADY_CONFIRMED".into()));
    }
    assert_eq!(guest.booking(&booking).await["status"], "confirmed");
    for wrong in [json!({"only": "confirmed"}), json!({"only": ["held"]}), json!({"just": "held"})]
    {
        let refused = cancel("2", &wrong).await;
        assert_eq!(refused.problem(), (422, "INVALID_BODY".into()), "{wrong}");
        assert!(!refused.json()["field"].is_null(), "{}", refused.json());
    }
    let more = cancel("3", &json!({"at_least_minor": 168})).await;
    assert_eq!(more.problem(), (409, "REFUND_LOWERED".into()));
    assert_eq!(more.json()["refund_minor"], 167);
    assert_eq!(guest.booking(&booking).await["status"], "confirmed");
    let cancelled = cancel("4", &json!({"at_least_minor": 167})).await.expect(200).json();
    assert_eq!(cancelled["refund_minor"], 167);
    let too_late = cancel("5", &only_held).await;
    assert_eq!(too_late.problem(), (409, "INVALID_STATUS".into()));

    let held = guest.hold("e", "l", &json!({"pools": {"paid": 1}})).await.expect(201);
    let path = format!("/bookings/{}/cancel", held.text("booking"));
    let released = guest.ask("POST", &path).json(&only_held).send().await.expect(200).json();
    assert_eq!(released["status"], "released");
}

/// A trap: the client names the price.
#[tokio::test]
async fn a_price_in_the_wish_is_refused() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    for wish in [
        json!({"pools": {"ga": 1}, "unit_price": 1}),
        json!({"pools": {"ga": {"quantity": 1, "price_minor": 1}}}),
    ] {
        assert_eq!(guest.hold("e", "k", &wish).await.problem(), (422, "INVALID_BODY".into()));
    }
}

/// A trap: the user counter expires although confirmed seats still count.
#[tokio::test]
async fn confirmed_units_count_against_the_limit_however_long_ago() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    shop.organise("PATCH", "/events/e", &json!({"max_per_user": 2})).await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "1", &json!({"pools": {"ga": 2}})).await.expect(201);
    let confirm = format!("/bookings/{}/confirm", held.text("booking"));
    guest.ask("POST", &confirm).send().await.expect(200);
    shop.clock.advance_ms(23 * 3_600_000);
    let more = guest.hold("e", "2", &json!({"pools": {"ga": 1}})).await;
    assert_eq!(more.problem(), (409, "USER_LIMIT_EXCEEDED".into()));
    assert_eq!((&more.json()["limit"], &more.json()["held"]), (&json!(2), &json!(2)));
}

/// A trap: a refused reserve must not be "compensated" with a release, and a second release
/// must add nothing.
#[tokio::test]
async fn releasing_what_was_refused_or_released_adds_no_stock() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let refused = guest.hold("e", "k", &json!({"pools": {"ga": 11}})).await;
    assert_eq!(refused.problem(), (409, "INSUFFICIENT_STOCK".into()));
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let cancel = format!("/bookings/{}/cancel", held.text("booking"));
    guest.ask("POST", &cancel).send().await.expect(200);
    for _ in 0..3 {
        let again = guest.ask("POST", &cancel).send().await;
        assert_eq!(again.problem(), (409, "ALREADY_RELEASED".into()));
    }
    assert_eq!(free(&shop, "e").await, 10);
}

/// A trap: a pass that nobody checks.
#[tokio::test]
async fn holding_needs_a_session_while_the_room_is_on() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({"capacity": 1})).await;
    let (first, second) = (shop.guest().await, shop.guest().await);
    first.join("e").await.expect(202);
    first.until_active("e").await;
    second.join("e").await.expect(202);
    let wish = json!({"pools": {"ga": 1}});
    for guest in [&second, &shop.guest().await] {
        let refused = guest.hold("e", "k", &wish).await;
        assert_eq!(refused.problem(), (409, "NOT_YOUR_TURN".into()));
    }
    first.hold("e", "k", &wish).await.expect(201);
    // Holding was the arrival.
    assert!(first.place("e").await.get("arrive_by").is_none());
}

#[tokio::test]
async fn another_visitors_booking_does_not_exist() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let (owner, other) = (shop.guest().await, shop.guest().await);
    let held = owner.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    let not_found = (404, "RESERVATION_NOT_FOUND".to_owned());
    let before = shop.committed();
    assert_eq!(other.get(&format!("/bookings/{booking}")).await.problem(), not_found);
    for what in ["extend", "cancel", "confirm"] {
        let answer = other.ask("POST", &format!("/bookings/{booking}/{what}")).send().await;
        assert_eq!(answer.problem(), not_found, "{what}");
    }
    for made_up in ["nowhere.00112233445566778899aabbccddeeff", "e.1", "x"] {
        assert_eq!(owner.get(&format!("/bookings/{made_up}")).await.problem(), not_found);
    }
    assert_eq!(shop.committed(), before);
}

#[tokio::test]
async fn pools_and_seats_are_held_together_or_not_at_all() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    crate::seat_maps::import_small_house(&shop, "e").await;
    let (first, second) = (shop.guest().await, shop.guest().await);
    first.hold("e", "k", &json!({"seats": ["A-1", "A-2"]})).await.expect(201);
    let refused =
        second.hold("e", "k", &json!({"pools": {"ga": 1}, "seats": ["A-2", "A-3"]})).await;
    assert_eq!(refused.problem(), (409, "SEAT_UNAVAILABLE".into()));
    assert_eq!(refused.json()["seats"], json!(["A-2"]));
    let map: Value = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    let statuses: Vec<_> =
        map["seats"].as_array().unwrap().iter().map(|seat| seat["status"].clone()).collect();
    assert_eq!(statuses, ["held", "held", "free"]);
    assert_eq!(free(&shop, "e").await, 10);
}
