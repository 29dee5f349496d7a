//! Live updates over SSE and WebSocket.

use crate::client::Events;
use crate::shop::{Guest, Shop};
use crate::till::{Till, message, send};
use crate::webhooks::shop_with;
use futures_util::StreamExt;
use onrush_core::saga::Step;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};
use tokio_tungstenite::{WebSocketStream, client_async};

async fn stream(guest: &Guest<'_>, event: &str) -> Events {
    Events::open(guest.ask("GET", &format!("/events/{event}/stream"))).await
}

#[tokio::test]
async fn a_waiting_visitor_hears_his_position_and_his_turn_with_a_pass() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({"capacity": 1})).await;
    let (first, second, third) = (shop.guest().await, shop.guest().await, shop.guest().await);
    for guest in [&first, &second, &third] {
        guest.join("e").await.expect(202);
    }
    first.until_active("e").await;
    let mut theirs = stream(&second, "e").await;
    let mut last = stream(&third, "e").await;
    assert_eq!(theirs.next().await.unwrap(), json!({"type": "phase", "phase": "open"}));
    let position = theirs.next_of("position").await;
    assert_eq!((&position["position"], &position["total"]), (&json!(1), &json!(2)));
    assert_eq!(last.next_of("position").await["position"], 2);

    first.ask("DELETE", "/events/e/queue").send().await.expect(200);
    let turn = theirs.next_of("your_turn").await;
    assert_eq!(turn["place"], position["place"]);
    assert!(turn["pass"].is_string() && turn["arrive_by"].is_i64());
    // An open stream is not an arrival.
    assert!(second.place("e").await["arrive_by"].is_i64());
    assert_eq!(last.next_of("position").await["position"], 1);

    // A ghost is thrown out, and hears of it; the next one's turn follows.
    shop.clock.advance_ms(120_000);
    let over = theirs.next_of("session_ended").await;
    assert_eq!(over["how"], "no_show");
    last.next_of("your_turn").await;
}

#[tokio::test]
async fn a_shopper_hears_of_his_holds_and_of_seats_that_change() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    crate::seat_maps::import_small_house(&shop, "e").await;
    let (guest, other) = (shop.guest().await, shop.guest().await);
    let mut events = stream(&guest, "e").await;
    assert_eq!(events.next_of("not_in_queue").await, json!({"type": "not_in_queue"}));
    let held = guest.hold("e", "k", &json!({"seats": ["A-1"]})).await.expect(201).json();
    let told = events.next_of("hold").await;
    let expected = json!({"type": "hold", "booking": held["booking"], "status": "held",
        "until": held["until"]});
    assert_eq!(told, expected);
    let changed = events.next_of("seats").await;
    assert_eq!(changed["changed"], json!({"A-1": "held"}));
    other.hold("e", "k", &json!({"seats": ["A-2", "A-3"]})).await.expect(201);
    let changed = events.next_of("seats").await;
    assert_eq!(changed["changed"], json!({"A-2": "held", "A-3": "held"}));

    shop.clock.advance_ms(540_000);
    let expiring = events.next_of("hold_expiring").await;
    assert_eq!((&expiring["booking"], &expiring["until"]), (&held["booking"], &held["until"]));
    shop.clock.advance_ms(60_000);
    let expired = events.next_of("hold").await;
    assert_eq!((&expired["booking"], &expired["status"]), (&held["booking"], &json!("expired")));
    let changed = events.next_of("seats").await;
    assert_eq!(changed["changed"]["A-1"], "free");
}

/// Reads on until a booking has this status.
async fn until_hold(events: &mut Events, booking: &str, status: &str) {
    loop {
        let told = events.next_of("hold").await;
        assert_eq!(told["booking"], booking);
        if told["status"] == status {
            return;
        }
    }
}

