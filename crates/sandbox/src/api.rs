//! What the shop asks of the sandbox, as JSON.

use super::at_desk::AtDesk;
use super::book::{NewPayment, Refused};
use super::fault::Script;
use super::journal::Gone;
use super::service::{Answer, Service};
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use onrush_base::amount;
use onrush_core::ids::PaymentId;
use onrush_core::limits::fits_text;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The longest key, in bytes.
const MAX_KEY_BYTES: usize = 255;
/// The longest address to return to, in bytes.
const MAX_URL_BYTES: usize = 2_000;
/// The largest amount, in minor units: sums of a million payments still fit.
const MAX_AMOUNT_MINOR: i64 = 1_000_000_000_000;
/// Payments on one page of a list, at most.
const MAX_PAGE: usize = 1_000;
/// Calls that one script can be for.
const MAX_SCRIPTED: u32 = 1_000_000;

fn refused(status: u16, code: &'static str, detail: &'static str) -> Response {
    answer(&Answer::Refused(Refused { status, code, detail }))
}

/// A body of JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    // Views have text keys only, which always can be written.
    let body = serde_json::to_vec(value).expect("a view can be written as JSON");
    let kind = HeaderValue::from_static("application/json");
    (status, [(CONTENT_TYPE, kind)], body).into_response()
}

#[derive(Serialize)]
struct Problem<'a> {
    code: &'a str,
    detail: &'a str,
}

/// An answer as JSON, or none.
pub(super) fn answer(answer: &Answer) -> Response {
    let problem = |status, code, detail| json(status, &Problem { code, detail });
    match answer {
        Answer::Done(view) => json(StatusCode::OK, view),
        Answer::Refused(why) => {
            let status = StatusCode::from_u16(why.status).unwrap_or(StatusCode::BAD_REQUEST);
            problem(status, why.code, why.detail)
        }
        Answer::Stumbled => problem(
            StatusCode::INTERNAL_SERVER_ERROR,
            "SCRIPTED_ERROR",
            "nothing was done; the next try will do it",
        ),
        Answer::Lost => lost(),
        Answer::Broken => broken(),
    }
}

/// No answer: a body that breaks off makes the server close the connection.
pub(super) fn lost() -> Response {
    let broken = io::Error::new(io::ErrorKind::ConnectionAborted, "the answer is lost on purpose");
    Response::new(Body::from_stream(futures_util::stream::once(async {
        Err::<Bytes, io::Error>(broken)
    })))
}

fn broken() -> Response {
    let detail = "the sandbox's file cannot be written; see its log";
    json(StatusCode::SERVICE_UNAVAILABLE, &Problem { code: "UNAVAILABLE", detail })
}

/// Whether the caller has the secret. How long that takes tells only how long the secret is.
fn is_known(service: &Service, headers: &HeaderMap) -> bool {
    let token =
        headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    token.is_some_and(|token| bool::from(token.ct_eq(service.secret().as_bytes())))
}

