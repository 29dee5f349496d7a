//! How often a visitor and an address may ask, and what happens when they ask more often.

use crate::client::{Answer, Request};
use crate::shop::{ADMIN_KEY, Guest, Shop};
use onrush_base::config::limits::PerMin;
use serde_json::json;
use std::time::Instant;

/// Sends the request until it is answered with 429, and says how often it was not.
pub(crate) async fn until_limited(request: &Request, most: u32) -> (u32, Answer) {
    for sent in 0..most {
        let answer = request.clone().send().await;
        if answer.status == 429 {
            return (sent, answer);
        }
    }
    panic!("nothing stops whoever asks {most} times");
}

/// An allowance that was whole, and comes back evenly since, let so many through before it was used up.
pub(crate) fn check_let_through(count: u32, per_min: u32, since: Instant) {
    let back = since.elapsed().as_millis() * u128::from(per_min) / 60_000;
    let most = u128::from(per_min) + back + 1;
    assert!(count >= per_min && u128::from(count) <= most, "{count} of {per_min} to {most}");
}

/// What a limited caller is told; the limit's name is the setting's.
pub(crate) fn check_told(answer: &Answer, limit: &str, per_min: u32) {
    assert_eq!(answer.problem(), (429, "RATE_LIMITED".into()));
    let wait_s: u32 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait_s), "{wait_s}");
    let policy = format!("\"{limit}\";q={per_min};w=60");
    assert_eq!(answer.header("ratelimit-policy"), Some(policy.as_str()));
    let state = format!("\"{limit}\";r=0;t={wait_s}");
    assert_eq!(answer.header("ratelimit"), Some(state.as_str()));
    let detail = answer.text("detail");
    assert!(detail.contains(&format!("limits.{limit}_per_min")), "{detail}");
}

fn some_write(guest: &Guest<'_>) -> Request {
    let booking = format!("e.{}", "0".repeat(32));
    guest.ask("POST", &format!("/bookings/{booking}/extend"))
}

#[tokio::test]
async fn a_visitor_who_writes_without_end_is_told_when_to_come_back() {
    // A minute passes until the next one is allowed.
    let shop = Shop::start_with(|config| config.limits.user_writes_per_min = PerMin::of(1)).await;
    shop.flash_sale("e").await;
    let (eager, other) = (shop.guest().await, shop.guest().await);
    let (sent, limited) = until_limited(&some_write(&eager), 400).await;
    assert!(sent >= 1, "{sent}");
    check_told(&limited, "user_writes", 1);
    let before = shop.committed();
    assert_eq!(eager.hold("e", "k", &json!({"pools": {"ga": 1}})).await.status, 429);
    assert_eq!(shop.committed(), before);
    // Looking is another allowance, and another visitor has one of their own.
    eager.get("/bookings").await.expect(200);
    other.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
}

#[tokio::test]
async fn a_visitor_who_asks_for_the_position_without_end_is_limited_too() {
    let shop = Shop::start_with(|config| config.limits.user_reads_per_min = PerMin::of(20)).await;
    shop.sale_with_room("e", json!({})).await;
    let guest = shop.guest().await;
    guest.join("e").await.expect(202);
    let (sent, limited) = until_limited(&guest.ask("GET", "/events/e/queue"), 400).await;
    assert!(sent >= 20, "{sent}");
    check_told(&limited, "user_reads", 20);
    guest.ask("DELETE", "/events/e/queue?place=00000000-0000-0000-0000-000000000000").send().await;
    assert_eq!(guest.join("e").await.status, 200);
}