#[tokio::test]
async fn a_visitor_hears_that_late_money_bought_what_had_run_out_and_that_it_was_cancelled() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    let mut from_paying = stream(&guest, "e").await;
    from_paying.next_of("not_in_queue").await;
    till.down(true);
    shop.clock.advance_ms(3_600_000);
    until_hold(&mut from_paying, &booking, "expired").await;
    let mut from_expired = stream(&guest, "e").await;
    from_expired.next_of("not_in_queue").await;
    till.capture(payment["payment"].as_str().unwrap());
    till.down(false);
    send(&shop, &message("payment.captured", &payment)).await.expect(200);
    shop.until_step(&booking, Step::Confirmed).await;
    for events in [&mut from_paying, &mut from_expired] {
        until_hold(events, &booking, "confirmed").await;
    }
    let mut from_confirmed = stream(&guest, "e").await;
    from_confirmed.next_of("not_in_queue").await;
    shop.clock.advance_ms(1_000);
    shop.cancel(&booking).await.expect(200);
    for events in [&mut from_paying, &mut from_expired, &mut from_confirmed] {
        until_hold(events, &booking, "cancelled").await;
    }
}

#[tokio::test]
async fn a_visitor_without_a_place_hears_that_what_they_bought_before_was_cancelled() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({"capacity": 1})).await;
    let guest = shop.guest().await;
    guest.join("e").await.expect(202);
    guest.until_active("e").await;
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    guest.ask("POST", &format!("/bookings/{booking}/confirm")).send().await.expect(200);
    guest.ask("DELETE", "/events/e/queue").send().await;
    let mut events = stream(&guest, "e").await;
    events.next_of("not_in_queue").await;
    shop.clock.advance_ms(1_000);
    shop.cancel(&booking).await.expect(200);
    until_hold(&mut events, &booking, "cancelled").await;
}

#[tokio::test]
async fn whoever_waited_with_a_stream_open_hears_of_the_first_seat_after_his_turn() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({"capacity": 1})).await;
    let (first, second) = (shop.guest().await, shop.guest().await);
    for guest in [&first, &second] {
        guest.join("e").await.expect(202);
    }
    first.until_active("e").await;
    let mut events = stream(&second, "e").await;
    events.next_of("position").await;
    // These seats came after the stream had begun.
    crate::seat_maps::import_small_house(&shop, "e").await;
    first.ask("DELETE", "/events/e/queue").send().await.expect(200);
    events.next_of("your_turn").await;
    second.hold("e", "k", &json!({"seats": ["A-1"]})).await.expect(201);
    let changed = tokio::time::timeout(Duration::from_secs(20), events.next_of("seats")).await;
    assert_eq!(changed.expect("it is told")["changed"], json!({"A-1": "held"}));
}

#[tokio::test]
async fn everyone_hears_of_a_new_phase() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({})).await;
    let guest = shop.guest().await;
    let mut events = stream(&guest, "e").await;
    events.next_of("not_in_queue").await;
    for (path, phase) in [("pause", "paused"), ("resume", "open"), ("close", "closed")] {
        shop.organise_plainly(&format!("/events/e/{path}")).await;
        assert_eq!(events.next_of("phase").await["phase"], phase);
    }
}

#[tokio::test]
async fn joining_and_leaving_are_heard_on_an_open_stream() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({"capacity": 1})).await;
    let (first, guest) = (shop.guest().await, shop.guest().await);
    first.join("e").await.expect(202);
    first.until_active("e").await;
    let mut events = stream(&guest, "e").await;
    events.next_of("not_in_queue").await;
    guest.join("e").await.expect(202);
    assert_eq!(events.next_of("position").await["position"], 1);
    guest.ask("DELETE", "/events/e/queue").send().await.expect(200);
    assert_eq!(events.next_of("left").await["how"], "left");
}

