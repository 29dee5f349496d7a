//! Streams of the control room that a browser session opened, and what ends them.

use crate::client::{Answer, Events, Request};
use crate::shop::{ADMIN_KEY, Shop};
use serde_json::json;
use std::time::Duration;

/// A control room that is open in a browser.
struct Room {
    cookie: String,
    csrf: String,
    live: Events,
}

async fn shop() -> Shop {
    let shop = Shop::start_with(|config| {
        (config.session_idle_s, config.session_ttl_s) = (600, 2_000);
    })
    .await;
    shop.flash_sale("e").await;
    shop
}

async fn open(shop: &Shop) -> Room {
    let answer: Answer =
        shop.ask("POST", "/session").json(&json!({ "key": ADMIN_KEY })).send().await.expect(200);
    let set = answer.header("set-cookie").expect("a cookie");
    let cookie = set.split(';').next().unwrap().to_owned();
    // So that the end of the stream is the end of the connection.
    let request = shop.ask("GET", "/admin/events/e/live").header("Connection", "close");
    let request = request.header("Cookie", &cookie);
    let mut live = Events::open(request).await;
    assert_eq!(live.next_named().await.expect("the past").0, "past");
    Room { cookie, csrf: answer.text("csrf"), live }
}

impl Room {
    fn ask(&self, shop: &Shop, method: &str, path: &str) -> Request {
        shop.ask(method, path).header("Cookie", &self.cookie).header("X-CSRF-Token", &self.csrf)
    }

    /// Waits for the end of the stream; samples that are under way are passed over.
    async fn ends(&mut self) {
        let end = async { while self.live.next_named().await.is_some() {} };
        let ended = tokio::time::timeout(Duration::from_secs(20), end).await;
        ended.expect("the stream goes on although its session has ended");
    }

    /// Waits for two samples more: what ends is looked for each second.
    async fn goes_on(&mut self) {
        for _ in 0..2 {
            assert!(self.live.next_named().await.is_some(), "the stream ended for nothing");
        }
    }

    /// The public id of its session.
    async fn session(&self, shop: &Shop) -> String {
        let live = shop.admin("GET", "/sessions").send().await.expect(200).json();
        // The latest used one stands first.
        live["sessions"][0]["session"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_stream_ends_when_whoever_opened_it_signs_out_and_no_other_does() {
    let shop = shop().await;
    let (mut mine, mut other) = (open(&shop).await, open(&shop).await);
    let mut with_key = Events::open(shop.admin("GET", "/events/e/live")).await;
    mine.ask(&shop, "DELETE", "/session").send().await.expect(200);
    mine.ends().await;
    other.goes_on().await;
    assert!(with_key.next_named().await.is_some());
    // And it does not come back.
    let again = mine.ask(&shop, "GET", "/admin/events/e/live").send().await;
    assert_eq!(again.problem(), (401, "TOKEN_EXPIRED".into()));
}

#[tokio::test]
async fn a_stream_ends_when_an_admin_ends_its_session_by_id_by_name_or_with_all_others() {
    let shop = shop().await;
    let mut room = open(&shop).await;
    let path = format!("/sessions/{}", room.session(&shop).await);
    shop.admin("DELETE", &path).send().await.expect(200);
    room.ends().await;
    for query in ["?name=admin", ""] {
        let mut room = open(&shop).await;
        shop.admin("DELETE", &format!("/sessions{query}")).send().await.expect(200);
        room.ends().await;
    }
}

#[tokio::test]
async fn a_stream_uses_no_session_and_ends_when_nobody_else_does_or_its_time_is_up() {
    let shop = shop().await;
    let (mut idle, mut used) = (open(&shop).await, open(&shop).await);
    shop.clock.advance_ms(500_000);
    used.ask(&shop, "GET", "/session").send().await.expect(200);
    shop.clock.advance_ms(200_000);
    idle.ends().await;
    for _ in 0..2 {
        used.ask(&shop, "GET", "/session").send().await.expect(200);
        shop.clock.advance_ms(500_000);
    }
    used.goes_on().await;
    used.ask(&shop, "GET", "/session").send().await.expect(200);
    shop.clock.advance_ms(500_000);
    used.ends().await;
}

#[tokio::test]
async fn a_session_that_another_node_ends_takes_its_stream_along() {
    let shop = shop().await;
    let mut room = open(&shop).await;
    let session = room.session(&shop).await;
    // As another node would, which can ring no bell here.
    let which = onrush_ledger::session::SessionsOf::Id(session);
    assert_eq!(shop.server.ledger().end_sessions(which).await, Ok(1));
    room.ends().await;
}
