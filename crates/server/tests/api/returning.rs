//! Coming back: tokens that are renewed, and codes that carry a visitor to another device.

use crate::client::Answer;
use crate::limits::{check_let_through, until_limited};
use crate::shop::{Guest, Shop};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use onrush_base::config::{Secret, ShopTokens};
use onrush_store::embedded::ManualClock;
use serde_json::{Value, json};
use sha2::Sha256;
use std::time::{Duration, Instant};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// A shop whose guest tokens live a day.
async fn shop() -> Shop {
    Shop::start_with(|config| config.guest_token_ttl_s = 86_400).await
}

impl Guest<'_> {
    async fn renew(&self) -> Answer {
        self.ask("POST", "/visitors/renew").send().await
    }

    /// The same visitor with the token of a renewal, which must be given.
    async fn renewed(&self) -> Self {
        let answer = self.renew().await.expect(200);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.text("user"), self.user);
        Guest { shop: self.shop, token: answer.text("token"), user: self.user.clone() }
    }

    async fn is_dead(&self) {
        assert_eq!(self.get("/bookings").await.problem(), (401, "TOKEN_EXPIRED".into()));
    }

    async fn book(&self, event: &str, key: &str) -> String {
        let held = self.hold(event, key, &json!({"pools": {"ga": 1}})).await.expect(201);
        let booking = held.text("booking");
        self.ask("POST", &format!("/bookings/{booking}/confirm")).send().await.expect(200);
        booking
    }

    async fn code(&self) -> String {
        let answer = self.ask("POST", "/visitors/carry").send().await.expect(201);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        answer.text("code")
    }
}

fn now_ms(clock: &ManualClock) -> i64 {
    clock.now().0
}

async fn carried(shop: &Shop, code: &str) -> Answer {
    shop.ask("POST", "/visitors/carried").json(&json!({ "code": code })).send().await
}

#[tokio::test]
async fn a_prequeue_place_of_three_days_ago_is_served() {
    let shop = shop().await;
    let body = json!({"event": "e", "title": "Rush", "currency": "EUR", "room": {"capacity": 1}});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("e", "ga", 10, 0).await;
    shop.organise_plainly("/events/e/prequeue").await;
    let guest = shop.guest().await;
    let joined = guest.join("e").await.expect(202).json();
    let other = shop.guest().await;
    other.join("e").await.expect(202);

    shop.clock.advance_ms(3 * DAY_MS);
    guest.is_dead().await;
    let back = guest.renewed().await;
    assert_eq!(back.place("e").await["place"], joined["place"]);
    shop.organise_plainly("/events/e/open").await;
    assert_eq!(back.until_active("e").await["place"], joined["place"]);
    back.book("e", "k").await;
}

#[tokio::test]
async fn a_token_in_use_is_renewed_and_the_old_one_keeps_its_own_end() {
    let shop = shop().await;
    let first = shop.ask("POST", "/visitors").send().await.expect(201);
    assert_eq!(first.header("cache-control"), Some("no-store"));
    let born = now_ms(&shop.clock) / 1_000 * 1_000;
    assert_eq!(first.json()["expires_at"], born + DAY_MS);
    assert_eq!(first.json()["renew_at"], born + DAY_MS / 2);
    let guest = Guest { shop: &shop, token: first.text("token"), user: first.text("user") };
    // Nobody who owns nothing loses anything while they are here, either.
    shop.clock.advance_ms(DAY_MS - 1_000);
    let renewed = guest.renew().await.expect(200).json();
    let now = now_ms(&shop.clock) / 1_000 * 1_000;
    assert_eq!(
        (&renewed["user"], &renewed["expires_at"]),
        (&json!(guest.user), &json!(now + DAY_MS))
    );
    guest.get("/bookings").await.expect(200);
    shop.clock.advance_ms(1_000);
    guest.is_dead().await;
    let token = renewed["token"].as_str().unwrap();
    shop.ask("GET", "/bookings").bearer(token).send().await.expect(200);
}