#[tokio::test]
async fn streams_of_unknown_events_and_too_many_streams_are_refused() {
    let shop = Shop::start_with(|config| config.max_streams = 1).await;
    shop.sale_with_room("e", json!({})).await;
    let guest = shop.guest().await;
    let unknown = guest.get("/events/nowhere/stream").await;
    assert_eq!(unknown.problem(), (404, "EVENT_NOT_FOUND".into()));
    let open = stream(&guest, "e").await;
    let full = guest.get("/events/e/stream").await;
    assert_eq!(full.problem(), (503, "STREAMS_FULL".into()));
    drop(open);
    // The server notices the end of the first stream by itself.
    while guest.ask("GET", "/events/e/stream").start_status().await != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_visitor_has_eight_streams_and_room_for_another_when_one_ends() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({})).await;
    shop.flash_sale("f").await;
    let (guest, other) = (shop.guest().await, shop.guest().await);
    let mut open = Vec::new();
    for event in ["e", "f", "e", "f", "e", "f", "e"] {
        open.push(stream(&guest, event).await);
    }
    let socket = websocket(&shop, "/events/e/ws", Some(&guest.token)).await;
    let refused = guest.get("/events/f/stream").await;
    assert_eq!(refused.problem(), (429, "TOO_MANY_STREAMS".into()));
    assert!(refused.text("detail").contains("8"), "{refused:?}");
    stream(&other, "e").await;
    drop(socket);
    while guest.ask("GET", "/events/f/stream").start_status().await != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_address_has_its_share_of_streams_also_behind_a_proxy() {
    let shop = Shop::start_with(|config| {
        config.connections.streams_per_address = 2;
        config.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    let shop = shop.await;
    shop.sale_with_room("e", json!({})).await;
    let guest = shop.guest().await;
    let from =
        |address: &str| guest.ask("GET", "/events/e/stream").header("X-Forwarded-For", address);
    let _open = (
        Events::open(from("2001:db8::1")).await,
        Events::open(from("2001:db8::2")).await,
        Events::open(from("192.0.2.1")).await,
    );
    let refused = from("2001:db8::3").send().await;
    assert_eq!(refused.problem(), (429, "TOO_MANY_STREAMS".into()));
    Events::open(from("2001:db8:0:1::1")).await;
    // The proxy itself, which says for nobody, is no visitor's address.
    let _own = [stream(&guest, "e").await, stream(&guest, "e").await, stream(&guest, "e").await];
}

async fn websocket(shop: &Shop, path: &str, token: Option<&str>) -> WebSocketStream<TcpStream> {
    let address = shop.server.public_addr();
    let mut request = format!("ws://{address}/api/v1{path}").into_client_request().unwrap();
    if let Some(token) = token {
        let value = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert("authorization", value);
    }
    let stream = TcpStream::connect(address).await.unwrap();
    client_async(request, stream).await.unwrap().0
}

async fn next_json(socket: &mut WebSocketStream<TcpStream>) -> Value {
    loop {
        match socket.next().await.unwrap().unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Ping(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn websocket_carries_the_same_messages() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({"capacity": 1})).await;
    let (first, second) = (shop.guest().await, shop.guest().await);
    first.join("e").await.expect(202);
    first.until_active("e").await;
    second.join("e").await.expect(202);
    let mut socket = websocket(&shop, "/events/e/ws", Some(&second.token)).await;
    assert_eq!(next_json(&mut socket).await, json!({"type": "phase", "phase": "open"}));
    assert_eq!(next_json(&mut socket).await["type"], "position");
    first.ask("DELETE", "/events/e/queue").send().await.expect(200);
    let turn = next_json(&mut socket).await;
    assert_eq!(turn["type"], "your_turn");

    let ticket = second.ask("POST", "/stream-tickets").send().await.expect(201).text("ticket");
    let mut by_ticket = websocket(&shop, &format!("/events/e/ws?ticket={ticket}"), None).await;
    assert_eq!(next_json(&mut by_ticket).await["type"], "phase");
    let Shop { server, dir: _dir, .. } = shop;
    tokio::join!(server.shutdown(), async {
        while next_json(&mut socket).await["type"] != "bye" {}
        while next_json(&mut by_ticket).await["type"] != "bye" {}
    });
}
