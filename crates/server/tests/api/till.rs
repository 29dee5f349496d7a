//! A gateway that speaks the sandbox's API and does what a test wants, also what no honest gateway does.

use crate::client::{Answer, Request};
use crate::shop::Shop;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use onrush_base::config::{Config, GatewayName, Secret};
use onrush_base::signature::sign;
use onrush_serve::{listen, serve_router};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::{oneshot, watch};

pub(crate) const WEBHOOK_SECRET: &str = "webhooks for tests only";

#[derive(Default)]
struct Drawer {
    payments: BTreeMap<String, Value>,
    down: bool,
    /// Knows nobody's key.
    refuses_key: bool,
    /// Payments are created and nobody is told, until this is let go.
    silence: Option<watch::Receiver<bool>>,
    refuses_refunds: bool,
    /// The payment whose money it will not give back.
    refuses_refunds_of: Option<String>,
    /// Takes what is set aside, and says nothing of it.
    loses_captures: bool,
    captures_asked: u32,
    refunds_asked: u32,
    created: u32,
    creates_asked: u32,
}

impl Drawer {
    /// What is answered instead, if it is of no use now.
    fn away(&self) -> Option<Response> {
        if self.down {
            return Some(out_of_order());
        }
        self.refuses_key.then(|| problem(StatusCode::UNAUTHORIZED, "SECRET_WRONG"))
    }
}

/// The gateway; it ends with the test.
pub(crate) struct Till {
    address: SocketAddr,
    drawer: Arc<Mutex<Drawer>>,
    _stop: oneshot::Sender<()>,
}

type Shared = State<Arc<Mutex<Drawer>>>;

impl Till {
    pub(crate) fn start() -> Self {
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let drawer = Arc::<Mutex<Drawer>>::default();
        let router = Router::new()
            .route("/v1/payments", post(create).get(list))
            .route("/v1/payments/{payment}", get(status))
            .route("/v1/payments/{payment}/capture", post(capture))
            .route("/v1/payments/{payment}/cancel", post(cancel))
            .route("/v1/payments/{payment}/refunds", post(refund))
            .with_state(drawer.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(serve_router(listener, router, async {
            drop(stopped.await);
        }));
        Self { address, drawer, _stop: stop }
    }

    /// Has a server use this gateway.
    pub(crate) fn configure(&self, config: &mut Config) {
        config.gateway = GatewayName::Sandbox;
        config.sandbox.url = Some(format!("http://{}", self.address));
        config.sandbox.secret = Some(Secret::from("whoever asks is served".to_owned()));
        config.sandbox.webhook_secret = Some(Secret::from(WEBHOOK_SECRET.to_owned()));
    }

    fn drawer(&self) -> MutexGuard<'_, Drawer> {
        self.drawer.lock().unwrap()
    }

    /// Answers nothing sensible from now on, or does again.
    pub(crate) fn down(&self, down: bool) {
        self.drawer().down = down;
    }

    /// Knows nobody's key from now on, or does again.
    pub(crate) fn refuse_key(&self, refuse: bool) {
        self.drawer().refuses_key = refuse;
    }

    /// Hears the next payment and says nothing, until it is told to speak; then all is as if
    /// nothing had been.
    pub(crate) fn fall_silent(&self) -> watch::Sender<bool> {
        let (speak, silence) = watch::channel(false);
        self.drawer().silence = Some(silence);
        speak
    }

    /// Waits until it was asked for the payment that it says nothing about.
    pub(crate) async fn until_asked(&self) {
        while self.drawer().silence.is_some() {
            tokio::task::yield_now().await;
        }
    }

    /// Refuses to give money back from now on, or does again.
    pub(crate) fn refuse_refunds(&self, refuse: bool) {
        self.drawer().refuses_refunds = refuse;
    }

    /// Refuses to give the money of this payment back, and of no other.
    pub(crate) fn refuse_refunds_of(&self, payment: &str) {
        let mut drawer = self.drawer();
        drawer.refuses_refunds = false;
        drawer.refuses_refunds_of = Some(payment.to_owned());
    }