#[tokio::test]
async fn a_dead_token_is_renewed_exactly_as_long_as_its_visitor_owns_something() {
    let shop = Shop::start_with(|config| config.guest_token_ttl_s = 60).await;
    shop.flash_sale("e").await;
    shop.sale_with_room("room", json!({"capacity": 1})).await;
    let starts_at = now_ms(&shop.clock) + 2 * DAY_MS;
    let dated = json!({"event": "dated", "title": "T", "currency": "EUR", "room": null,
        "starts_at": starts_at});
    shop.organise("POST", "/events", &dated).await;
    shop.add_pool("dated", "ga", 10, 0).await;
    shop.organise_plainly("/events/dated/open").await;

    let nobody = shop.guest().await;
    let held = shop.guest().await;
    held.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let confirmed = shop.guest().await;
    confirmed.book("e", "k").await;
    let visitor_of_dated = shop.guest().await;
    visitor_of_dated.book("dated", "k").await;
    let waiting = shop.guest().await;
    waiting.join("room").await.expect(202);
    let claimer = shop.guest().await;
    let claim = claimer.ask("POST", "/events/e/pools/ga/claims").key("k");
    let claim = claim.json(&json!({"quantity": 1})).send().await.expect(201).text("claim");
    let claimed = |guest: &Guest<'_>, claim: &str| {
        guest.ask("POST", "/visitors/renew").json(&json!({ "claim": claim })).send()
    };

    let refused = (401, "TOKEN_EXPIRED".to_owned());
    shop.clock.advance_ms(60_000);
    for guest in [&held, &confirmed, &visitor_of_dated, &waiting] {
        guest.is_dead().await;
        guest.renewed().await;
    }
    assert_eq!(nobody.renew().await.problem(), refused);
    // There is no list of claims, so their owner names one.
    assert_eq!(claimer.renew().await.problem(), refused);
    claimed(&claimer, &claim).await.expect(200);
    assert_eq!(claimed(&nobody, &claim).await.problem(), refused);

    // The hold has run out and is forgotten a day later; so has the place.
    shop.clock.advance_ms(HOUR_MS);
    held.renewed().await;
    shop.clock.advance_ms(DAY_MS);
    for guest in [&held, &waiting] {
        assert_eq!(guest.renew().await.problem(), refused);
    }
    // A month after an event its visitors are let go; where nobody said when it is, never.
    shop.clock.advance_ms(starts_at + 30 * DAY_MS - now_ms(&shop.clock) - 1);
    visitor_of_dated.renewed().await;
    shop.clock.advance_ms(1);
    assert_eq!(visitor_of_dated.renew().await.problem(), refused);
    shop.clock.advance_ms(400 * DAY_MS);
    confirmed.renewed().await;
    claimed(&claimer, &claim).await.expect(200);
}

/// A token of the shop that is good for a long time.
fn shop_token(secret: &str) -> String {
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = json!({"iss": "shop", "sub": "42", "aud": "onrush", "exp": 9_999_999_999_i64});
    let signed = format!("{}.{}", part(&json!({"alg": "HS256"})), part(&claims));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(signed.as_bytes());
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

#[tokio::test]
async fn only_genuine_guest_tokens_are_renewed_and_carried() {
    let secret = "a shared secret of at least 32 bytes";
    let shop = Shop::start_with(|config| {
        config.shop_tokens =
            Some(ShopTokens::shared(Secret::from(secret.to_owned()), "shop", "onrush"));
    })
    .await;
    let guest = shop.guest().await;
    let another = guest.token.replace(&guest.user, "00000000-0000-4000-8000-000000000000");
    for path in ["/visitors/renew", "/visitors/carry"] {
        let ask = |token: &str| shop.ask("POST", path).bearer(token).send();
        assert_eq!(shop.ask("POST", path).send().await.problem(), (401, "TOKEN_MISSING".into()));
        for forged in ["x", "g1.a.b.c", &another] {
            assert_eq!(ask(forged).await.problem(), (401, "TOKEN_INVALID".into()), "{forged}");
        }
        // The shop says who its customers are, and for how long.
        assert_eq!(ask(&shop_token(secret)).await.problem(), (403, "NOT_A_GUEST".into()));
    }
    shop.ask("GET", "/bookings").bearer(&shop_token(secret)).send().await.expect(200);
}

#[tokio::test]
async fn guests_who_were_switched_off_keep_what_they_own_and_begin_nothing() {
    let shop = shop().await;
    shop.flash_sale("e").await;
    shop.sale_with_room("room", json!({})).await;
    let (owner, other) = (shop.guest().await, shop.guest().await);
    let held = owner.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    let [owner, other] = [owner, other].map(|guest| (guest.token, guest.user));
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    let shop = Shop::start_in(dir, clock, |config| {
        config.guest_token_ttl_s = 86_400;
        config.guest_tokens = false;
    })
    .await;
    let [owner, other] = [owner, other].map(|(token, user)| Guest { shop: &shop, token, user });

    let off = (403, "GUESTS_DISABLED".to_owned());
    assert_eq!(other.renew().await.problem(), off);
    assert_eq!(other.ask("POST", "/visitors/carry").send().await.problem(), off);
    for guest in [&owner, &other] {
        let join = guest.ask("POST", "/events/room/queue").key("q").send().await;
        assert_eq!(join.problem(), off);
        let hold = guest.hold("e", "more", &json!({"pools": {"ga": 1}})).await;
        assert_eq!(hold.problem(), off);
        let claim = guest.ask("POST", "/events/e/pools/ga/claims").key("c");
        assert_eq!(claim.json(&json!({"quantity": 1})).send().await.problem(), off);
    }
    let owner = owner.renewed().await;
    owner.code().await;
    owner.ask("POST", &format!("/bookings/{booking}/confirm")).send().await.expect(200);
    owner.get(&format!("/bookings/{booking}")).await.expect(200);
    // Whose token is over is told what they would be told elsewhere.
    shop.clock.advance_ms(2 * DAY_MS);
    assert_eq!(other.renew().await.problem(), (401, "TOKEN_EXPIRED".into()));
}

#[tokio::test]
async fn dead_tokens_are_brought_back_so_many_a_minute_for_each_address() {
    let shop = Shop::start_with(|config| {
        config.guest_token_ttl_s = 60;
        config.visitors_per_min = 2;
    })
    .await;
    let guest = shop.guest().await;
    guest.renewed().await;
    guest.renewed().await;
    shop.clock.advance_ms(60_000);
    assert_eq!(guest.renew().await.problem(), (401, "TOKEN_EXPIRED".into()));
    assert_eq!(guest.renew().await.problem(), (429, "RATE_LIMITED".into()));
}

#[tokio::test]
async fn a_code_carries_place_and_bookings_to_another_device_once() {
    let shop = shop().await;
    shop.flash_sale("e").await;
    shop.sale_with_room("room", json!({"capacity": 1})).await;
    let guest = shop.guest().await;
    let booking = guest.book("e", "k").await;
    let place = guest.join("room").await.expect(202).json()["place"].clone();
    let code = guest.code().await;
    let groups: Vec<_> = code.split('-').collect();
    assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), [4, 4, 4], "{code}");

    // As somebody types it who reads it from a screen.
    let typed = format!(" {} ", code.to_lowercase().replace('-', " ").replace('0', "o"));
    let answer = carried(&shop, &typed).await.expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.text("user"), guest.user);
    let there = Guest { shop: &shop, token: answer.text("token"), user: guest.user.clone() };
    assert_eq!(there.place("room").await["place"], place);
    there.get(&format!("/bookings/{booking}/tickets")).await.expect(200);
    // The first device stays who it was.
    guest.get(&format!("/bookings/{booking}")).await.expect(200);
    assert_eq!(carried(&shop, &code).await.problem(), (404, "CARRY_CODE_NOT_FOUND".into()));
}

