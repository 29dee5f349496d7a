//! Bad input: each the right 4xx with a code, and no change of state.

use crate::client::Request;
use crate::shop::Shop;
use serde_json::json;

#[tokio::test]
async fn bad_requests_have_their_code_and_change_nothing() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    shop.sale_with_room("r", json!({})).await;
    let guest = shop.guest().await;
    let hold_bytes = |body: &[u8]| {
        let request = guest.ask("POST", "/events/e/bookings").key("k");
        request.header("Content-Type", "application/json").body(body)
    };
    let hold = |body: &str| hold_bytes(body.as_bytes());
    let to = |method: &str, path: &str| guest.ask(method, path);
    let create = |body: &str| {
        let request = shop.admin("POST", "/events");
        request.header("Content-Type", "application/json").body(body)
    };
    let long = "x".repeat(129);
    let key = "k".repeat(256);
    let deep = format!(r#"{{"pools": {}"#, "[".repeat(200));
    let big = format!(r#"{{"seats": ["{}"]}}"#, "A".repeat(1 << 20));
    let cases: Vec<(&str, Request, u16, &str)> = vec![
        ("no JSON", hold("{"), 400, "MALFORMED_JSON"),
        ("empty", hold(""), 400, "MALFORMED_JSON"),
        ("two values", hold("{} {}"), 400, "MALFORMED_JSON"),
        ("not UTF-8", hold_bytes(b"{\"\xff\": 1}"), 400, "MALFORMED_JSON"),
        ("too deep", hold(&deep), 422, "INVALID_BODY"),
        ("an array", hold("[]"), 422, "INVALID_BODY"),
        (
            "an array inside",
            hold(r#"{"stays": [["deluxe", "2026-12-24", 1]]}"#),
            422,
            "INVALID_BODY",
        ),
        ("unknown member", hold(r#"{"pools": {"ga": 1}, "discount": 5}"#), 422, "INVALID_BODY"),
        ("wrong type", hold(r#"{"pools": {"ga": "1"}}"#), 422, "INVALID_BODY"),
        ("a fraction", hold(r#"{"pools": {"ga": 1.5}}"#), 422, "INVALID_BODY"),
        ("nothing", hold("{}"), 422, "INVALID_QUANTITY"),
        ("zero", hold(r#"{"pools": {"ga": 0}}"#), 422, "INVALID_QUANTITY"),
        ("negative", hold(r#"{"pools": {"ga": -1}}"#), 422, "INVALID_QUANTITY"),
        ("too many", hold(r#"{"pools": {"ga": 1001}}"#), 422, "INVALID_QUANTITY"),
        ("absurd", hold(r#"{"pools": {"ga": 1e300}}"#), 422, "INVALID_QUANTITY"),
        ("a seat twice", hold(r#"{"seats": ["A", "A"]}"#), 422, "INVALID_LINES"),
        ("a pool's id", hold(r#"{"pools": {"g:a": 1}}"#), 400, "INVALID_ID"),
        ("a seat's id", hold(r#"{"seats": [""]}"#), 400, "INVALID_ID"),
        ("unknown pool", hold(r#"{"pools": {"vip": 1}}"#), 404, "ZONE_NOT_FOUND"),
        ("unknown seat", hold(r#"{"seats": ["A-1"]}"#), 404, "SEAT_NOT_FOUND"),
        ("too large", hold(&big), 413, "BODY_TOO_LARGE"),
        (
            "not called JSON",
            to("POST", "/events/e/bookings").key("k").body(r#"{"pools": {"ga": 1}}"#),
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            "called text",
            to("POST", "/events/r/queue").header("Content-Type", "text/plain").body("{}"),
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            "no key",
            to("POST", "/events/e/bookings").json(&json!({})),
            400,
            "IDEMPOTENCY_KEY_REQUIRED",
        ),
        (
            "no key",
            to("POST", "/events/e/pools/ga/claims").json(&json!({"quantity": 1})),
            400,
            "IDEMPOTENCY_KEY_REQUIRED",
        ),
        ("long key", to("POST", "/events/e/bookings").key(&key), 400, "IDEMPOTENCY_KEY_INVALID"),
        ("empty key", to("POST", "/events/r/queue").key(""), 400, "IDEMPOTENCY_KEY_INVALID"),
        (
            "key with spaces",
            to("POST", "/events/r/queue").key("a b"),
            400,
            "IDEMPOTENCY_KEY_INVALID",
        ),
        ("event's id", to("POST", "/events/a%20b/queue"), 400, "INVALID_ID"),
        ("event's id", to("POST", "/events/a:b/queue"), 400, "INVALID_ID"),
        ("event's id", to("GET", &format!("/events/{}", "x".repeat(65))), 400, "INVALID_ID"),
        ("not UTF-8", to("GET", "/events/%ff"), 400, "INVALID_ID"),
        ("booking's id", to("GET", &format!("/bookings/{long}")), 400, "INVALID_ID"),
        ("unknown event", to("POST", "/events/nowhere/queue"), 404, "EVENT_NOT_FOUND"),
        ("query", to("GET", "/events/r/queue?plaice=1"), 400, "INVALID_QUERY"),
        ("query", to("GET", "/events/r/queue?place=1"), 400, "INVALID_QUERY"),
        ("query", shop.ask("GET", "/events?limit=many"), 400, "INVALID_QUERY"),
        ("query", shop.ask("GET", "/events?limit=0"), 400, "INVALID_QUERY"),
        ("path", to("GET", "/nowhere"), 404, "PATH_NOT_FOUND"),
        ("path", Request::new(shop.server.public_addr(), "GET", "/nowhere"), 404, "PATH_NOT_FOUND"),
        ("method", to("PUT", "/events/r/queue"), 405, "METHOD_NOT_ALLOWED"),
        ("method", to("DELETE", "/visitors"), 405, "METHOD_NOT_ALLOWED"),
        ("no handshake", to("GET", "/events/r/ws"), 426, "UPGRADE_REQUIRED"),
        ("no title", create(r#"{"event": "x", "currency": "EUR"}"#), 422, "INVALID_BODY"),
        (
            "currency",
            create(r#"{"event": "x", "title": "X", "currency": "euro"}"#),
            422,
            "INVALID_BODY",
        ),
        (
            "capacity",
            create(r#"{"event": "x", "title": "X", "currency": "EUR", "room": {"capacity": 0}}"#),
            422,
            "INVALID_SETTINGS",
        ),
        (
            "taken id",
            create(r#"{"event": "e", "title": "X", "currency": "EUR"}"#),
            409,
            "EVENT_EXISTS",
        ),
    ];
    let before = shop.committed();
    let fields = [
        (create(r#"{"event": "x", "title": "X", "currency": "euro"}"#), json!("currency")),
        (
            create(r#"{"event": "x", "title": "X", "currency": "EUR", "room": {"capacity": 0}}"#),
            json!("room.capacity"),
        ),
        (
            create(
                r#"{"event": "x", "title": "X", "currency": "EUR",
                    "refunds": [{"days_before": 1, "percent": 50}]}"#,
            ),
            json!("refunds"),
        ),
        (hold(r#"{"seats": ["A", "A"]}"#), json!("seats")),
        (shop.ask("GET", "/events?limit=0"), json!("limit")),
        (to("GET", "/nowhere"), json!(null)),
    ];
    for (request, field) in fields {
        let answer = request.send().await.json();
        assert_eq!(answer["field"], field, "{answer}");
    }
    for (what, request, status, code) in cases {
        let answer = request.send().await;
        assert_eq!(answer.problem(), (status, code.into()), "{what}: {answer:?}");
        if status == 405 {
            assert!(answer.header("allow").is_some(), "{answer:?}");
        }
    }
    assert_eq!(shop.committed(), before);
}

#[tokio::test]
async fn a_body_of_unknown_length_is_cut_at_the_limit() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let mut chunked = b"200000\r\n".to_vec();
    chunked.extend(std::iter::repeat_n(b' ', 0x20_0000));
    chunked.extend_from_slice(b"\r\n0\r\n\r\n");
    let request = guest.ask("POST", "/events/e/bookings").key("k");
    let request = request.header("Content-Type", "application/json").chunked(chunked);
    assert_eq!(request.send().await.problem(), (413, "BODY_TOO_LARGE".into()));
}
