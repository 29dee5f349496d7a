//! The inherited paths: their sequences, their words, and the traps that the earlier design fell into.

mod messages;

use crate::client::{Answer, Request};
use crate::paying::{GOOD_CARD, POOR_CARD, use_card};
use crate::sandboxed::Sandboxed;
use crate::seat_maps::small_house;
use crate::shop::{Guest, Shop};
use serde_json::{Value, json};
use std::time::Duration;

const SUCCESS: &str = "/api/booking/payment/success";
const FAILURE: &str = "/api/booking/payment/failure";

/// A shop with the inherited paths, and an open event `s` with three seats for 25.00 each behind a
/// waiting room.
async fn s3_shop(room: Value) -> Sandboxed {
    let sandboxed = Sandboxed::start(|config| config.booking_paths = true).await;
    add_house(&sandboxed.shop, "s", room).await;
    sandboxed
}

async fn add_house(shop: &Shop, event: &str, room: Value) {
    let body = json!({"event": event, "title": "Seats", "currency": "EUR", "room": room});
    shop.organise("POST", "/events", &body).await;
    let body = json!({"plan": small_house(), "prices": {"Stalls": 2_500}});
    shop.organise("PUT", &format!("/events/{event}/seat-map"), &body).await;
    shop.organise_plainly(&format!("/events/{event}/open")).await;
}

fn s3(shop: &Shop, method: &str, path: &str) -> Request {
    Request::new(shop.server.public_addr(), method, &format!("/api/{path}"))
}

async fn available(shop: &Shop, event: &str) -> Value {
    let answer = s3(shop, "GET", &format!("seats/available?event_id={event}")).send().await;
    answer.expect(200).json()["seats"].clone()
}

impl Guest<'_> {
    fn s3(&self, path: &str, body: &Value) -> Request {
        s3(self.shop, "POST", &format!("booking/{path}")).bearer(&self.token).json(body)
    }

    async fn request(&self) -> Answer {
        self.s3("request", &json!({"event_id": "s"})).send().await
    }

    async fn select(&self, seat: &str) -> Answer {
        self.s3("select-seat", &json!({"event_id": "s", "seat_id": seat})).send().await
    }

    async fn initiate(&self) -> Answer {
        self.s3("payment/initiate", &json!({"event_id": "s"})).send().await
    }

    async fn give_up(&self) -> Answer {
        self.s3("cancel", &json!({"event_id": "s"})).send().await
    }

    async fn stands(&self) -> Value {
        let request = s3(self.shop, "GET", "booking/position?event_id=s").bearer(&self.token);
        request.send().await.expect(200).json()
    }

    /// Asks until the answer is as it should be: admission and payments go their own way.
    async fn until_stands(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let wait = async {
            loop {
                let now = self.stands().await;
                if fits(&now) {
                    return now;
                }
                tokio::task::yield_now().await;
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(20), wait).await;
        found.unwrap_or_else(|_| panic!("never {what}"))
    }

    async fn until_state(&self, state: &str) -> Value {
        self.until_stands(state, |now| now["state"] == state).await
    }

    /// Requests, waits for the turn, and selects a seat.
    async fn take(&self, seat: &str) {
        self.request().await.expect(200);
        self.until_state("active").await;
        self.select(seat).await.expect(200);
    }

    /// Initiates the payment; says its page, its id and the booking's.
    async fn begin(&self) -> (String, String, String) {
        let url = self.initiate().await.expect(200).text("payment_url");
        let all = self.get("/bookings?event=s").await.expect(200).json();
        let paying = all["bookings"].as_array().unwrap().last().unwrap().clone();
        let text = |member: &str| paying[member].as_str().unwrap().to_owned();
        (url, text("payment"), text("booking"))
    }
}

fn refused(answer: &Answer, word: &str) {
    assert_eq!(answer.status, 409, "{answer:?}");
    assert_eq!(answer.json(), json!({"success": false, "error": word}));
}

