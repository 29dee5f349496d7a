//! Stopping and starting again: nothing that was answered is lost.

use crate::client::{Events, Request, read_head};
use crate::shop::Shop;
use onrush_server::{Server, StartError};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;

#[tokio::test]
async fn after_a_restart_tokens_bookings_and_maps_are_still_there() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    crate::seat_maps::import_small_house(&shop, "e").await;
    let (token, held) = {
        let guest = shop.guest().await;
        let held = guest.hold("e", "k", &json!({"seats": ["A-1"]})).await.expect(201).json();
        (guest.token, held)
    };
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    let shop = Shop::start_in(dir, clock, |_| {}).await;
    let path = format!("/bookings/{}", held["booking"].as_str().unwrap());
    let view = shop.ask("GET", &path).bearer(&token).send().await.expect(200).json();
    let mut told = held.clone();
    told["latest_until"] = json!(held["created_at"].as_i64().unwrap() + 1_800_000);
    assert_eq!(view, told);
    // A retry of the hold, after a crash for instance, is recognised.
    let retry = shop.ask("POST", "/events/e/bookings").bearer(&token).key("k");
    let retry = retry.json(&json!({"seats": ["A-1"]})).send().await.expect(201).json();
    assert_eq!(retry, held);
    let map = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    assert_eq!((&map["name"], &map["seats"][0]["status"]), (&json!("Small house"), &json!("held")));
}

#[tokio::test]
async fn requests_under_way_end_and_streams_hear_goodbye() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let mut events = Events::open(guest.ask("GET", "/events/e/stream")).await;
    events.next_of("not_in_queue").await;
    // A request whose body is still on its way when the server is told to stop.
    let wish = r#"{"pools": {"ga": 1}}"#;
    let (first, rest) = wish.split_at(5);
    let request = guest.ask("POST", "/events/e/bookings").key("k");
    let request = request.header("Content-Type", "application/json");
    let mut slow = request.announce(wish.len()).body_part(first).start().await;
    // An answer on another connection shows that the server has accepted this one.
    guest.get("/events/e").await.expect(200);

    let Shop { server, dir: _dir, .. } = shop;
    let address = server.public_addr();
    let operator = server.operator_addr().expect("it listens");
    let stopping = tokio::spawn(server.shutdown());
    while events.next().await.is_some_and(|message| message["type"] != "bye") {}
    assert_eq!(events.next().await, None);
    let ready = Request::new(operator, "GET", "/readyz").send().await;
    assert_eq!(ready.problem(), (503, "STOPPED".into()));
    tokio::io::AsyncWriteExt::write_all(&mut slow, rest.as_bytes()).await.unwrap();
    let (status, _) = read_head(&mut slow).await;
    assert_eq!(status, 201);
    let mut body = String::new();
    slow.read_to_string(&mut body).await.unwrap();
    assert!(body.contains("\"held\""), "{body}");
    stopping.await.unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

async fn end_takes(shop: Shop) -> Duration {
    let Shop { server, dir: _dir, .. } = shop;
    let begin = Instant::now();
    server.shutdown().await;
    begin.elapsed()
}

#[tokio::test]
async fn a_body_that_stalls_does_not_hold_up_the_end() {
    let shop = Shop::start_with(|config| config.connections.body_timeout_ms = 3_600_000).await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let request = guest.ask("POST", "/events/e/bookings").key("k");
    let request = request.header("Content-Type", "application/json");
    let mut stalled = request.announce(20).body_part("{").start().await;
    // An answer on another connection shows that the server has accepted this one.
    guest.get("/events/e").await.expect(200);
    // What the end takes anyway, on this machine and as busy as it is.
    let usual = end_takes(Shop::start().await).await;
    let took = end_takes(shop).await;
    // It would be cut after ten seconds, with whatever else is under way then.
    assert!(took < usual + Duration::from_secs(8), "{took:?} in place of {usual:?}");
    assert_eq!(read_head(&mut stalled).await.0, 408);
}

#[tokio::test]
async fn a_directory_in_use_or_an_address_in_use_is_a_clear_error() {
    let shop = Shop::start().await;
    let second = Server::start(crate::shop::config(&shop.dir)).await;
    assert!(matches!(second, Err(StartError::Engine(_))));
    let other = tempfile::tempdir().unwrap();
    let mut config = crate::shop::config(&other);
    config.listen = shop.server.public_addr();
    let second = Server::start(config).await;
    assert!(matches!(second, Err(StartError::Listen(_, _))));
    Request::new(shop.server.public_addr(), "GET", "/readyz").send().await.expect(200);
}
