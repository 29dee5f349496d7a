//! Keys with names and scopes: what each opens, and whose name stands in histories.

use crate::channels::{CODE, sale_with_fans};
use crate::client::{Answer, Request};
use crate::limits::{check_let_through, check_told};
use crate::money_admin::until;
use crate::paying::{GOOD_CARD, open_paid_event, use_card};
use crate::shop::{ADMIN_KEY, Shop};
use onrush_base::auth::hex;
use onrush_base::auth::keyring::hash;
use onrush_base::config::keys::{KeySettings, Scope};
use onrush_base::config::limits::PerMin;
use onrush_base::config::{Config, GatewayName};
use serde_json::{Value, json};
use std::time::Instant;
use strum::VariantArray;

/// The key of somebody in these tests.
pub(crate) fn key_of(name: &str) -> String {
    format!("the own key of {name}")
}

pub(crate) fn named(name: &str, scopes: &[Scope]) -> KeySettings {
    KeySettings {
        name: name.into(),
        scopes: scopes.to_vec(),
        sha256: Some(hex(&hash(&key_of(name)))),
        file: None,
        channels: Vec::new(),
    }
}

/// One key for each scope, named after it, and one `all-but-<scope>` without it.
fn one_each(config: &mut Config) {
    for &scope in Scope::VARIANTS {
        let others: Vec<_> = Scope::VARIANTS
            .iter()
            .copied()
            .filter(|it| ![scope, Scope::Admin].contains(it))
            .collect();
        config.keys.push(named(&format!("only-{scope}"), &[scope]));
        config.keys.push(named(&format!("all-but-{scope}"), &others));
    }
}

/// Every operation that needs a key: method, path, scope, as the document says it.
async fn guarded(shop: &Shop) -> Vec<(String, String, String)> {
    let document = Request::new(shop.server.public_addr(), "GET", "/api/openapi.json");
    let document = document.send().await.expect(200).json();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if let Some(scope) = operation["security"][0]["key"][0].as_str() {
                let parts = path.trim_start_matches("/api/v1").split('/');
                let parts: Vec<_> =
                    parts.map(|part| if part.starts_with('{') { "x" } else { part }).collect();
                found.push((method.to_uppercase(), parts.join("/"), scope.to_owned()));
            }
        }
    }
    found
}

/// A request whose body, key and query are of no use to anybody.
async fn ask(shop: &Shop, method: &str, path: &str, name: &str) -> Answer {
    let request = shop.ask(method, path).bearer(&key_of(name)).key("k");
    if method == "GET" { request } else { request.json(&json!({"no": "body"})) }.send().await
}

#[tokio::test]
async fn every_path_of_the_organisers_opens_to_its_scope_and_to_no_other() {
    let shop = Shop::start_with(one_each).await;
    let all = guarded(&shop).await;
    assert!(all.len() >= 60, "{}", all.len());
    let before = shop.committed();
    for (method, path, scope) in &all {
        let refused = ask(&shop, method, path, &format!("all-but-{scope}")).await;
        assert_eq!(refused.problem(), (403, "SCOPE_MISSING".into()), "{method} {path}");
        assert_eq!(refused.json()["scope"], json!(scope), "{method} {path}");
        for name in [format!("only-{scope}"), "only-admin".into()] {
            let answer = ask(&shop, method, path, &name).await;
            assert!(
                ![401, 403, 500].contains(&answer.status),
                "{method} {path} {name}: {answer:?}"
            );
        }
        let nobody = shop.ask(method, path).send().await;
        assert_eq!(nobody.problem(), (401, "TOKEN_MISSING".into()), "{method} {path}");
    }
    assert_eq!(shop.committed(), before);
}