#[tokio::test]
async fn the_paths_are_there_only_where_they_are_switched_on() {
    let shop = Shop::start().await;
    for (method, path) in [
        ("POST", "booking/request"),
        ("GET", "booking/position?event_id=s"),
        ("POST", "booking/select-seat"),
        ("POST", "booking/payment/initiate"),
        ("POST", "booking/payment/success"),
        ("POST", "booking/payment/failure"),
        ("POST", "booking/cancel"),
        ("GET", "seats/available?event_id=s"),
    ] {
        let answer = s3(&shop, method, path).send().await;
        assert_eq!(answer.problem(), (404, "PATH_NOT_FOUND".into()), "{path}");
    }
}

#[tokio::test]
async fn a_seat_is_requested_selected_paid_and_completed() {
    let sandboxed = s3_shop(json!({})).await;
    let shop = &sandboxed.shop;
    // The gateway speaks to the inherited path here.
    let url = format!("http://{}{SUCCESS}", shop.server.public_addr());
    shop.server.sandbox().unwrap().set_webhook_url(Some(url.parse().unwrap()));
    let guest = shop.guest().await;
    assert_eq!(guest.stands().await, json!({"status": "not_found"}));
    let requested = guest.request().await.expect(200).json();
    assert_eq!(requested, json!({"success": true, "position": 1}));
    let now = guest.until_state("active").await;
    assert_eq!((&now["status"], &now["seat_id"]), (&json!("active"), &Value::Null));
    let engine_s = shop.clock.now().0 / 1_000;
    // Whoever asks has shown up, and has the session's whole time.
    assert_eq!(now["expire_time"], json!(engine_s + 600));

    assert_eq!(available(shop, "s").await, json!(["A-1", "A-2", "A-3"]));
    let selected = guest.select("A-2").await.expect(200).json();
    assert_eq!(selected, json!({"success": true, "seat_id": "A-2"}));
    assert_eq!(available(shop, "s").await, json!(["A-1", "A-3"]));
    let now = guest.stands().await;
    let expected = json!({"status": "active", "state": "seat_selected", "seat_id": "A-2",
        "expire_time": engine_s + 600});
    assert_eq!(now, expected);

    let first = guest.initiate().await.expect(200).json();
    let url = first["payment_url"].as_str().unwrap().to_owned();
    assert_eq!(first, json!({"payment_url": url}));
    let again = guest.initiate().await.expect(200).json();
    assert_eq!(again, json!({"payment_url": url, "payment_existed": true}));
    let now = guest.stands().await;
    assert_eq!((&now["state"], &now["seat_id"]), (&json!("payment_pending"), &json!("A-2")));

    use_card(&url, GOOD_CARD).await.expect(200);
    let now = guest.until_state("completed").await;
    let expected = json!({"status": "active", "state": "completed", "seat_id": "A-2",
        "expire_time": engine_s + 3_600});
    assert_eq!(now, expected);
    assert_eq!(sandboxed.totals().await, (2_500, 0));
    // The state goes after an hour, the booking stays.
    shop.clock.advance_ms(3_600_000);
    assert_eq!(guest.stands().await, json!({"status": "not_found"}));
    let all = guest.get("/bookings?event=s").await.expect(200).json();
    assert_eq!(all["bookings"][0]["status"], "confirmed");
}

#[tokio::test]
async fn whoever_learns_that_they_are_in_has_the_sessions_whole_time() {
    let sandboxed = s3_shop(json!({"capacity": 1, "session_ms": 900_000})).await;
    let shop = &sandboxed.shop;
    let guest = shop.guest().await;
    guest.request().await.expect(200);
    let now = guest.until_state("active").await;
    let until_s = shop.clock.now().0 / 1_000 + 900;
    assert_eq!(now["expire_time"], json!(until_s));
    // Longer than anyone has to show up elsewhere, and nothing is extended by asking.
    shop.clock.advance_ms(800_000);
    let now = guest.stands().await;
    assert_eq!((&now["state"], &now["expire_time"]), (&json!("active"), &json!(until_s)));
    guest.select("A-1").await.expect(200);
}

