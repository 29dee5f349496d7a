//! Outgoing webhooks.

use crate::shop::Shop;
use crate::told::until;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use onrush_base::auth::unix_now_s;
use onrush_base::config::relay::WebhookSettings;
use onrush_base::config::{CertificateSettings, Secret};
use onrush_base::signature;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const SECRET: &str = "a secret for tests only";
const CHANNEL: &str = "webhook:crm";

/// Somebody who wants to be told, and answers with the status that a test sets.
struct Receiver {
    address: SocketAddr,
    status: Arc<AtomicU16>,
    got: mpsc::UnboundedReceiver<(HeaderMap, Bytes)>,
}

type Ears = (Arc<AtomicU16>, mpsc::UnboundedSender<(HeaderMap, Bytes)>);

async fn hear(State((status, got)): State<Ears>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let status = StatusCode::from_u16(status.load(Ordering::SeqCst)).unwrap();
    // The test may have seen enough.
    drop(got.send((headers, body)));
    status
}

/// The same with an answer that nobody asked for.
async fn hear_and_talk(
    ears: State<Ears>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Vec<u8>) {
    (hear(ears, headers, body).await, vec![b'x'; 2 << 20])
}

impl Receiver {
    async fn start(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, got) = mpsc::unbounded_channel();
        let status = Arc::new(AtomicU16::new(status));
        let router = Router::new()
            .route("/hook", post(hear))
            .route("/talks", post(hear_and_talk))
            .with_state((status.clone(), sender));
        // It ends with the test's runtime.
        tokio::spawn(onrush_serve::serve_router(listener, router, std::future::pending()));
        Self { address, status, got }
    }

    fn settings(&self) -> WebhookSettings {
        WebhookSettings {
            name: "crm".into(),
            url: format!("http://{}/hook", self.address),
            secret: Secret::from(SECRET.to_owned()),
            kinds: None,
            allow_private: true,
            certificates: CertificateSettings::default(),
        }
    }

    fn answers(&self, status: u16) {
        self.status.store(status, Ordering::SeqCst);
    }

    /// The next message, whose signature is right by the clock that receivers have, whatever the
    /// engine's says.
    async fn next(&mut self) -> Value {
        let got = tokio::time::timeout(Duration::from_secs(20), self.got.recv()).await;
        let (headers, body) = got.expect("a message comes").unwrap();
        let signed = headers["onrush-signature"].to_str().unwrap();
        let verified = signature::verify(SECRET.as_bytes(), signed, &body, unix_now_s());
        assert_eq!(verified, Ok(()));
        let message: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(headers["onrush-message-id"], message["id"].as_str().unwrap());
        assert_eq!(headers["content-type"], "application/json");
        message
    }
}

async fn shop(settings: WebhookSettings) -> Shop {
    let shop = Shop::start_with(|config| config.webhooks = vec![settings]).await;
    shop.flash_sale("e").await;
    shop
}

#[tokio::test]
async fn a_receiver_that_fails_is_told_again_under_the_same_id() {
    let mut receiver = Receiver::start(500).await;
    let shop = shop(receiver.settings()).await;
    let guest = shop.guest().await;
    let booking = guest.book(&json!({"pools": {"ga": 2}}), None).await;
    let first = receiver.next().await;
    assert_eq!(first["kind"], "booking_confirmed");
    assert_eq!((&first["event"], &first["booking"]), (&json!("e"), &json!(booking)));
    assert_eq!(first["data"]["lines"], json!({"pools": {"ga": 2}}));
    assert_eq!(first["data"]["amount_minor"], 0);
    assert!(first["at"].is_i64() && !first.to_string().contains(&guest.user), "{first}");

    shop.pass_to_next(CHANNEL).await;
    let second = receiver.next().await;
    // Whatever goes wrong now, the clock is far beyond what a signature is believed for.
    let next = shop.settled(CHANNEL).await.unwrap();
    shop.clock.set(next.plus_ms(1_000_000));
    receiver.answers(204);
    shop.server.sagas().told.notify_one();
    let third = receiver.next().await;
    assert_eq!((&second, &third), (&first, &first));
    assert_eq!(shop.settled(CHANNEL).await, None);
    assert!(receiver.got.try_recv().is_err());
}