    /// The buyer's money is taken, whatever was said before, and nobody is told.
    pub(crate) fn capture(&self, payment: &str) {
        let mut drawer = self.drawer();
        let there = drawer.payments.get_mut(payment).unwrap();
        there["captured_minor"] = there["amount_minor"].clone();
        there["status"] = json!("captured");
    }

    /// The buyer's money is set aside, of a card that is known by this, or by nothing; nobody is told.
    pub(crate) fn authorise(&self, payment: &str, card: Option<&str>) {
        let mut drawer = self.drawer();
        let there = drawer.payments.get_mut(payment).unwrap();
        there["status"] = json!("authorised");
        there["card"] = json!(card);
    }

    /// Answers nothing to captures from now on, or does again; it takes the money either way.
    pub(crate) fn lose_captures(&self, lose: bool) {
        self.drawer().loses_captures = lose;
    }

    /// How often anybody wanted to take what is set aside.
    pub(crate) fn captures_asked(&self) -> u32 {
        self.drawer().captures_asked
    }

    /// What was asked for.
    pub(crate) fn asked(&self, payment: &str) -> Value {
        self.drawer().payments[payment].clone()
    }

    /// Another amount is taken than was asked for.
    pub(crate) fn capture_other(&self, payment: &str, amount_minor: i64) {
        let mut drawer = self.drawer();
        let there = drawer.payments.get_mut(payment).unwrap();
        there["captured_minor"] = json!(amount_minor);
        there["status"] = json!("captured");
    }

    pub(crate) fn status_of(&self, payment: &str) -> String {
        let drawer = self.drawer();
        drawer.payments[payment]["status"].as_str().unwrap().to_owned()
    }

    /// Money that was taken and money that went back.
    pub(crate) fn totals(&self) -> (i64, i64) {
        let drawer = self.drawer();
        let sum = |what: &str| {
            let of = |there: &Value| there[what].as_i64().unwrap_or(0);
            drawer.payments.values().map(of).sum()
        };
        (sum("captured_minor"), sum("refunded_minor"))
    }

    /// How many payments were made, and how often refunds were asked for.
    pub(crate) fn calls(&self) -> (u32, u32) {
        let drawer = self.drawer();
        (drawer.created, drawer.refunds_asked)
    }
}