#[tokio::test]
async fn a_code_is_over_after_ten_minutes_and_when_a_newer_one_is_made() {
    let shop = shop().await;
    let guest = shop.guest().await;
    let answer = guest.ask("POST", "/visitors/carry").send().await.expect(201);
    assert_eq!(answer.json()["expires_at"], now_ms(&shop.clock) + 600_000);
    let (older, newer) = (answer.text("code"), guest.code().await);
    assert_eq!(carried(&shop, &older).await.problem(), (404, "CARRY_CODE_NOT_FOUND".into()));
    shop.clock.advance_ms(600_000);
    assert_eq!(carried(&shop, &newer).await.problem(), (404, "CARRY_CODE_NOT_FOUND".into()));
    let last = guest.code().await;
    shop.clock.advance_ms(599_999);
    carried(&shop, &last).await.expect(200);
}

#[tokio::test]
async fn guessing_codes_is_limited_per_address() {
    let shop = shop().await;
    let guest = shop.guest().await;
    let code = guest.code().await;
    let begun = Instant::now();
    for wrong in ["", "x", "0000-0000-0000", "ÄÄÄÄ-ÄÄÄÄ-ÄÄÄÄ", &"0".repeat(1_000)] {
        assert_eq!(carried(&shop, wrong).await.problem(), (404, "CARRY_CODE_NOT_FOUND".into()));
    }
    carried(&shop, &code).await.expect(200);
    for _ in 5..10 {
        assert_eq!(carried(&shop, "Z").await.problem(), (404, "CARRY_CODE_NOT_FOUND".into()));
    }
    let guess = shop.ask("POST", "/visitors/carried").json(&json!({"code": "Z"}));
    let mut tried = 10;
    // A right one is refused as well, unless a try has come back meanwhile.
    let refused = loop {
        let code = guest.code().await;
        let (more, _) = until_limited(&guess, 200).await;
        tried += more;
        check_let_through(tried, 10, begun);
        let answer = carried(&shop, &code).await;
        if answer.status != 200 {
            break answer;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "a right code is never refused");
    };
    assert_eq!(refused.problem(), (429, "RATE_LIMITED".into()));
}

#[tokio::test]
async fn of_many_devices_that_take_a_code_at_once_one_gets_it() {
    let shop = Shop::start_with(|config| {
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let code = shop.guest().await.code().await;
    let take = |device: u8| {
        let address = format!("203.0.113.{device}");
        let request = shop.ask("POST", "/visitors/carried").header("X-Forwarded-For", &address);
        tokio::spawn(request.json(&json!({ "code": code })).send())
    };
    let asked: Vec<_> = (1..=20).map(take).collect();
    let mut taken = 0;
    for answer in asked {
        match answer.await.unwrap() {
            answer if answer.status == 200 => taken += 1,
            answer => assert_eq!(answer.problem(), (404, "CARRY_CODE_NOT_FOUND".into())),
        }
    }
    assert_eq!(taken, 1);
}