#[tokio::test]
async fn after_three_days_a_message_is_given_up_and_can_be_replayed() {
    let mut receiver = Receiver::start(503).await;
    let shop = shop(receiver.settings()).await;
    let guest = shop.guest().await;
    guest.book(&json!({"pools": {"ga": 1}}), None).await;
    let began = shop.clock.now();
    let first = receiver.next().await;
    let mut attempts = 1;
    while shop.settled(CHANNEL).await.is_some() {
        shop.pass_to_next(CHANNEL).await;
        assert_eq!(receiver.next().await, first);
        attempts += 1;
    }
    let dead = shop.dead(CHANNEL).await;
    assert_eq!(dead[0]["message"], first["id"]);
    assert_eq!(dead[0]["attempts"], attempts);
    assert_eq!(dead[0]["error"], "the receiver answered 503");
    let lived_ms = dead[0]["died_at"].as_i64().unwrap() - began.0;
    // The last pause is an hour and a quarter at most.
    let three_days_ms = 3 * 24 * 3_600_000;
    assert!((three_days_ms - 4_500_000..=three_days_ms).contains(&lived_ms), "{lived_ms}");
    // Doubling from a second to an hour, and then about every hour.
    assert!((70..=110).contains(&attempts), "{attempts}");

    receiver.answers(200);
    let replay = json!({"channel": CHANNEL});
    let replayed = shop.admin("POST", "/messages/replay").json(&replay).send().await;
    assert_eq!(replayed.expect(200).json(), json!({"replayed": 1}));
    assert_eq!(receiver.next().await, first);
    assert_eq!(shop.settled(CHANNEL).await, None);
    let none = shop.admin("GET", "/messages/dead").send().await.expect(200).json();
    assert_eq!(none, json!({"messages": []}));
}