#[tokio::test]
async fn a_repeated_request_returns_the_place_held() {
    let sandboxed = s3_shop(json!({"capacity": 1})).await;
    let shop = &sandboxed.shop;
    let (ann, bob, cid) = (shop.guest().await, shop.guest().await, shop.guest().await);
    ann.request().await.expect(200);
    ann.until_state("active").await;
    bob.request().await.expect(200);
    let third = cid.request().await.expect(200).json();
    assert_eq!(third, json!({"success": true, "position": 2}));
    let before = shop.committed();
    assert_eq!(cid.request().await.expect(200).json(), third);
    assert_eq!(ann.request().await.expect(200).json(), json!({"success": true, "position": 0}));
    assert_eq!(shop.committed(), before);
    let queued = json!({"status": "queued", "position": 2, "total": 2});
    assert_eq!(cid.stands().await, queued);
}

#[tokio::test]
async fn only_an_active_visitor_selects_and_only_who_has_selected_pays() {
    let sandboxed = s3_shop(json!({"capacity": 1})).await;
    let shop = &sandboxed.shop;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    refused(&ann.select("A-1").await, "invalid_state");
    ann.request().await.expect(200);
    ann.until_state("active").await;
    refused(&ann.initiate().await, "invalid_state");
    bob.request().await.expect(200);
    refused(&bob.select("A-1").await, "invalid_state");
    refused(&bob.initiate().await, "invalid_state");
    ann.select("A-1").await.expect(200);
    ann.initiate().await.expect(200);
    refused(&ann.select("A-1").await, "invalid_state");
    refused(&ann.select("A-2").await, "invalid_state");
    assert_eq!(available(shop, "s").await, json!(["A-2", "A-3"]));
}

#[tokio::test]
async fn a_seat_has_one_winner() {
    let sandboxed = s3_shop(json!({})).await;
    let shop = &sandboxed.shop;
    // All are let in: there is something else for those who lose.
    shop.add_pool("s", "standing", 20, 2_500).await;
    let mut guests = Vec::new();
    for _ in 0..20 {
        let guest = shop.guest().await;
        guest.request().await.expect(200);
        guests.push(guest);
    }
    let mut calls = Vec::new();
    for guest in &guests {
        guest.until_state("active").await;
        let wish = json!({"event_id": "s", "seat_id": "A-1"});
        calls.push(guest.s3("select-seat", &wish));
    }
    let calls: Vec<_> = calls.into_iter().map(|call| tokio::spawn(call.send())).collect();
    let mut winners = 0;
    for call in calls {
        let answer = call.await.unwrap();
        if answer.status == 200 {
            winners += 1;
        } else {
            refused(&answer, "seat_unavailable");
        }
    }
    assert_eq!(winners, 1);
}

