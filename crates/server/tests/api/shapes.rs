//! Real answers against the OpenAPI document: what it promises is what is sent.

use crate::client::{Answer, Request};
use crate::paying::{GOOD_CARD, use_card};
use crate::sandboxed::Sandboxed;
use crate::seat_maps::small_house;
use crate::shop::{Guest, Shop};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Answers as they came, by the operation that gave them.
#[derive(Default)]
struct Album {
    answers: Vec<Value>,
}

impl Album {
    /// Keeps an answer; `path` is the operation's, as the document writes it.
    fn keep(&mut self, method: &str, path: &str, answer: Answer) -> Value {
        let body = answer.json();
        self.answers.push(json!({
            "method": method,
            "path": format!("/api/v1{path}"),
            "status": answer.status,
            "content_type": answer.header("content-type").unwrap(),
            "body": body,
        }));
        body
    }

    async fn of(&mut self, method: &str, path: &str, request: Request) -> Value {
        self.keep(method, path, request.send().await)
    }

    /// What the document does not allow, a line each.
    fn complaints(&self, document: &Value) -> String {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/validate.py");
        let why = "answers are validated with what schemathesis brings: run scripts/need.sh \
                   python3 schemathesis";
        let mut validator = Command::new(repository.join("target/python/bin/python"))
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{why} ({error})"));
        let given = json!({"document": document, "answers": self.answers}).to_string();
        validator.stdin.take().unwrap().write_all(given.as_bytes()).unwrap();
        let told = validator.wait_with_output().unwrap();
        assert!(told.status.success(), "{why}");
        String::from_utf8(told.stdout).unwrap()
    }
}

async fn seats_and_standing(shop: &Shop) {
    let body = json!({"event": "s", "title": "Seats", "currency": "EUR", "room": {"capacity": 1},
        "starts_at": 4_000_000_000_000_i64, "fees": {"fixed_minor": 50, "percent_bp": 100},
        "refunds": [{"days_before": 7, "percent": 80}]});
    shop.organise("POST", "/events", &body).await;
    let body = json!({"plan": small_house(), "prices": {"Stalls": 2_500}});
    shop.organise("PUT", "/events/s/seat-map", &body).await;
    shop.add_pool("s", "vouchers", 10, 0).await;
    shop.add_pool("s", "standing", 10, 1_000).await;
    shop.organise_plainly("/events/s/open").await;
}

const BOOKING: &str = "/bookings/{booking}";

/// Takes one guest through everything that a guest can do in an event with seats.
async fn visit(album: &mut Album, guest: &Guest<'_>) -> (String, String) {
    let queue = "/events/{event}/queue";
    album.of("POST", queue, guest.ask("POST", "/events/s/queue").key("q")).await;
    guest.until_active("s").await;
    album.of("GET", queue, guest.ask("GET", "/events/s/queue")).await;
    album.of("POST", queue, guest.ask("POST", "/events/s/queue").key("q")).await;
    let arrive = guest.ask("POST", "/events/s/queue/arrive");
    album.of("POST", "/events/{event}/queue/arrive", arrive).await;
    let holds = "/events/{event}/bookings";
    let mut held = Vec::new();
    for (key, wish) in [
        ("a", json!({"seats": ["A-1"]})),
        ("b", json!({"pools": {"vouchers": 1}})),
        ("c", json!({"seats": ["A-2"], "pools": {"vouchers": 2}})),
        ("d", json!({"seats": ["A-1"]})),
    ] {
        let request = guest.ask("POST", "/events/s/bookings").key(key).json(&wish);
        let body = album.of("POST", holds, request).await;
        held.extend(body["booking"].as_str().map(str::to_owned));
    }
    let [seat, free, both] = &held[..] else { panic!("three were held: {held:?}") };
    let confirm = guest.ask("POST", &format!("/bookings/{free}/confirm"));
    album.of("POST", "/bookings/{booking}/confirm", confirm).await;
    let cancel = guest.ask("POST", &format!("/bookings/{both}/cancel"));
    album.of("POST", "/bookings/{booking}/cancel", cancel).await;
    let claim = guest.ask("POST", "/events/s/pools/vouchers/claims").key("v");
    let claim = claim.json(&json!({"quantity": 1, "ttl_ms": 60_000}));
    let claim = album.of("POST", "/events/{event}/pools/{pool}/claims", claim).await;
    // What has a price is not claimed.
    let priced = guest.ask("POST", "/events/s/pools/standing/claims").key("w");
    let priced = priced.json(&json!({"quantity": 1}));
    let priced = album.of("POST", "/events/{event}/pools/{pool}/claims", priced).await;
    assert_eq!(priced["code"], "PAYMENT_REQUIRED");
    let claim = format!("/claims/{}", claim["claim"].as_str().unwrap());
    album.of("DELETE", "/claims/{claim}", guest.ask("DELETE", &claim)).await;
    album.of("GET", "/claims/{claim}", guest.ask("GET", &claim)).await;
    let pay = guest.ask("POST", &format!("/bookings/{seat}/payment")).key("p");
    let paid = album.of("POST", "/bookings/{booking}/payment", pay).await;
    (seat.clone(), paid["url"].as_str().unwrap().to_owned())
}