#[tokio::test]
async fn a_browser_that_signed_in_may_do_what_its_key_may() {
    let shop = Shop::start_with(|config| {
        config.keys.push(named("ann", &[Scope::Read, Scope::Sell]));
    })
    .await;
    let sign_in = shop.ask("POST", "/session").json(&json!({"key": key_of("ann")}));
    let signed = sign_in.send().await.expect(200);
    let shown = signed.json();
    assert_eq!((&shown["name"], &shown["scopes"]), (&json!("ann"), &json!(["read", "sell"])));
    let cookie = signed.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let page = |method: &str, path: &str| {
        let request = shop.ask(method, path).header("Cookie", &cookie);
        request.header("X-CSRF-Token", shown["csrf"].as_str().unwrap())
    };
    let event = json!({"event": "e", "title": "T", "currency": "EUR", "room": null});
    page("POST", "/admin/events").json(&event).send().await.expect(201);
    let pool = json!({"pool": "ga", "capacity": 1, "price_minor": 0});
    let refused = page("POST", "/admin/events/e/pools").json(&pool).send().await;
    assert_eq!(refused.problem(), (403, "SCOPE_MISSING".into()));
    assert_eq!(refused.json()["scope"], json!("stock"));
}

#[tokio::test]
async fn nobody_signs_as_another() {
    let shop = Shop::start_with(|config| {
        config.keys.push(named("ann", &[Scope::Stock]));
        config.keys.push(named("bo", &[Scope::Stock]));
    })
    .await;
    shop.flash_sale("e").await;
    let act = async |name: &str, path: &str, body: Value| {
        let request = shop.ask("POST", &format!("/admin/events/e/{path}"));
        request.bearer(&key_of(name)).json(&body).send().await.expect(200);
    };
    let units = |more: Value| {
        let mut body = json!({"pools": {"ga": 1}, "why": "camera"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    act("ann", "block", units(json!({}))).await;
    act("bo", "block", units(json!({"by": "ann"}))).await;
    // Whoever puts it back: what they were blocked for is what counts.
    act("bo", "unblock", units(json!({"by": "ann"}))).await;
    let file = shop.admin("GET", "/events/e/pools/ga").send().await.expect(200).json();
    let steps = file["history"].as_array().unwrap();
    let signed: Vec<_> = steps.iter().filter_map(|step| step.get("by")).collect();
    assert_eq!(signed, [&json!("ann"), &json!("bo"), &json!("bo")]);
    // The old key goes by its name, too.
    shop.organise("POST", "/events/e/unblock", &units(json!({"by": "bo"}))).await;
    let file = shop.admin("GET", "/events/e/pools/ga").send().await.expect(200).json();
    assert_eq!(file["history"].as_array().unwrap().last().unwrap()["by"], json!("admin"));
}

#[tokio::test]
async fn wrong_keys_lock_their_address_out_and_nobody_else() {
    let shop = Shop::start_with(|config| {
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        config.keys.push(named("ann", &[Scope::Read]));
        // A minute passes until the next one may be tried.
        config.limits.address_wrong_keys_per_min = PerMin::of(1);
    })
    .await;
    let from = |address: &str, key: &str| {
        let request = shop.ask("GET", "/admin/feed").header("X-Forwarded-For", address);
        request.bearer(key).send()
    };
    let begun = Instant::now();
    let mut tried = 0;
    let limited = loop {
        let answer = from("203.0.113.9", &format!("a wrong key {tried}")).await;
        if answer.status == 429 {
            break answer;
        }
        assert_eq!(answer.problem(), (401, "TOKEN_INVALID".into()));
        tried += 1;
        assert!(tried < 20, "whoever tries keys is never locked out");
    };
    check_let_through(tried, 1, begun);
    check_told(&limited, "address_wrong_keys", 1);
    // A right one might be the next guess.
    assert_eq!(from("203.0.113.9", &key_of("ann")).await.status, 429);
    from("203.0.113.10", &key_of("ann")).await.expect(200);
    from("203.0.113.10", ADMIN_KEY).await.expect(200);
}

#[tokio::test]
async fn a_service_holds_for_somebody_with_the_channels_of_its_key() {
    let shop = Shop::start_with(|config| {
        let with_channels = |name: &str, channels: &[&str]| {
            let channels = channels.iter().map(|channel| channel.parse().unwrap()).collect();
            KeySettings { channels, ..named(name, &[Scope::Sell]) }
        };
        config.keys.push(with_channels("fan-club", &["fans", "elsewhere"]));
        config.keys.push(with_channels("box-office", &[]));
        config.keys.push(named("door", &[Scope::Door]));
    })
    .await;
    sale_with_fans(&shop).await;
    let guest = shop.guest().await;
    let path = format!("/admin/events/e/visitors/{}/bookings", guest.user);
    let hold = async |name: &str, key: &str, wish: Value| {
        let request = shop.ask("POST", &path).bearer(&key_of(name)).key(key);
        request.json(&wish).send().await
    };
    let wish = || json!({"pools": {"ga": 4}, "seats": ["A-1"]});
    assert_eq!(hold("door", "k", wish()).await.problem(), (403, "SCOPE_MISSING".into()));
    // What is set aside is not for every key.
    let refused = hold("box-office", "k", wish()).await;
    assert_eq!(refused.problem(), (409, "SEAT_UNAVAILABLE".into()));
    let held = hold("fan-club", "k", wish()).await.expect(201).json();
    assert_eq!(hold("fan-club", "k", wish()).await.expect(201).json(), held);
    let other = hold("fan-club", "k", json!({"pools": {"ga": 1}})).await;
    assert_eq!(other.problem().1, "BOOKING_MISMATCH");
    // It is theirs, and counts as theirs: the booking is seen with their own token.
    let path_of = format!("/bookings/{}", held["booking"].as_str().unwrap());
    let seen = guest.get(&path_of).await.expect(200).json();
    assert_eq!((&seen["status"], &seen["lines"]["seats"]), (&json!("held"), &json!(["A-1"])));
    let stranger = shop.guest().await;
    assert_eq!(stranger.get(&path_of).await.problem(), (404, "RESERVATION_NOT_FOUND".into()));
    // Another key with the same Idempotency-Key, and the visitor with it, hold something else.
    let one = || json!({"pools": {"ga": 1}});
    let by_box_office = hold("box-office", "k", one()).await.expect(201).json();
    let own = guest.hold("e", "k", &one()).await.expect(201).json();
    let all = [&held["booking"], &by_box_office["booking"], &own["booking"]];
    assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2], "{all:?}");
    // Codes open what the key does not; wrong ones are as wrong as anybody's.
    let wrong =
        hold("box-office", "c", json!({"pools": {"ga": 1}, "codes": ["guess-guess"]})).await;
    assert_eq!(wrong.problem(), (404, "CHANNEL_CODE_NOT_FOUND".into()));
    hold("box-office", "c", json!({"pools": {"ga": 1}, "codes": [CODE]})).await.expect(201);
    // The record says who did it, and not for whom.
    let rows = shop.admin("GET", "/actions?name=fan-club").send().await.expect(200).json();
    let row = &rows["actions"][0];
    assert_eq!(row["path"], "/api/v1/admin/events/e/visitors/{user}/bookings");
    assert!(!rows.to_string().contains(&guest.user), "{rows}");
}

#[tokio::test]
async fn a_service_jumps_no_queue_and_no_limit() {
    let shop = Shop::start_with(|config| {
        config.keys.push(named("box-office", &[Scope::Sell]));
    })
    .await;
    shop.sale_with_room("e", json!({})).await;
    let guest = shop.guest().await;
    let hold = async |quantity: u32| {
        let path = format!("/admin/events/e/visitors/{}/bookings", guest.user);
        let request = shop.ask("POST", &path).bearer(&key_of("box-office")).key("k");
        request.json(&json!({"pools": {"ga": quantity}})).send().await
    };
    assert_eq!(hold(1).await.problem().1, "NOT_YOUR_TURN");
    shop.organise("PATCH", "/events/e", &json!({"max_per_user": 1})).await;
    guest.join("e").await.expect(202);
    guest.until_active("e").await;
    assert_eq!(hold(2).await.problem().1, "USER_LIMIT_EXCEEDED");
    hold(1).await.expect(201);
}

/// A shop with a key for each of some works, and a booking that Ann Lee has paid for.
pub(crate) async fn shop_with_a_buyer() -> (Shop, String) {
    let keys: [(&str, &[Scope]); 4] = [
        ("screen", &[Scope::Read]),
        ("plan", &[Scope::Read, Scope::Stock, Scope::Door]),
        ("box-office", &[Scope::Read, Scope::Sell]),
        ("accounts", &[Scope::Read, Scope::Money]),
    ];
    let shop = Shop::start_with(|config| {
        config.gateway = GatewayName::Sandbox;
        config.keys.extend(keys.map(|(name, scopes)| named(name, scopes)));
    })
    .await;
    open_paid_event(&shop).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let buyer = json!({"name": "Ann Lee", "email": "ann@example.org", "language": "en"});
    let pay = guest.ask("POST", &format!("/bookings/{booking}/payment")).key("p");
    let payment = pay.json(&json!({"buyer": buyer})).send().await.expect(201);
    use_card(&payment.text("url"), GOOD_CARD).await.expect(200);
    until(&shop, "/bookings?status=confirmed", |found| found["bookings"][0]["buyer"] == buyer)
        .await;
    (shop, booking)
}

#[tokio::test]
async fn who_only_reads_is_not_told_who_buys_and_finds_nobody() {
    let (shop, booking) = shop_with_a_buyer().await;
    let search = async |name: &str, query: &str| -> Vec<Value> {
        let request = shop.ask("GET", &format!("/admin/bookings?{query}"));
        let found = request.bearer(&key_of(name)).send().await.expect(200).json();
        found["bookings"].as_array().unwrap().clone()
    };
    let buyer = json!({"name": "Ann Lee", "email": "ann@example.org", "language": "en"});
    let of_buyer = ["text=ann%40example.org", "text=ANN%40EXAMPLE", "text=nn%20l"];
    for name in ["screen", "plan"] {
        for query in ["status=confirmed", &format!("text={booking}"), "text=E."] {
            let found = search(name, query).await;
            assert_eq!(found[0]["booking"], json!(booking), "{name} {query}");
            assert_eq!(found[0].get("buyer"), None, "{name} {query}");
        }
        for query in of_buyer {
            let found = search(name, query).await;
            assert!(found.is_empty(), "{name} {query}: {found:?}");
        }
    }
    for name in ["box-office", "accounts"] {
        for query in ["status=confirmed", &format!("text={booking}")].into_iter().chain(of_buyer) {
            let found = search(name, query).await;
            assert_eq!(found[0]["booking"], json!(booking), "{name} {query}");
            assert_eq!(found[0]["buyer"], buyer, "{name} {query}");
        }
    }
}

/// Whatever is added to what may be read comes by here.
#[tokio::test]
async fn nothing_that_may_be_read_names_a_buyer() {
    let (shop, booking) = shop_with_a_buyer().await;
    let document = Request::new(shop.server.public_addr(), "GET", "/api/openapi.json");
    let document = document.send().await.expect(200).json();
    let mut told = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        // The stream does not end; it counts, and knows no bookings.
        if item["get"]["security"][0]["key"][0] != "read" || path.ends_with("/live") {
            continue;
        }
        let path = path.trim_start_matches("/api/v1").replace("{booking}", &booking);
        let path = path.replace("{event}", "e").replace("{pool}", "ga").replace("{seat}", "A-1");
        let answer = shop.ask("GET", &path).bearer(&key_of("screen")).send().await;
        let text = String::from_utf8(answer.body).unwrap();
        assert!(!text.contains("Ann Lee") && !text.contains("example.org"), "{path}: {text}");
        told += usize::from(text.contains(&booking));
    }
    assert!(told >= 5, "{told}: bookings, feed, payments, sagas and one saga know it");
}
