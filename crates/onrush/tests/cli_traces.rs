//! What a server tells a collector of traces: each request and what it did, and nobody's name.

mod cli_support;
#[expect(dead_code, reason = "the tests of the crate use more of it")]
#[path = "../../traces/tests/receiver/mod.rs"]
mod receiver;

use axum::http::{Method, Request, StatusCode};
use bytes::Bytes;
use cli_support::{ADMIN_KEY, Served};
use onrush_base::config::{Pem, TlsSettings};
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_serve::{Certificate, Terms, listen, serve_tls_on};
use onrush_testkit::Authority;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use receiver::{Does, Receiver, attribute};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";
const HOLDS: &str = "POST /api/v1/events/{event}/bookings";
/// What names a buyer, and what they write.
const NAME: &str = "Ada Lovelace-Byron";
const EMAIL: &str = "ada.lovelace@post.example";
const SECRET: &str = "do-not-tell-anybody";
const PATIENCE_MS: u64 = 20_000;

fn collected(command: &mut Command, endpoint: &str) {
    command
        .env("ONRUSH_TELEMETRY__OTLP_ENDPOINT", endpoint)
        .env("ONRUSH_TELEMETRY__SAMPLE_RATIO", "1.0")
        .env("ONRUSH_GATEWAY", "sandbox");
}

fn served(data: &Path, endpoint: &str, change: impl FnOnce(&mut Command)) -> Served {
    Served::start_watched(data, |command| {
        collected(command, endpoint);
        change(command);
    })
}

/// A server that is asked over HTTP.
struct Shop {
    served: Served,
    client: HttpClient,
}

impl Shop {
    async fn of(served: Served) -> Self {
        let shop = Self { served, client: HttpClient::new(AddressPolicy::Any) };
        let event = r#"{"event":"gala","title":"Test","currency":"EUR","max_per_user":null}"#;
        shop.done("POST", "/api/v1/admin/events", ADMIN_KEY, event).await;
        let pool = r#"{"pool":"ga","capacity":100000,"price_minor":1500}"#;
        shop.done("POST", "/api/v1/admin/events/gala/pools", ADMIN_KEY, pool).await;
        shop.done("POST", "/api/v1/admin/events/gala/open", ADMIN_KEY, "{}").await;
        shop
    }

