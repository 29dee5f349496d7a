//! What every request must say, and what every answer says beside itself.

use crate::client::Request;
use crate::shop::Shop;
use crate::steps::with_stripe;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn nothing_is_kept_or_guessed_at_on_its_way_unless_it_says_so() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.json()["booking"].as_str().unwrap().to_owned();
    let get = |path: &str| Request::new(shop.server.public_addr(), "GET", path).send();
    let personal = guest.ask("GET", &format!("/bookings/{booking}")).send().await.expect(200);
    let refused = get(&format!("/api/v1/bookings/{booking}")).await.expect(401);
    let nowhere = get("/api/v1/nowhere").await.expect(404);
    for answer in [&held, &personal, &refused, &nowhere] {
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer:?}");
        let policy = answer.header("content-security-policy");
        assert_eq!(policy, Some("frame-ancestors 'none'"), "{answer:?}");
        assert_eq!(answer.header("strict-transport-security"), None, "it is not https");
    }
    let pace = get("/api/v1/events/e/pace").await.expect(200);
    assert_eq!(
        pace.header("cache-control"),
        Some("max-age=1"),
        "whoever says more is not overruled"
    );
}

#[tokio::test]
async fn the_page_of_the_api_is_in_no_frame_and_runs_nothing_of_others() {
    let shop = Shop::start().await;
    let page = Request::new(shop.server.public_addr(), "GET", "/docs/").send().await.expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("script-src 'self';"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
}

#[tokio::test]
async fn pages_let_stripes_form_in_where_stripe_takes_the_money() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("index.html"), "<!doctype html>").unwrap();
    for is_stripe in [false, true] {
        let shop = Shop::start_with(|config| {
            config.pages = Some(dir.path().to_owned());
            if is_stripe {
                with_stripe(config);
            }
        })
        .await;
        let page = Request::new(shop.server.public_addr(), "GET", "/bookings/e.1").send().await;
        let page = page.expect(200);
        let policy = page.header("content-security-policy").unwrap();
        let sources = |of: &str| {
            let mut all = policy.split(';').map(|part| part.trim().split(' '));
            let found = all.find_map(|mut words| (words.next() == Some(of)).then_some(words));
            found.map(Iterator::collect::<Vec<_>>).unwrap_or_default()
        };
        let (script, all) = ("https://js.stripe.com", "https://*.js.stripe.com");
        let expected = if is_stripe {
            [
                vec!["'self'", script, all],
                vec!["'self'", "https://api.stripe.com"],
                vec![script, all, "https://hooks.stripe.com"],
            ]
        } else {
            [vec!["'self'"], vec!["'self'"], vec![]]
        };
        assert_eq!(["script-src", "connect-src", "frame-src"].map(sources), expected, "{policy}");
        let opener = if is_stripe { "same-origin-allow-popups" } else { "same-origin" };
        assert_eq!(page.header("cross-origin-opener-policy"), Some(opener));
    }
}

#[tokio::test]
async fn browsers_keep_to_https_where_that_is_the_address() {
    let shop = Shop::start_with(|config| {
        config.public_url = Some("https://tickets.example".to_owned());
    })
    .await;
    for path in ["/api/v1/events", "/docs/", "/healthz", "/"] {
        let answer = Request::new(shop.server.public_addr(), "GET", path).send().await;
        let told = answer.header("strict-transport-security");
        assert_eq!(told, Some("max-age=31536000"), "{path}");
    }
}

#[tokio::test]
async fn a_request_has_one_host() {
    let shop = Shop::start().await;
    let status = async |head: &str| {
        let mut stream = TcpStream::connect(shop.server.public_addr()).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let code = answer.split("\"code\":\"").nth(1).and_then(|rest| rest.split('"').next());
        (answer[9..12].to_owned(), code.unwrap_or_default().to_owned())
    };
    let refused = ("400".to_owned(), "INVALID_HOST".to_owned());
    let path = "GET /api/v1/events";
    assert_eq!(status(&format!("{path} HTTP/1.1\r\nConnection: close\r\n\r\n")).await, refused);
    let two = format!("{path} HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n");
    assert_eq!(status(&two).await, refused);
    let one = format!("{path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(status(&one).await.0, "200");
    let old = format!("{path} HTTP/1.0\r\n\r\n");
    assert_eq!(status(&old).await.0, "200", "HTTP/1.0 knew no hosts");
    // Nor is a path read that is not ASCII, at whatever letter it is cut off to be written down.
    let refused = ("400".to_owned(), "INVALID_ID".to_owned());
    for before in ["", "e"] {
        let path = format!("/api/v1/admin/receipts/{before}{}", "\u{e9}".repeat(300));
        let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert_eq!(status(&head).await, refused, "{before}");
    }
}

#[tokio::test]
async fn names_read_as_they_are_written() {
    let shop = Shop::start().await;
    let event = json!({"event": "e", "title": "a\u{202e}b", "currency": "EUR", "room": null});
    let refused = shop.admin("POST", "/events").json(&event).send().await;
    assert_eq!(refused.problem(), (422, "INVALID_SETTINGS".into()));
    assert_eq!(refused.json()["field"], "title");
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let path = format!("/bookings/{}/buyer", held.json()["booking"].as_str().unwrap());
    let buyer = json!({"name": "Ann\u{2067}", "email": "ann@example.org"});
    let refused = guest.ask("PUT", &path).json(&buyer).send().await;
    assert_eq!(refused.problem(), (422, "INVALID_BODY".into()));
    assert_eq!(refused.json()["field"], "name");
}