/// Lets only those through who have the secret.
pub(super) async fn guard(
    State(service): State<Arc<Service>>,
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> Response {
    if is_known(&service, request.headers()) {
        next.run(request).await
    } else {
        refused(401, "SECRET_WRONG", "send Authorization: Bearer and the sandbox's secret")
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Box<Response>> {
    serde_json::from_slice(body).map_err(|error| {
        let detail = error.to_string();
        let problem = Problem { code: "INVALID_BODY", detail: &detail };
        Box::new(json(StatusCode::UNPROCESSABLE_ENTITY, &problem))
    })
}

fn key(headers: &HeaderMap) -> Result<&str, Box<Response>> {
    let key = headers.get("idempotency-key").and_then(|value| value.to_str().ok());
    key.filter(|key| (1..=MAX_KEY_BYTES).contains(&key.len())).ok_or_else(|| {
        Box::new(refused(400, "KEY_MISSING", "send an Idempotency-Key of 1 to 255 bytes"))
    })
}

/// Whether the browser may be sent to an address.
pub(super) fn is_web_address(text: &str) -> bool {
    text.len() <= MAX_URL_BYTES
        && text.parse::<Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()
        })
}

/// `POST /v1/payments`
pub(super) async fn create(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let asked = key(&headers).and_then(|key| Ok((key, parse::<NewPayment>(&body)?)));
    let (key, mut asked) = match asked {
        Ok(asked) => asked,
        Err(problem) => return *problem,
    };
    if key != asked.payment.as_str() {
        return refused(422, "KEY_WRONG", "the Idempotency-Key of a payment is its id");
    }
    if !(1..=MAX_AMOUNT_MINOR).contains(&asked.amount_minor) {
        return refused(422, "AMOUNT_INVALID", "amount_minor is 1 to 1000000000000");
    }
    if amount::decimals(asked.currency).is_none() {
        return refused(422, "CURRENCY_UNKNOWN", "currency is one of ISO 4217");
    }
    if !fits_text(&asked.description) {
        return refused(422, "TEXT_TOO_LONG", "description has at most 500 characters");
    }
    if asked.return_url.as_deref().is_some_and(|url| !is_web_address(url)) {
        return refused(422, "URL_INVALID", "return_url begins with http:// or https://");
    }
    asked.created_s = onrush_base::auth::unix_now_s();
    answer(&service.create(asked).await)
}

fn not_found() -> Response {
    refused(404, "PAYMENT_NOT_FOUND", "there is no such payment")
}

/// `GET /v1/payments/{payment}`
pub(super) async fn status(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
) -> Response {
    match id.parse::<PaymentId>() {
        Ok(payment) => answer(&service.status(&payment).await),
        Err(_) => not_found(),
    }
}

/// `POST /v1/payments/{payment}/cancel`
pub(super) async fn cancel(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
) -> Response {
    match id.parse::<PaymentId>() {
        Ok(payment) => answer(&service.cancel(&payment).await),
        Err(_) => not_found(),
    }
}

/// `POST /v1/payments/{payment}/capture`
pub(super) async fn capture(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Ok(payment) = id.parse::<PaymentId>() else { return not_found() };
    match key(&headers) {
        Ok(key) if key.strip_prefix("capture:") == Some(payment.as_str()) => {
            answer(&service.capture(&payment).await)
        }
        Ok(_) => refused(422, "KEY_WRONG", "the Idempotency-Key of a capture is capture:<payment>"),
        Err(problem) => *problem,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefundBody {
    amount_minor: i64,
}

/// `POST /v1/payments/{payment}/refunds`
pub(super) async fn refund(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Ok(payment) = id.parse::<PaymentId>() else { return not_found() };
    let asked = key(&headers).and_then(|key| Ok((key, parse::<RefundBody>(&body)?)));
    let (key, asked) = match asked {
        Ok(asked) => asked,
        Err(problem) => return *problem,
    };
    if asked.amount_minor < 1 {
        return refused(422, "AMOUNT_INVALID", "amount_minor is at least 1");
    }
    answer(&service.refund(&payment, key, asked.amount_minor).await)
}

/// `POST /v1/payments/{payment}/desk`
pub(super) async fn at_desk(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    body: Bytes,
) -> Response {
    let Ok(payment) = id.parse::<PaymentId>() else { return not_found() };
    match parse::<AtDesk>(&body) {
        Ok(what) => answer(&service.at_desk(&payment, &what).await),
        Err(problem) => *problem,
    }
}

#[derive(Deserialize)]
pub(super) struct ListQuery {
    after: Option<PaymentId>,
    limit: Option<usize>,
}

/// `GET /v1/payments`
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    Query(query): Query<ListQuery>,
) -> Response {
    let limit = query.limit.unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
    match service.list(query.after.as_ref(), limit).await {
        Ok(list) => json(StatusCode::OK, &list),
        Err(Gone) => broken(),
    }
}

/// `GET /v1/totals`
pub(super) async fn totals(State(service): State<Arc<Service>>) -> Response {
    match service.totals().await {
        Ok(totals) => json(StatusCode::OK, &totals),
        Err(Gone) => broken(),
    }
}

/// `POST /v1/faults`
pub(super) async fn script(State(service): State<Arc<Service>>, body: Bytes) -> Response {
    let script: Script = match parse(&body) {
        Ok(script) => script,
        Err(problem) => return *problem,
    };
    if !(1..=MAX_SCRIPTED).contains(&script.next_n) {
        return refused(422, "COUNT_INVALID", "next_n is 1 to 1000000");
    }
    match service.script(script.clone()).await {
        Ok(()) => json(StatusCode::OK, &script),
        Err(Gone) => broken(),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookBody {
    url: Option<String>,
}

/// `PUT /v1/webhook`
pub(super) async fn webhook(State(service): State<Arc<Service>>, body: Bytes) -> Response {
    let wanted: WebhookBody = match parse(&body) {
        Ok(wanted) => wanted,
        Err(problem) => return *problem,
    };
    if wanted.url.as_deref().is_some_and(|url| !is_web_address(url)) {
        return refused(422, "URL_INVALID", "url begins with http:// or https://, or is null");
    }
    // It was parsed just now.
    service.set_webhook_url(wanted.url.as_ref().and_then(|url| url.parse().ok()));
    json(StatusCode::OK, &wanted)
}