impl Till {
    /// How often anybody asked for a payment, in vain or not.
    pub(crate) fn creates_asked(&self) -> u32 {
        self.drawer().creates_asked
    }
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn problem(status: StatusCode, code: &str) -> Response {
    answer(status, &json!({"code": code, "detail": "as the test wants it"}))
}

fn out_of_order() -> Response {
    problem(StatusCode::SERVICE_UNAVAILABLE, "DOWN")
}

async fn create(State(drawer): Shared, body: Bytes) -> Response {
    let silence = drawer.lock().unwrap().silence.take();
    if let Some(mut silence) = silence {
        // An error is a sender that is gone: that lets go as well.
        drop(silence.changed().await);
    }
    let mut drawer = drawer.lock().unwrap();
    drawer.creates_asked += 1;
    if let Some(away) = drawer.away() {
        return away;
    }
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let payment = asked["payment"].as_str().unwrap().to_owned();
    if !drawer.payments.contains_key(&payment) {
        let mut there = asked;
        there["status"] = json!("open");
        there["reference"] = json!(format!("till-{payment}"));
        there["url"] = json!(format!("http://till.test/{payment}"));
        (there["captured_minor"], there["refunded_minor"]) = (json!(0), json!(0));
        there["created_s"] = json!(0);
        there["refunds"] = json!([]);
        drawer.payments.insert(payment.clone(), there);
        drawer.created += 1;
    }
    answer(StatusCode::OK, &drawer.payments[&payment])
}

async fn list(State(drawer): Shared) -> Response {
    if let Some(away) = drawer.lock().unwrap().away() {
        return away;
    }
    answer(StatusCode::OK, &json!({"payments": []}))
}

async fn status(State(drawer): Shared, Path(payment): Path<String>) -> Response {
    let drawer = drawer.lock().unwrap();
    if let Some(away) = drawer.away() {
        return away;
    }
    match drawer.payments.get(&payment) {
        Some(there) => answer(StatusCode::OK, there),
        None => problem(StatusCode::NOT_FOUND, "PAYMENT_NOT_FOUND"),
    }
}

async fn capture(
    State(drawer): Shared,
    Path(payment): Path<String>,
    headers: HeaderMap,
) -> Response {
    let mut drawer = drawer.lock().unwrap();
    drawer.captures_asked += 1;
    if let Some(away) = drawer.away() {
        return away;
    }
    assert_eq!(headers["idempotency-key"], format!("capture:{payment}"));
    let loses = drawer.loses_captures;
    let there = drawer.payments.get_mut(&payment).unwrap();
    if there["status"] == "authorised" {
        there["captured_minor"] = there["amount_minor"].clone();
        there["status"] = json!("captured");
    }
    if loses { out_of_order() } else { answer(StatusCode::OK, there) }
}

async fn cancel(State(drawer): Shared, Path(payment): Path<String>) -> Response {
    let mut drawer = drawer.lock().unwrap();
    if let Some(away) = drawer.away() {
        return away;
    }
    let buried = || {
        json!({"payment": payment, "status": "cancelled", "why": "never_created",
            "captured_minor": 0, "refunded_minor": 0})
    };
    let there = drawer.payments.entry(payment.clone()).or_insert_with(buried);
    if there["status"] != "captured" {
        there["status"] = json!("cancelled");
        there["why"] = json!("called_off");
    }
    answer(StatusCode::OK, there)
}

async fn refund(
    State(drawer): Shared,
    Path(payment): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut drawer = drawer.lock().unwrap();
    drawer.refunds_asked += 1;
    if let Some(away) = drawer.away() {
        return away;
    }
    if drawer.refuses_refunds || drawer.refuses_refunds_of.as_ref() == Some(&payment) {
        return problem(StatusCode::CONFLICT, "ACCOUNT_CLOSED");
    }
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let key = headers["idempotency-key"].to_str().unwrap().to_owned();
    let there = drawer.payments.get_mut(&payment).unwrap();
    let known = there["refunds"].as_array().unwrap().iter().any(|made| made["refund"] == key);
    if !known {
        let amount_minor = asked["amount_minor"].as_i64().unwrap();
        let back = there["refunded_minor"].as_i64().unwrap() + amount_minor;
        if back > there["captured_minor"].as_i64().unwrap() {
            return problem(StatusCode::CONFLICT, "OVER_REFUND");
        }
        there["refunded_minor"] = json!(back);
        let made = json!({"refund": key, "reference": format!("till-{key}"),
            "amount_minor": amount_minor, "status": "done"});
        there["refunds"].as_array_mut().unwrap().push(made);
    }
    answer(StatusCode::OK, there)
}

/// A message about a payment, as the gateway would send it.
pub(crate) fn message(kind: &str, payment: &Value) -> Value {
    json!({"id": format!("{}.0", payment["payment"].as_str().unwrap()), "type": kind,
        "payment": payment["payment"], "booking": payment["booking"],
        "reference": format!("till-{}", payment["payment"].as_str().unwrap()),
        "amount_minor": payment["amount_minor"], "currency": payment["currency"],
        "created_s": now_s()})
}

pub(crate) fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().try_into().unwrap()
}

/// A message with a signature, sent to the shop.
pub(crate) async fn send_signed(shop: &Shop, body: &str, signature: &str) -> Answer {
    webhook(shop, body).header("Onrush-Signature", signature).send().await
}

/// A message without a signature.
pub(crate) fn webhook(shop: &Shop, body: &str) -> Request {
    let to = shop.server.public_addr();
    Request::new(to, "POST", "/api/v1/payments/webhook/sandbox")
        .header("Content-Type", "application/json")
        .body(body)
}

/// A genuine message, sent to the shop.
pub(crate) async fn send(shop: &Shop, message: &Value) -> Answer {
    let body = message.to_string();
    let signature = sign(WEBHOOK_SECRET.as_bytes(), body.as_bytes(), now_s());
    send_signed(shop, &body, &signature).await
}