#[tokio::test]
async fn joins_of_one_address_are_limited_whoever_joins() {
    let shop = Shop::start_with(|config| {
        config.limits.address_joins_per_min = PerMin::of(3);
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    shop.sale_with_room("e", json!({})).await;
    let mut joined = 0;
    let limited = loop {
        let guest = shop.guest().await;
        let answer = guest.join("e").await;
        if answer.status == 429 {
            break answer;
        }
        answer.expect(202);
        joined += 1;
        assert!(joined < 100, "one address joins without end");
    };
    assert!(joined >= 3, "{joined}");
    check_told(&limited, "address_joins", 3);
    let elsewhere = shop.guest().await;
    let join = elsewhere.ask("POST", "/events/e/queue").header("X-Forwarded-For", "203.0.113.9");
    join.send().await.expect(202);
}

#[tokio::test]
async fn writes_of_one_address_are_limited_and_those_of_a_shops_own_servers_are_not() {
    let shop = Shop::start_with(|config| {
        config.limits.address_writes_per_min = PerMin::of(20);
        config.limits.address_reads_per_min = PerMin::of(20);
        config.limits.exempt_networks = vec!["198.51.100.0/24".parse().unwrap()];
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    shop.flash_sale("e").await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let from = |guest: &Guest<'_>, address| some_write(guest).header("X-Forwarded-For", address);
    let (sent, limited) = until_limited(&from(&ann, "203.0.113.9"), 400).await;
    assert!(sent >= 20, "{sent}");
    check_told(&limited, "address_writes", 20);
    // Who shares the address shares its allowance; nobody else does.
    let (sent, limited) = until_limited(&from(&bob, "203.0.113.9"), 400).await;
    assert!(sent < 20, "{sent}");
    check_told(&limited, "address_writes", 20);
    from(&ann, "203.0.113.10").send().await.expect(404);
    for _ in 0..60 {
        from(&bob, "198.51.100.7").send().await.expect(404);
    }
    let look = ann.ask("GET", "/bookings").header("X-Forwarded-For", "203.0.113.9");
    let (sent, limited) = until_limited(&look, 400).await;
    assert!(sent >= 20, "{sent}");
    check_told(&limited, "address_reads", 20);
    // Prices are worked out for anybody, without a token.
    let price = shop.ask("POST", "/events/e/quote").json(&json!({"pools": {"ga": 1}}));
    let price = price.header("X-Forwarded-For", "203.0.113.11");
    let (sent, limited) = until_limited(&price, 400).await;
    assert!(sent >= 20, "{sent}");
    check_told(&limited, "address_reads", 20);
}

#[tokio::test]
async fn wrong_bearer_keys_are_limited_like_those_at_sign_in() {
    let shop = Shop::start_with(|config| {
        // A minute passes until the next one may be tried.
        config.limits.address_wrong_keys_per_min = PerMin::of(1);
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let from = |address: &str, key: &str| {
        shop.ask("GET", "/admin/feed").bearer(key).header("X-Forwarded-For", address)
    };
    for _ in 0..30 {
        from("203.0.113.9", ADMIN_KEY).send().await.expect(200);
    }
    let wrong = "a key for tests onlY";
    let (sent, limited) = until_limited(&from("203.0.113.9", wrong), 200).await;
    assert!(sent >= 1, "{sent}");
    check_told(&limited, "address_wrong_keys", 1);
    // Sign-in and the scanner's path share the allowance, and so does the rest of an IPv6
    // subscriber's network.
    let sign_in = shop.ask("POST", "/session").header("X-Forwarded-For", "203.0.113.9");
    assert_eq!(sign_in.json(&json!({ "key": wrong })).send().await.status, 429);
    until_limited(&from("2001:db8::1", wrong), 200).await;
    assert_eq!(from("2001:db8::2", ADMIN_KEY).send().await.status, 429);
    // A key that worked from this address before still does: somebody else's tries behind the same
    // one lock nobody out.
    from("203.0.113.9", ADMIN_KEY).send().await.expect(200);
    from("203.0.113.10", ADMIN_KEY).send().await.expect(200);
}

#[tokio::test]
async fn forwarded_addresses_are_read_from_the_right_over_all_header_lines_and_with_ports() {
    let shop = Shop::start_with(|config| {
        config.visitors_per_min = 1;
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let visit = |lines: &[&str]| {
        let mut request = shop.ask("POST", "/visitors");
        for line in lines {
            request = request.header("X-Forwarded-For", line);
        }
        request
    };
    // What the client wrote stands in a line of its own, before the proxy's.
    visit(&["198.51.100.1", "203.0.113.9"]).send().await.expect(201);
    assert_eq!(visit(&["198.51.100.2", "203.0.113.9"]).send().await.status, 429);
    assert_eq!(visit(&["203.0.113.9", "127.0.0.2"]).send().await.status, 429);
    for address in
        ["203.0.113.10:4711", "[2001:db8::1]:4711", "[2001:db8:0:1::1]", "2001:db8:0:2::"]
    {
        visit(&[address]).send().await.expect(201);
        assert_eq!(visit(&[address]).send().await.status, 429, "{address}");
    }
    assert_eq!(visit(&["203.0.113.10"]).send().await.status, 429);
}