#[tokio::test]
async fn a_visitor_who_selects_two_seats_at_once_gets_one() {
    let sandboxed = s3_shop(json!({})).await;
    let shop = &sandboxed.shop;
    let guest = shop.guest().await;
    guest.request().await.expect(200);
    guest.until_state("active").await;
    let seats = ["A-1", "A-2", "A-3"];
    let calls = seats.map(|seat| {
        tokio::spawn(guest.s3("select-seat", &json!({"event_id": "s", "seat_id": seat})).send())
    });
    let mut winners = 0;
    for call in calls {
        let answer = call.await.unwrap();
        if answer.status == 200 {
            winners += 1;
        } else {
            refused(&answer, "invalid_state");
        }
    }
    assert_eq!(winners, 1);
    assert_eq!(available(shop, "s").await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_same_seat_again_is_the_same_hold_and_another_is_refused() {
    let sandboxed = s3_shop(json!({})).await;
    let shop = &sandboxed.shop;
    let guest = shop.guest().await;
    guest.take("A-1").await;
    let before = shop.committed();
    guest.select("A-1").await.expect(200);
    refused(&guest.select("A-2").await, "invalid_state");
    assert_eq!(shop.committed(), before);
    // Given back without leaving, a seat can be selected again, the same one too.
    for seat in ["A-1", "A-2", "A-1"] {
        let all = guest.get("/bookings?event=s").await.expect(200).json();
        let held = all["bookings"].as_array().unwrap().last().unwrap()["booking"].clone();
        let path = format!("/bookings/{}/cancel", held.as_str().unwrap());
        guest.ask("POST", &path).send().await.expect(200);
        guest.select(seat).await.expect(200);
        let now = guest.stands().await;
        assert_eq!((&now["state"], &now["seat_id"]), (&json!("seat_selected"), &json!(seat)));
    }
    assert_eq!(available(shop, "s").await, json!(["A-2", "A-3"]));
}

#[tokio::test]
async fn queue_and_room_can_be_left_but_not_while_a_payment_is_under_way() {
    let sandboxed = s3_shop(json!({"capacity": 1})).await;
    let shop = &sandboxed.shop;
    let (ann, bob, cid) = (shop.guest().await, shop.guest().await, shop.guest().await);
    refused(&ann.give_up().await, "not_found");
    ann.take("A-1").await;
    for guest in [&bob, &cid] {
        guest.request().await.expect(200);
    }
    let left = bob.give_up().await.expect(200).json();
    assert_eq!(left, json!({"success": true, "from": "queue"}));
    assert_eq!(bob.stands().await, json!({"status": "not_found"}));
    let left = ann.give_up().await.expect(200).json();
    assert_eq!(left, json!({"success": true, "from": "active"}));
    assert_eq!(available(shop, "s").await, json!(["A-1", "A-2", "A-3"]));
    refused(&ann.give_up().await, "not_found");

    cid.until_state("active").await;
    cid.select("A-1").await.expect(200);
    cid.initiate().await.expect(200);
    let before = shop.committed();
    refused(&cid.give_up().await, "cannot_cancel");
    assert_eq!(shop.committed(), before);
    assert_eq!(cid.stands().await["state"], "payment_pending");
}

#[tokio::test]
async fn a_declined_payment_frees_seat_and_slot() {
    let sandboxed = s3_shop(json!({"capacity": 1})).await;
    let shop = &sandboxed.shop;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    ann.take("A-1").await;
    bob.request().await.expect(200);
    let (url, ..) = ann.begin().await;
    use_card(&url, POOR_CARD).await;
    // The next in line is promoted by it.
    bob.until_state("active").await;
    assert_eq!(ann.stands().await, json!({"status": "not_found"}));
    bob.select("A-1").await.expect(200);
    assert_eq!(sandboxed.totals().await, (0, 0));
}

/// Trap: payment success deletes the seat lock with no sold state, and the seat can be sold again.
#[tokio::test]
async fn a_seat_that_was_paid_for_cannot_be_sold_again() {
    let sandboxed = s3_shop(json!({"capacity": 1})).await;
    let shop = &sandboxed.shop;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    ann.take("A-1").await;
    bob.request().await.expect(200);
    let (url, ..) = ann.begin().await;
    use_card(&url, GOOD_CARD).await.expect(200);
    // The slot is free for the next, the seat is not.
    bob.until_state("active").await;
    refused(&bob.select("A-1").await, "seat_unavailable");
    assert_eq!(available(shop, "s").await, json!(["A-2", "A-3"]));
    let map = shop.ask("GET", "/events/s/seats/status").send().await.expect(200).json();
    assert_eq!(map["status"], "sff");
    // Nor by its owner a second time, nor when every inherited lock would have run out.
    refused(&ann.select("A-1").await, "invalid_state");
    shop.clock.advance_ms(700_000);
    assert_eq!(available(shop, "s").await, json!(["A-2", "A-3"]));
}

/// Trap: the lock key has no event id.
#[tokio::test]
async fn a_seat_of_the_same_name_in_another_event_is_another_seat() {
    let sandboxed = s3_shop(json!({})).await;
    let shop = &sandboxed.shop;
    add_house(shop, "other", json!({})).await;
    let guest = shop.guest().await;
    guest.take("A-1").await;
    assert_eq!(available(shop, "other").await, json!(["A-1", "A-2", "A-3"]));
    guest.s3("request", &json!({"event_id": "other"})).send().await.expect(200);
    let wish = json!({"event_id": "other", "seat_id": "A-1"});
    let select = async { while guest.s3("select-seat", &wish).send().await.status != 200 {} };
    tokio::time::timeout(Duration::from_secs(20), select).await.expect("it is their turn");
    assert_eq!(guest.stands().await["seat_id"], "A-1");
}

/// Trap: a stale timeout message kills a later session of the same user.
#[tokio::test]
async fn the_deadline_of_an_earlier_session_leaves_a_later_one_alone() {
    let sandboxed = s3_shop(json!({"session_ms": 600_000})).await;
    let shop = &sandboxed.shop;
    let guest = shop.guest().await;
    guest.take("A-1").await;
    shop.clock.advance_ms(400_000);
    guest.give_up().await.expect(200);
    guest.take("A-2").await;
    // What was due for the first session and the first seat is past.
    shop.clock.advance_ms(300_000);
    let now = guest.stands().await;
    assert_eq!((&now["state"], &now["seat_id"]), (&json!("seat_selected"), &json!("A-2")));
    assert_eq!(guest.place("s").await["status"], "active");
    guest.initiate().await.expect(200);
}

/// Trap: the timeout fires during `payment_pending`.
#[tokio::test]
async fn the_end_of_a_session_frees_no_seat_that_is_being_paid_for() {
    let sandboxed = s3_shop(json!({"capacity": 1, "session_ms": 60_000})).await;
    let shop = &sandboxed.shop;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    ann.take("A-1").await;
    bob.request().await.expect(200);
    shop.clock.advance_ms(30_000);
    let (url, ..) = ann.begin().await;
    shop.clock.advance_ms(500_000);
    assert_eq!(ann.stands().await["state"], "payment_pending");
    assert_eq!(bob.stands().await["status"], "queued");
    assert_eq!(available(shop, "s").await, json!(["A-2", "A-3"]));
    refused(&ann.give_up().await, "cannot_cancel");
    assert_eq!(ann.request().await.expect(200).json()["position"], 0);
    use_card(&url, GOOD_CARD).await.expect(200);
    ann.until_state("completed").await;
    bob.until_state("active").await;
    refused(&bob.select("A-1").await, "seat_unavailable");
    assert_eq!(sandboxed.totals().await, (2_500, 0));
}

/// Trap: one promotion per message, and nothing starts the first.
#[tokio::test]
async fn as_many_are_promoted_as_there_are_slots_without_anyone_asking() {
    let sandboxed = s3_shop(json!({"capacity": 3})).await;
    let mut guests = Vec::new();
    for _ in 0..5 {
        let guest = sandboxed.shop.guest().await;
        guest.request().await.expect(200);
        guests.push(guest);
    }
    for guest in &guests[..3] {
        guest.until_state("active").await;
    }
    for (guest, position) in guests[3..].iter().zip(1..) {
        let now = guest.stands().await;
        assert_eq!((&now["status"], &now["position"]), (&json!("queued"), &json!(position)));
    }
    // Two who leave at once make room for two.
    let (first, second) = tokio::join!(guests[0].give_up(), guests[1].give_up());
    assert_eq!((first.status, second.status), (200, 200));
    for guest in &guests[3..] {
        guest.until_state("active").await;
    }
}

#[tokio::test]
async fn what_s3_has_no_word_for_is_a_problem() {
    let sandboxed = s3_shop(json!({})).await;
    let shop = &sandboxed.shop;
    let guest = shop.guest().await;
    let body = json!({"event_id": "s"});
    for path in ["request", "payment/initiate", "cancel"] {
        let plain = s3(shop, "POST", &format!("booking/{path}")).json(&body).send().await;
        assert_eq!(plain.problem(), (401, "TOKEN_MISSING".into()), "{path}");
        let unknown = guest.s3(path, &json!({"event_id": "nowhere"})).send().await;
        assert_eq!(unknown.problem(), (404, "EVENT_NOT_FOUND".into()), "{path}");
        let other = guest.s3(path, &json!({"event_id": "s", "user_id": "bob"})).send().await;
        assert_eq!(other.problem(), (422, "INVALID_BODY".into()), "{path}");
    }
    let position = s3(shop, "GET", "booking/position").bearer(&guest.token).send().await;
    assert_eq!(position.problem(), (400, "INVALID_QUERY".into()));
    let seats = s3(shop, "GET", "seats/available?event_id=nowhere").send().await;
    assert_eq!(seats.problem(), (404, "EVENT_NOT_FOUND".into()));
    guest.request().await.expect(200);
    guest.until_state("active").await;
    assert_eq!(guest.select("Z-9").await.problem(), (404, "SEAT_NOT_FOUND".into()));
    // An event without a waiting room has no places to request.
    let roomless = guest.s3("request", &json!({"event_id": "e"})).send().await;
    refused(&roomless, "invalid_state");
}

#[tokio::test]
async fn no_payment_is_begun_while_the_ledger_cannot_remember_it() {
    let sandboxed = s3_shop(json!({})).await;
    let shop = &sandboxed.shop;
    let guest = shop.guest().await;
    guest.take("A-1").await;
    let before = shop.committed();
    shop.server.sqlite_ledger().expect("a file").break_for_tests(true);
    assert_eq!(guest.initiate().await.problem(), (503, "LEDGER_UNAVAILABLE".into()));
    shop.server.sqlite_ledger().expect("a file").break_for_tests(false);
    assert_eq!(shop.committed(), before);
    assert_eq!(guest.stands().await["state"], "seat_selected");
    let (url, ..) = guest.begin().await;
    use_card(&url, GOOD_CARD).await.expect(200);
    guest.until_state("completed").await;
    assert_eq!(sandboxed.totals().await, (2_500, 0));
}

/// A session that is over while a hold lives: the inherited paths tell the same story as all others.
#[tokio::test]
async fn the_paths_agree_on_a_session_that_is_over_while_a_hold_lives() {
    let sandboxed = s3_shop(json!({"capacity": 1})).await;
    let shop = &sandboxed.shop;
    let guest = shop.guest().await;
    guest.request().await.expect(200);
    guest.until_state("active").await;
    guest.ask("POST", "/events/s/queue/arrive").send().await.expect(200);
    shop.clock.advance_ms(500_000);
    // Two seats at once: the inherited paths have no word for them, and they keep the slot.
    let wish = json!({"seats": ["A-1", "A-2"]});
    let held = guest.hold("s", "k", &wish).await.expect(201).json();
    shop.clock.advance_ms(100_000);
    assert_eq!(guest.place("s").await["status"], "ended");
    assert_eq!(guest.request().await.expect(200).json(), json!({"success": true, "position": 0}));
    let until_s = held["until"].as_i64().unwrap().div_euclid(1_000);
    assert_eq!(
        guest.stands().await,
        json!({"status": "active", "state": "seat_selected", "seat_id": null, "expire_time": until_s}),
    );
    refused(&guest.select("A-3").await, "invalid_state");
    let left = guest.give_up().await.expect(200).json();
    assert_eq!(left, json!({"success": true, "from": "active"}));
    assert_eq!(guest.stands().await, json!({"status": "not_found"}));
    assert_eq!(available(shop, "s").await, json!(["A-1", "A-2", "A-3"]));
    guest.request().await.expect(200);
}

/// Also while they hold a seat: then nobody asks for their place but for its sake.
#[tokio::test]
async fn who_shops_keeps_the_places_with_which_they_wait_besides() {
    let room = json!({"capacity": 1, "places_per_user": 2, "place_ttl_ms": 300_000,
        "session_ms": 1_500_000});
    let sandboxed = s3_shop(room).await;
    let shop = &sandboxed.shop;
    let guest = shop.guest().await;
    let take = |key: &str| guest.ask("POST", "/events/s/queue").key(key).send();
    take("1").await.expect(202);
    let second = take("2").await.expect(202).json();
    let path = format!("/events/s/queue?place={}", second["place"].as_str().unwrap());
    guest.until_active("s").await;
    for selects in [false, true] {
        if selects {
            guest.select("A-1").await.expect(200);
        }
        for _ in 0..4 {
            assert_eq!(guest.stands().await["status"], "active");
            shop.clock.advance_ms(100_000);
        }
        let place = guest.get(&path).await.expect(200).json();
        assert_eq!(place["status"], "queued", "with a seat: {selects}");
    }
}