    async fn asked(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (StatusCode, Value) {
        let mut request = Request::new(Bytes::from(body.to_owned()));
        *request.method_mut() = method.parse::<Method>().expect("a method");
        *request.uri_mut() =
            format!("http://{}{path}", self.served.address).parse().expect("an address");
        for (name, value) in headers.iter().chain(&[("content-type", "application/json")]) {
            let name = name.parse::<axum::http::HeaderName>().expect("a header");
            request.headers_mut().insert(name, value.parse().expect("a value"));
        }
        let answer = self.client.call(request, PATIENCE_MS).await.expect("it answers");
        let json = serde_json::from_slice(answer.body()).unwrap_or(Value::Null);
        (answer.status(), json)
    }

    async fn done(&self, method: &str, path: &str, token: &str, body: &str) -> Value {
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", authorization.as_str()), ("idempotency-key", SECRET)];
        let headers = if token.is_empty() { &headers[1..] } else { &headers[..] };
        let (status, body) = self.asked(method, path, headers, body).await;
        assert!(status.is_success(), "{method} {path}: {status} {body}");
        body
    }

    async fn visitor(&self) -> String {
        let visitor = self.done("POST", "/api/v1/visitors", "", "{}").await;
        visitor["token"].as_str().expect("a token").to_owned()
    }

    async fn hold(&self, token: &str, headers: &[(&str, &str)]) -> String {
        let authorization = format!("Bearer {token}");
        let mut all = vec![("authorization", authorization.as_str()), ("idempotency-key", SECRET)];
        all.extend_from_slice(headers);
        let path = format!("/api/v1/events/gala/bookings?utm={SECRET}");
        let (status, held) = self.asked("POST", &path, &all, r#"{"pools":{"ga":1}}"#).await;
        assert_eq!(status, StatusCode::CREATED, "{held}");
        held["booking"].as_str().expect("a booking").to_owned()
    }

    /// Pays at the sandbox's page.
    async fn pay(&self, token: &str, booking: &str) {
        let buyer = format!(r#"{{"buyer":{{"name":"{NAME}","email":"{EMAIL}"}}}}"#);
        let path = format!("/api/v1/bookings/{booking}/payment");
        let payment = self.done("POST", &path, token, &buyer).await;
        let page = payment["url"].as_str().expect("a page");
        let request = Request::post(page)
            .header("accept", "application/json")
            .body(Bytes::from_static(b"action=pay&card=4242424242424242"))
            .expect("a request");
        let paid = self.client.call(request, PATIENCE_MS).await.expect("the page answers");
        assert_eq!(paid.status(), StatusCode::OK);
    }

    /// Spans that were dropped, as the metrics have it.
    async fn dropped(&self) -> u64 {
        let operator = self.served.operator.expect("there is one");
        let request = Request::get(format!("http://{operator}/metrics")).body(Bytes::new());
        let answer = self.client.call(request.expect("a request"), PATIENCE_MS).await;
        let text = String::from_utf8_lossy(answer.expect("it answers").body()).into_owned();
        let mut lines = text.lines();
        let line =
            lines.find_map(|line| line.strip_prefix("onrush_spans_total{outcome=\"dropped\"} "));
        line.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{text}"))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is(span: &Span, name: &str, value: &str) -> bool {
    attribute(span, name).as_deref() == Some(value)
}

fn child_of<'a>(spans: &'a [Span], parent: &Span, name: &str) -> Option<&'a Span> {
    spans.iter().find(|span| span.name == name && span.parent_span_id == parent.span_id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paid_booking_is_told_step_by_step_and_nobody_is_named() {
    let receiver = Receiver::start(Does::Take).await;
    let data = tempfile::tempdir().unwrap();
    let shop = Shop::of(served(data.path(), &receiver.endpoint(), |_| {})).await;
    let token = shop.visitor().await;
    let booking = shop.hold(&token, &[]).await;
    shop.pay(&token, &booking).await;
    let is_confirm = |span: &Span| span.name == "confirm" && is(span, "onrush.booking", &booking);
    let is_noted =
        |span: &Span| is_confirm(span) && attribute(span, "onrush.saga.next_step").is_some();
    receiver.until("the confirmation", |told| told.spans().iter().any(is_noted)).await;
    shop.done("GET", &format!("/api/v1/bookings/{booking}?who={SECRET}"), &token, "").await;
    assert_eq!(shop.served.stop(), Some(0));

    let spans = receiver.spans();
    let named = |name: &str| spans.iter().find(|span| span.name == name).expect(name);
    // A request, and the command in it.
    let hold = named(HOLDS);
    assert_eq!((hold.kind(), hold.parent_span_id.len()), (SpanKind::Server, 0));
    assert!(is(hold, "http.response.status_code", "201"));
    assert!(is(hold, "http.route", "/api/v1/events/{event}/bookings"));
    let command = child_of(&spans, hold, "Hold").expect("the command is in the request");
    assert!(is(command, "onrush.event", "gala") && is(command, "onrush.outcome", "done"));
    assert_eq!(command.trace_id, hold.trace_id);
    // A request that is written down has its id.
    let opened = named("POST /api/v1/admin/events/{event}/open");
    assert_eq!(attribute(opened, "onrush.request_id").map(|id| id.len()), Some(32));
    assert!(child_of(&spans, opened, "OpenSale").is_some(), "it goes on in a task of its own");
    // The payment begins within its request, and the gateway is asked by a step of the saga.
    let pay = named("POST /api/v1/bookings/{booking}/payment");
    assert!(child_of(&spans, pay, "BeginPayment").is_some());
    let create = child_of(&spans, pay, "create").expect("the saga's step is in the request");
    assert!(is(create, "onrush.booking", &booking) && is(create, "onrush.event", "gala"));
    assert!(is(create, "onrush.saga.step", "PaymentSent"));
    let call = child_of(&spans, create, "create").expect("the gateway's call is in the step");
    assert!(is(call, "onrush.gateway", "sandbox") && is(call, "onrush.outcome", "done"));
    assert!(call.end_time_unix_nano > call.start_time_unix_nano);
    assert_eq!(call.kind(), SpanKind::Client);
    // What the gateway told leads to the confirmation.
    let confirm = spans.iter().find(|span| is_confirm(span)).expect("it was waited for");
    assert!(child_of(&spans, confirm, "Confirm").is_some());
    assert!(is(confirm, "onrush.saga.next_step", "Confirmed"));

    let came = receiver.came.borrow().clone();
    let bodies = came.lock().unwrap().bodies.concat();
    let whole = String::from_utf8_lossy(&bodies).into_owned();
    let claims = token.split('.').nth(1).expect("a token has parts").to_owned();
    for personal in [NAME, "Lovelace", EMAIL, "post.example", SECRET, ADMIN_KEY, &token, &claims] {
        assert!(!whole.contains(personal), "{personal} was told");
    }
    for path in ["4242", "127.0.0.1", "utm"] {
        assert!(!whole.contains(path), "{path} was told");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_trusted_proxy_says_which_trace_a_request_belongs_to() {
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    let headers = [("traceparent", traceparent.as_str())];
    for (proxies, is_believed) in [("127.0.0.0/8", true), ("10.0.0.0/8", false)] {
        let receiver = Receiver::start(Does::Take).await;
        let data = tempfile::tempdir().unwrap();
        // What nobody has decided before is not kept.
        let served = served(data.path(), &receiver.endpoint(), |command| {
            command.env("ONRUSH_TRUSTED_PROXIES", proxies);
            command.env("ONRUSH_TELEMETRY__SAMPLE_RATIO", "0");
        });
        let shop = Shop::of(served).await;
        let token = shop.visitor().await;
        shop.hold(&token, &headers).await;
        assert_eq!(shop.served.stop(), Some(0));
        let spans = receiver.spans();
        let told = spans.iter().find(|span| span.name == HOLDS);
        assert_eq!(told.is_some(), is_believed, "{proxies}: {spans:?}");
        if let Some(hold) = told {
            assert_eq!(
                (hex(&hold.trace_id), hex(&hold.parent_span_id)),
                (TRACE.into(), PARENT.into())
            );
            let command = child_of(&spans, hold, "Hold").expect("the command goes along");
            assert_eq!(hex(&command.trace_id), TRACE);
            assert_eq!(spans.len(), 2, "nothing else is kept");
        }
    }
}

/// Holds, one after the other, and how long the slowest took.
async fn slowest_hold(shop: &Shop, holds: usize) -> Duration {
    let mut slowest = Duration::ZERO;
    for _ in 0..holds {
        let token = shop.visitor().await;
        let begun = Instant::now();
        shop.hold(&token, &[]).await;
        slowest = slowest.max(begun.elapsed());
    }
    slowest
}

/// How long a server takes to stop, which must go well.
fn stopping_takes(shop: Shop) -> Duration {
    let begun = Instant::now();
    assert_eq!(shop.served.stop(), Some(0));
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_away_or_never_answers_changes_nothing_for_buyers() {
    let receiver = Receiver::start(Does::Nothing).await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let away = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    // What stopping takes anyway, on this machine and as busy as it is.
    let data = tempfile::tempdir().unwrap();
    let served = Served::start_watched(data.path(), |command| {
        command.env("ONRUSH_GATEWAY", "sandbox");
    });
    let shop = Shop::of(served).await;
    slowest_hold(&shop, 50).await;
    let untold = stopping_takes(shop);
    for endpoint in [receiver.endpoint(), away] {
        let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let log = folder.path().join("log");
        let served = Served::start_watched_with_log(data.path(), &log, |command| {
            collected(command, &endpoint);
            command.env("ONRUSH_TELEMETRY__QUEUE_SPANS", "16");
        });
        let shop = Shop::of(served).await;
        // Until more was made than there is room for.
        let mut dropped = 0;
        for _ in 0..40 {
            let slowest = slowest_hold(&shop, 50).await;
            assert!(slowest < Duration::from_secs(2), "{endpoint}: {slowest:?}");
            dropped = shop.dropped().await;
            if dropped > 100 {
                break;
            }
        }
        assert!(dropped > 100, "{endpoint}: {dropped}");
        let told = stopping_takes(shop);
        assert!(told < untold + Duration::from_secs(8), "{told:?} in place of {untold:?}");
        let said = std::fs::read_to_string(&log).expect("there is a log");
        let lines = said.matches("no traces arrive").count();
        assert!(lines <= 1, "{said}");
    }
}

/// A listener that speaks TLS, before the same collector.
fn encrypted(receiver: &Receiver, authority: &Authority) -> String {
    let issued = authority.server();
    let settings = TlsSettings::of_files(Pem::Text(issued.cert), Pem::Text(issued.key));
    let certificate = Certificate::open(&settings).expect("it is one");
    let listener = listen("127.0.0.1:0".parse().expect("an address")).expect("a port is free");
    let port = listener.local_addr().expect("it has an address").port();
    let terms = Terms::default();
    let forever = std::future::pending();
    let router = receiver.router();
    tokio::spawn(serve_tls_on(listener, certificate, router, terms, Arc::default(), forever));
    format!("https://localhost:{port}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_with_a_private_authority_is_told_over_tls_and_another_is_not() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let receiver = Receiver::start(Does::Take).await;
    let endpoint = encrypted(&receiver, &ours);
    for (authority, is_told) in [(&ours, true), (&theirs, false)] {
        let before = receiver.spans().len();
        let data = tempfile::tempdir().unwrap();
        let served = served(data.path(), &endpoint, |command| {
            command.env("ONRUSH_TELEMETRY__CERTIFICATES__CA", authority.pem());
        });
        let shop = Shop::of(served).await;
        shop.hold(&shop.visitor().await, &[]).await;
        assert_eq!(shop.served.stop(), Some(0));
        assert_eq!(receiver.spans().len() > before, is_told);
    }
}
