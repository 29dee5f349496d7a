//! A running server, and the people who use it.

use crate::client::{Answer, Request};
use onrush_base::config::Config;
use onrush_base::config::Secret;
use onrush_base::config::limits::LimitSettings;
use onrush_core::Time;
use onrush_server::Server;
use onrush_store::embedded::{Clock, LostAnswers, ManualClock, Options};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

pub(crate) const ADMIN_KEY: &str = "a key for tests only";

/// A server in a directory of its own, whose engine's time stands still until it is moved.
pub(crate) struct Shop {
    pub(crate) server: Server,
    pub(crate) clock: ManualClock,
    pub(crate) dir: TempDir,
}

/// The configuration of tests: free ports, a known admin key, no limit that a test could run into
/// by accident.
pub(crate) fn config(dir: &TempDir) -> Config {
    Config {
        data: dir.path().to_owned(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        operator_listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        admin_key: Some(Secret::from(ADMIN_KEY.to_owned())),
        visitors_per_min: 1_000_000,
        limits: LimitSettings::off(),
        // Tests share a busy machine: what is sent away there says nothing.
        shed_after_ms: 0,
        guest_token_ttl_s: 10 * 366 * 86_400,
        ..Config::default()
    }
}

impl Shop {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let clock = ManualClock::new(Time(i64::try_from(now.as_millis()).unwrap()));
        Self::start_in(tempfile::tempdir().unwrap(), clock, change).await
    }

    pub(crate) async fn start_in(
        dir: TempDir,
        clock: ManualClock,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        Self::start_with_options(dir, clock, change, |_| {}).await
    }

    pub(crate) async fn start_with_options(
        dir: TempDir,
        clock: ManualClock,
        change: impl FnOnce(&mut Config),
        change_options: impl FnOnce(&mut Options),
    ) -> Self {
        let mut config = config(&dir);
        change(&mut config);
        let mut options = Options { clock: Clock::Manual(clock.clone()), ..Options::default() };
        change_options(&mut options);
        let server = Server::start_with(config, options).await.unwrap();
        Self { server, clock, dir }
    }

    /// A shop whose engine's answers get lost as `lost` says.
    pub(crate) async fn start_losing(lost: &LostAnswers) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let clock = ManualClock::new(Time(i64::try_from(now.as_millis()).unwrap()));
        let lose = |options: &mut Options| options.lost_answers = lost.clone();
        Self::start_with_options(tempfile::tempdir().unwrap(), clock, |_| {}, lose).await
    }

    /// A request without a token; the path begins behind `/api/v1`.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Request {
        Request::new(self.server.public_addr(), method, &format!("/api/v1{path}"))
    }

    /// A request with the admin key; the path begins behind `/api/v1/admin`.
    pub(crate) fn admin(&self, method: &str, path: &str) -> Request {
        self.ask(method, &format!("/admin{path}")).bearer(ADMIN_KEY)
    }

    /// Has the organiser do something, which must be accepted.
    pub(crate) async fn organise(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.admin(method, path).json(body).send().await;
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        answer.json()
    }

    /// Has the organiser do something that takes no body.
    pub(crate) async fn organise_plainly(&self, path: &str) -> Value {
        self.admin("POST", path).send().await.expect(200).json()
    }

    /// An open event without a waiting room or limits, and with a pool `ga` of 10 units, free of charge.
    pub(crate) async fn flash_sale(&self, event: &str) {
        let body = json!({"event": event, "title": "Flash", "currency": "EUR",
            "max_per_user": null, "claim_ttl_max_ms": null});
        self.organise("POST", "/events", &body).await;
        self.add_pool(event, "ga", 10, 0).await;
        self.organise_plainly(&format!("/events/{event}/open")).await;
    }

    /// An open event with a waiting room, and with a pool `ga` of 10 free units.
    pub(crate) async fn sale_with_room(&self, event: &str, room: Value) {
        let body = json!({"event": event, "title": "Rush", "currency": "EUR", "room": room,
            "max_per_user": null});
        self.organise("POST", "/events", &body).await;
        self.add_pool(event, "ga", 10, 0).await;
        self.organise_plainly(&format!("/events/{event}/open")).await;
    }

    pub(crate) async fn add_pool(&self, event: &str, pool: &str, capacity: u32, price_minor: i64) {
        let body = json!({"pool": pool, "capacity": capacity, "price_minor": price_minor});
        self.organise("POST", &format!("/events/{event}/pools"), &body).await;
    }

    /// A new guest.
    pub(crate) async fn guest(&self) -> Guest<'_> {
        let answer = self.ask("POST", "/visitors").send().await.expect(201);
        Guest { shop: self, token: answer.text("token"), user: answer.text("user") }
    }

    pub(crate) fn committed(&self) -> u64 {
        self.server.engine().committed().0
    }
}

/// A visitor with a guest token.
pub(crate) struct Guest<'a> {
    pub(crate) shop: &'a Shop,
    pub(crate) token: String,
    pub(crate) user: String,
}

impl Guest<'_> {
    pub(crate) fn ask(&self, method: &str, path: &str) -> Request {
        self.shop.ask(method, path).bearer(&self.token)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path).send().await
    }

    pub(crate) async fn join(&self, event: &str) -> Answer {
        self.ask("POST", &format!("/events/{event}/queue")).send().await
    }

    pub(crate) async fn place(&self, event: &str) -> Value {
        self.get(&format!("/events/{event}/queue")).await.expect(200).json()
    }

    pub(crate) async fn hold(&self, event: &str, key: &str, wish: &Value) -> Answer {
        self.ask("POST", &format!("/events/{event}/bookings")).key(key).json(wish).send().await
    }

    /// Asks until the visitor is active. Admission follows the joining by a tick of the engine,
    /// without any delay.
    pub(crate) async fn until_active(&self, event: &str) -> Value {
        loop {
            let place = self.place(event).await;
            if place["status"] == "active" {
                return place;
            }
            tokio::task::yield_now().await;
        }
    }
}