#[tokio::test]
async fn a_receiver_that_answers_at_length_was_told() {
    let mut receiver = Receiver::start(200).await;
    let url = format!("http://{}/talks", receiver.address);
    let shop = shop(WebhookSettings { url, ..receiver.settings() }).await;
    let guest = shop.guest().await;
    guest.book(&json!({"pools": {"ga": 1}}), None).await;
    receiver.next().await;
    assert_eq!(shop.settled(CHANNEL).await, None);
    assert!(receiver.got.try_recv().is_err());
    let none = shop.admin("GET", "/messages/dead").send().await.expect(200).json();
    assert_eq!(none, json!({"messages": []}));
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_not_asked_again() {
    let mut receiver = Receiver::start(410).await;
    let shop = shop(receiver.settings()).await;
    let guest = shop.guest().await;
    guest.book(&json!({"pools": {"ga": 1}}), None).await;
    receiver.next().await;
    let dead = shop.dead(CHANNEL).await;
    assert_eq!(dead[0]["attempts"], 1);
    assert_eq!(shop.settled(CHANNEL).await, None);
}

#[tokio::test]
async fn addresses_of_ones_own_network_are_not_told() {
    let mut receiver = Receiver::start(200).await;
    let port = receiver.address.port();
    for host in ["127.0.0.1", "[::ffff:127.0.0.1]"] {
        let url = format!("http://{host}:{port}/hook");
        let settings = WebhookSettings { url, allow_private: false, ..receiver.settings() };
        let shop = shop(settings).await;
        let guest = shop.guest().await;
        guest.book(&json!({"pools": {"ga": 1}}), None).await;
        let dead = shop.dead(CHANNEL).await;
        assert_eq!(dead[0]["error"], "the address is not a public one", "{host}");
        assert!(receiver.got.try_recv().is_err(), "{host}");
    }
}

#[tokio::test]
async fn a_name_that_stands_for_ones_own_network_is_not_told_and_asked_for_again_later() {
    let mut receiver = Receiver::start(200).await;
    let url = format!("http://localhost:{}/hook", receiver.address.port());
    let shop = shop(WebhookSettings { url, allow_private: false, ..receiver.settings() }).await;
    let guest = shop.guest().await;
    guest.book(&json!({"pools": {"ga": 1}}), None).await;
    for _ in 0..3 {
        shop.pass_to_next(CHANNEL).await;
    }
    assert!(shop.settled(CHANNEL).await.is_some(), "it is tried again");
    assert!(receiver.got.try_recv().is_err());
}

#[tokio::test]
async fn only_the_kinds_that_are_wanted_are_told() {
    let mut receiver = Receiver::start(200).await;
    let kinds = Some(vec!["booking_cancelled".to_owned()]);
    let shop = shop(WebhookSettings { kinds, ..receiver.settings() }).await;
    let guest = shop.guest().await;
    let booking = guest.book(&json!({"pools": {"ga": 1}}), None).await;
    shop.cancel(&booking).await;
    let message = receiver.next().await;
    assert_eq!(
        (&message["kind"], &message["data"]["why"]),
        (&json!("booking_cancelled"), &json!("rain"))
    );
    assert_eq!(shop.settled(CHANNEL).await, None);
    assert!(receiver.got.try_recv().is_err());
}

#[tokio::test]
async fn what_was_not_told_before_a_restart_is_told_after_it() {
    let mut receiver = Receiver::start(500).await;
    let shop = shop(receiver.settings()).await;
    {
        let guest = shop.guest().await;
        guest.book(&json!({"pools": {"ga": 1}}), None).await;
    }
    let first = receiver.next().await;
    let next = shop.settled(CHANNEL).await.unwrap();
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    receiver.answers(200);
    clock.set(next);
    let settings = receiver.settings();
    let shop = Shop::start_in(dir, clock, |config| config.webhooks = vec![settings]).await;
    assert_eq!(receiver.next().await, first);
    assert_eq!(shop.settled(CHANNEL).await, None);
}

/// Holds so many units in event `e`, free of charge; says the booking's id.
async fn hold(shop: &Shop, token: &str, quantity: u32) -> String {
    let wish = json!({"pools": {"ga": quantity}});
    let key = format!("k{quantity}");
    let held = shop.ask("POST", "/events/e/bookings").bearer(token).key(&key).json(&wish);
    held.send().await.expect(201).text("booking")
}

async fn give_back(shop: &Shop, token: &str, booking: &str) {
    let path = format!("/bookings/{booking}/cancel");
    shop.ask("POST", &path).bearer(token).send().await.expect(200);
}

#[tokio::test]
async fn the_end_of_a_hold_free_of_charge_says_what_was_held() {
    const HOLD_TTL_MS: i64 = 3_600_000;
    let mut receiver = Receiver::start(200).await;
    let settings = receiver.settings();
    let mut shop = shop(settings.clone()).await;
    let token = shop.guest().await.token;
    let mut said = async |kind: &str, booking: &str, quantity: u32| {
        let message = receiver.next().await;
        assert_eq!((&message["kind"], &message["booking"]), (&json!(kind), &json!(booking)));
        let data = json!({"lines": {"pools": {"ga": quantity}}, "amount_minor": 0, "fee_minor": 0,
            "currency": "EUR"});
        assert_eq!(message["data"], data, "{kind}");
    };
    for quantity in [1, 3] {
        let given_back = hold(&shop, &token, quantity).await;
        let left = hold(&shop, &token, quantity + 1).await;
        if quantity == 3 {
            // Nobody but the engine remembers what was held before a restart.
            shop.settled(CHANNEL).await;
            let Shop { server, clock, dir } = shop;
            server.shutdown().await;
            let settings = settings.clone();
            shop = Shop::start_in(dir, clock, |config| config.webhooks = vec![settings]).await;
        }
        give_back(&shop, &token, &given_back).await;
        said("booking_released", &given_back, quantity).await;
        shop.clock.advance_ms(HOLD_TTL_MS);
        said("booking_expired", &left, quantity + 1).await;
    }
}

#[tokio::test]
async fn revoked_tickets_are_listed_for_scanners() {
    let scanner = "a scanner for tests only";
    let shop =
        Shop::start_with(|config| config.scanner_key = Some(Secret::from(scanner.to_owned())))
            .await;
    shop.flash_sale("e").await;
    let (guest, other) = (shop.guest().await, shop.guest().await);
    let booking = guest.book(&json!({"pools": {"ga": 1}}), None).await;
    other.book(&json!({"pools": {"ga": 1}}), None).await;
    let list = |event: &str, token: &str| {
        shop.ask("GET", &format!("/events/{event}/revoked-tickets")).bearer(token).send()
    };
    assert_eq!(list("e", scanner).await.expect(200).json()["bookings"], json!([]));
    shop.cancel(&booking).await;
    // The ledger follows the feed.
    let revoked = until("the cancellation is known", async || {
        let list = list("e", scanner).await.expect(200).json();
        (list["bookings"] != json!([])).then_some(list)
    });
    let revoked = revoked.await;
    assert_eq!((&revoked["event"], &revoked["bookings"]), (&json!("e"), &json!([booking])));
    assert_eq!(list("e", &guest.token).await.problem(), (401, "TOKEN_INVALID".into()));
    assert_eq!(list("f", scanner).await.problem(), (404, "EVENT_NOT_FOUND".into()));
}