/// Has a banned visitor ask for what nobody gives them.
async fn visit_banned(album: &mut Album, shop: &Shop, guest: &Guest<'_>) {
    let remove = format!("/events/s/visitors/{}/remove", guest.user);
    shop.organise("POST", &remove, &json!({"why": "bot", "ban": true})).await;
    let ask = |path: &str| guest.ask("POST", &format!("/events/s/{path}")).key("x");
    for (path, request) in [
        ("queue", ask("queue")),
        ("bookings", ask("bookings").json(&json!({"seats": ["A-3"]}))),
        ("pools/{pool}/claims", ask("pools/vouchers/claims").json(&json!({"quantity": 1}))),
    ] {
        let answer = album.of("POST", &format!("/events/{{event}}/{path}"), request).await;
        assert_eq!(answer["code"], "VISITOR_BANNED", "{path}");
    }
}

#[tokio::test]
async fn real_answers_are_as_the_openapi_document_says() {
    let sandboxed = Sandboxed::start(|_| {}).await;
    let shop = &sandboxed.shop;
    seats_and_standing(shop).await;
    let (guest, other) = (shop.guest().await, shop.guest().await);
    let mut album = Album::default();
    let (seat, url) = visit(&mut album, &guest).await;
    visit_banned(&mut album, shop, &shop.guest().await).await;
    // In seats only, while it is paid for and after.
    album.of("GET", BOOKING, guest.ask("GET", &format!("/bookings/{seat}"))).await;
    album.of("GET", "/events/{event}/queue", other.ask("GET", "/events/s/queue")).await;
    // The session is over before the payment ends.
    shop.clock.advance_ms(599_000);
    let extra = guest.ask("POST", "/events/s/bookings").key("e");
    album.of("POST", "/events/{event}/bookings", extra.json(&json!({"seats": ["A-3"]}))).await;
    use_card(&url, GOOD_CARD).await.expect(200);
    guest.until_status(&seat, "confirmed").await;
    shop.clock.advance_ms(1_000);
    let over = album.of("GET", "/events/{event}/queue", guest.ask("GET", "/events/s/queue")).await;
    assert_eq!(over["status"], "ended");
    for path in [
        "/bookings",
        "/events",
        "/events/{event}",
        "/events/{event}/availability",
        "/events/{event}/seats",
        "/events/{event}/seats/status",
        "/events/{event}/seats/plan",
        "/bookings/{booking}",
        "/bookings/{booking}/payment",
        "/bookings/{booking}/tickets",
    ] {
        let here = path.replace("{event}", "s").replace("{booking}", &seat);
        album.of("GET", path, guest.ask("GET", &here)).await;
    }
    let admin = |path: &str| {
        let here = path.replace("{event}", "s").replace("{booking}", &seat);
        let here = here.replace("{seat}", "A-1").replace("{pool}", "vouchers");
        shop.admin("GET", &here)
    };
    for path in [
        "/bookings",
        "/event-defaults",
        "/inventory-status",
        "/feed",
        "/payments",
        "/sagas/{booking}",
        "/events/{event}/seats/{seat}",
        "/events/{event}/pools/{pool}",
    ] {
        album.of("GET", &format!("/admin{path}"), admin(path)).await;
    }
    let search = shop.admin("POST", "/bookings/search").json(&json!({"status": "confirmed"}));
    album.of("POST", "/admin/bookings/search", search).await;
    let seen: BTreeSet<_> = album.answers.iter().map(|kept| kept["status"].as_u64()).collect();
    assert_eq!(seen, BTreeSet::from([200, 201, 202, 402, 403, 409].map(Some)));
    let document = Request::new(shop.server.public_addr(), "GET", "/api/openapi.json").send().await;
    assert_eq!(album.complaints(&document.json()), "");
}

/// A check that cannot complain is none.
#[tokio::test]
async fn an_answer_of_another_shape_is_complained_about() {
    let mut album = Album::default();
    let problem = Answer {
        status: 200,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: br#"{"from": "nowhere"}"#.to_vec(),
    };
    album.keep("DELETE", "/events/{event}/queue", problem);
    let document =
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/openapi.json"));
    let complaints = album.complaints(&serde_json::from_slice(&document.unwrap()).unwrap());
    assert!(complaints.contains("nowhere"), "{complaints}");
}
