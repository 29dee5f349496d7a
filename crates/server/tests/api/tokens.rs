//! Tokens, passes, tickets, limits.

use crate::client::Events;
use crate::limits::{check_let_through, until_limited};
use crate::sandboxed::now_s;
use crate::shop::{ADMIN_KEY, Shop};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, VerifyingKey};
use hmac::{Hmac, KeyInit, Mac};
use onrush_base::config::{JwksSource, ShopTokens};
use onrush_core::Time;
use serde_json::{Value, json};
use sha2::Sha256;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

#[tokio::test]
async fn missing_forged_and_expired_tokens_are_told_apart_and_change_nothing() {
    let shop = Shop::start_with(|config| config.guest_token_ttl_s = 1).await;
    shop.sale_with_room("e", json!({})).await;
    let before = shop.committed();
    let guest = shop.guest().await;
    let join = || shop.ask("POST", "/events/e/queue");
    let missing = join().send().await;
    assert_eq!(missing.problem(), (401, "TOKEN_MISSING".into()));
    assert_eq!(missing.header("www-authenticate"), Some("Bearer"));
    let other_user = guest.token.replace(&guest.user, "00000000-0000-4000-8000-000000000000");
    let tokens = ["", "x", "g1.a.b.c", &other_user, ADMIN_KEY, &format!("{}x", guest.token)];
    for token in tokens {
        let answer = join().bearer(token).send().await;
        assert_eq!(answer.problem(), (401, "TOKEN_INVALID".into()), "{token}");
    }
    let basic = join().header("Authorization", "Basic Zm9vOmJhcg==").send().await;
    assert_eq!(basic.problem(), (401, "TOKEN_INVALID".into()));
    shop.clock.advance_ms(1_000);
    let old = guest.get("/events/e/queue").await;
    assert_eq!(old.problem(), (401, "TOKEN_EXPIRED".into()));
    assert_eq!(shop.committed(), before);
}

#[tokio::test]
async fn guest_tokens_can_be_switched_off_and_are_limited_per_address() {
    let shop = Shop::start_with(|config| config.guest_tokens = false).await;
    let refused = shop.ask("POST", "/visitors").send().await;
    assert_eq!(refused.problem(), (403, "GUESTS_DISABLED".into()));

    let shop = Shop::start_with(|config| {
        config.visitors_per_min = 3;
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let (visit, begun) = (shop.ask("POST", "/visitors"), Instant::now());
    for _ in 0..3 {
        visit.clone().send().await.expect(201);
    }
    let (more, limited) = until_limited(&visit, 200).await;
    check_let_through(3 + more, 3, begun);
    assert_eq!(limited.problem(), (429, "RATE_LIMITED".into()));
    // Behind the proxy stands somebody else.
    let other = shop.ask("POST", "/visitors").header("X-Forwarded-For", "203.0.113.9");
    other.send().await.expect(201);
}

/// A JWT as a shop would sign it.
pub(crate) fn shop_token(secret: &str, claims: &Value) -> String {
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&json!({"alg": "HS256"})), part(claims));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(signed.as_bytes());
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

#[tokio::test]
async fn a_shop_token_that_lacks_a_claim_is_told_which() {
    const SECRET: &str = "a shared secret of at least 32 bytes";
    let shop = Shop::start_with(|config| {
        config.shop_tokens =
            Some(ShopTokens::shared(SECRET.to_owned().into(), "https://shop.example", "onrush"));
    })
    .await;
    let whole = json!({"sub": "42", "iss": "https://shop.example", "aud": "onrush",
        "exp": 4_000_000_000_u64});
    let ask =
        |claims: &Value| shop.ask("GET", "/bookings").bearer(&shop_token(SECRET, claims)).send();
    ask(&whole).await.expect(200);
    for name in ["sub", "iss", "aud", "exp"] {
        let mut lacking = whole.clone();
        lacking.as_object_mut().unwrap().remove(name);
        let answer = ask(&lacking).await;
        assert_eq!(answer.problem(), (401, "TOKEN_INVALID".into()));
        assert!(answer.text("detail").contains(&format!("lacks {name}")), "{answer:?}");
    }
    let mut other = whole.clone();
    other["aud"] = json!("another");
    assert!(ask(&other).await.text("detail").contains("shop_tokens.audience"));
    // Whoever cannot sign is told nothing of what should be in it.
    let forged = shop
        .ask("GET", "/bookings")
        .bearer(&shop_token("another secret of 32 bytes, or so", &json!({})));
    let forged = forged.send().await;
    assert_eq!(forged.problem(), (401, "TOKEN_INVALID".into()));
    assert!(!forged.text("detail").contains("lacks"));
}

#[tokio::test]
async fn a_shop_token_goes_by_the_systems_clock_whatever_the_engine_s_shows() {
    const SECRET: &str = "a shared secret of at least 32 bytes";
    let shop = Shop::start_with(|config| {
        config.shop_tokens =
            Some(ShopTokens::shared(SECRET.to_owned().into(), "https://shop.example", "onrush"));
    })
    .await;
    let ask = |times: [(&str, i64); 2]| {
        let mut claims = json!({"sub": "42", "iss": "https://shop.example", "aud": "onrush"});
        for (name, time_s) in times {
            claims[name] = json!(time_s);
        }
        shop.ask("GET", "/bookings").bearer(&shop_token(SECRET, &claims)).send()
    };
    // A clock that was an hour ahead was corrected: the engine goes on from where it is.
    shop.clock.advance_ms(3_600_000);
    ask([("exp", now_s() + 300), ("nbf", now_s() - 300)]).await.expect(200);
    let old = ask([("exp", now_s() - 1), ("nbf", now_s() - 300)]).await;
    assert_eq!(old.problem(), (401, "TOKEN_EXPIRED".into()));
    // It lags behind a clock that was set forward.
    shop.clock.set(Time((now_s() - 60) * 1_000));
    ask([("exp", now_s() + 300), ("nbf", now_s())]).await.expect(200);
    // The shop's own clock may be a minute ahead.
    ask([("exp", now_s() + 300), ("nbf", now_s() + 55)]).await.expect(200);
    let early = ask([("exp", now_s() + 300), ("nbf", now_s() + 120)]).await;
    assert_eq!(early.problem(), (401, "TOKEN_INVALID".into()));
}

#[tokio::test]
async fn a_shop_token_by_a_published_key_is_a_visitors() {
    use ed25519_dalek::{Signer, SigningKey};
    let key = SigningKey::from_bytes(&[7; 32]);
    let x = BASE64_URL_SAFE_NO_PAD.encode(key.verifying_key().as_bytes());
    let keys = tempfile::tempdir().unwrap();
    let file = keys.path().join("jwks.json");
    let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "one", "x": x}]});
    std::fs::write(&file, set.to_string()).unwrap();
    let shop = Shop::start_with(|config| {
        let secret = "a shared secret of at least 32 bytes".to_owned().into();
        let mut tokens = ShopTokens::shared(secret, "https://shop.example", "onrush");
        (tokens.secret, tokens.jwks) = (None, Some(JwksSource::File(file)));
        config.shop_tokens = Some(tokens);
    })
    .await;
    shop.flash_sale("e").await;
    let claims = json!({"iss": "https://shop.example", "sub": "42", "aud": "onrush",
        "exp": 4_000_000_000_i64});
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let token = |alg: &str| {
        let signed = format!("{}.{}", part(&json!({"alg": alg, "kid": "one"})), part(&claims));
        let signature = key.sign(signed.as_bytes()).to_bytes();
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    };
    let hold = |token: String| {
        let hold = shop.ask("POST", "/events/e/bookings").bearer(&token).key("k");
        hold.json(&json!({"pools": {"ga": 1}})).send()
    };
    hold(token("EdDSA")).await.expect(201);
    for alg in ["none", "HS256", "RS256"] {
        assert_eq!(hold(token(alg)).await.problem(), (401, "TOKEN_INVALID".into()), "{alg}");
    }
    let shared = shop_token("a shared secret of at least 32 bytes", &claims);
    assert_eq!(hold(shared).await.problem(), (401, "TOKEN_INVALID".into()));
    // Guests are as before.
    shop.guest().await.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
}

#[tokio::test]
async fn a_shop_token_whose_key_nobody_could_ever_look_up_is_to_come_again() {
    let shop = Shop::start_with(|config| {
        let secret = "a shared secret of at least 32 bytes".to_owned().into();
        let mut tokens = ShopTokens::shared(secret, "https://shop.example", "onrush");
        let nowhere = config.data.join("nowhere.json");
        (tokens.secret, tokens.jwks) = (None, Some(JwksSource::File(nowhere)));
        config.shop_tokens = Some(tokens);
    })
    .await;
    let ask = |alg: &str| {
        let header = json!({"alg": alg, "kid": "one"}).to_string();
        let token = format!("{}.e30.AAAA", BASE64_URL_SAFE_NO_PAD.encode(header));
        shop.ask("GET", "/bookings").bearer(&token).send()
    };
    let answer = ask("EdDSA").await;
    assert_eq!(answer.problem(), (503, "SHOP_KEYS_UNAVAILABLE".into()));
    assert_eq!(answer.header("retry-after"), Some("10"));
    assert_eq!(ask("none").await.problem(), (401, "TOKEN_INVALID".into()));
    shop.guest().await.get("/bookings").await.expect(200);
}

#[tokio::test]
async fn only_the_admin_key_opens_the_admin_paths() {
    let shop = Shop::start().await;
    let guest = shop.guest().await;
    let feed = |token: &str| shop.ask("GET", "/admin/feed").bearer(token).send();
    assert_eq!(
        shop.ask("GET", "/admin/feed").send().await.problem(),
        (401, "TOKEN_MISSING".into())
    );
    assert_eq!(feed(&guest.token).await.problem(), (401, "TOKEN_INVALID".into()));
    assert_eq!(feed("a key for tests onlY").await.problem(), (401, "TOKEN_INVALID".into()));
    feed(ADMIN_KEY).await.expect(200);
}

#[tokio::test]
async fn a_generated_admin_key_is_shown_once_and_works_after_a_restart() {
    let shop = Shop::start_with(|config| config.admin_key = None).await;
    let key = shop.server.admin_key().unwrap().to_owned();
    let (dir, clock) = (shop.dir, shop.clock);
    shop.server.shutdown().await;
    let shop = Shop::start_in(dir, clock, |config| config.admin_key = None).await;
    assert_eq!(shop.server.admin_key(), None);
    shop.ask("GET", "/admin/feed").bearer(&key).send().await.expect(200);
}

#[tokio::test]
async fn secret_files_are_their_owners_alone() {
    let shop = Shop::start().await;
    let draw = json!({"event": "d", "title": "D", "currency": "EUR", "room": {"order": "draw"}});
    shop.organise("POST", "/events", &draw).await;
    let keys = shop.dir.path().join("keys");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&keys), 0o700);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&keys).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), 0o600, "{entry:?}");
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert!(names.iter().any(|name| name == "seed-d"), "{names:?}");
    assert!(names.iter().all(|name| !name.ends_with(".tmp")), "{names:?}");
}

fn decoded(part: &str) -> Value {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[tokio::test]
async fn a_pass_verifies_with_the_published_key_and_only_for_its_event_and_user() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({})).await;
    let guest = shop.guest().await;
    guest.join("e").await.expect(202);
    let place = guest.until_active("e").await;
    let pass = place["pass"].as_str().unwrap();
    let [header, claims, signature]: [&str; 3] =
        pass.split('.').collect::<Vec<_>>().try_into().unwrap();

    let keys = shop.ask("GET", "/keys").send().await.expect(200).json();
    let key = keys["keys"].as_array().unwrap().last().unwrap();
    assert_eq!(decoded(header), json!({"alg": "EdDSA", "kid": key["kid"], "typ": "JWT"}));
    let public = BASE64_URL_SAFE_NO_PAD.decode(key["x"].as_str().unwrap()).unwrap();
    let public = VerifyingKey::from_bytes(&public.try_into().unwrap()).unwrap();
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    let signature = Signature::from_slice(&signature).unwrap();
    public.verify_strict(format!("{header}.{claims}").as_bytes(), &signature).unwrap();
    public.verify_strict(format!("{header}.{claims}x").as_bytes(), &signature).unwrap_err();

    let claims = decoded(claims);
    assert_eq!(claims["aud"], "e");
    assert_eq!(claims["sub"], guest.user);
    assert_eq!(claims["place"], place["place"]);
    let life_s = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
    assert!((1..=120).contains(&life_s), "{claims}");
    assert!(claims["exp"].as_i64().unwrap() * 1_000 <= place["until"].as_i64().unwrap());
}

#[tokio::test]
async fn a_stream_ticket_opens_one_stream() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({})).await;
    let guest = shop.guest().await;
    let ticket = guest.ask("POST", "/stream-tickets").send().await.expect(201).text("ticket");
    let path = format!("/events/e/stream?ticket={ticket}");
    let mut events = Events::open(shop.ask("GET", &path)).await;
    assert_eq!(events.next().await.unwrap(), json!({"type": "phase", "phase": "open"}));
    let again = shop.ask("GET", &path).send().await;
    assert_eq!(again.problem(), (401, "TICKET_INVALID".into()));
    let none = shop.ask("POST", "/stream-tickets").send().await;
    assert_eq!(none.problem(), (401, "TOKEN_MISSING".into()));
}

#[tokio::test]
async fn pages_of_other_origins_may_not_open_streams() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({})).await;
    let guest = shop.guest().await;
    let from = |origin: &str| guest.ask("GET", "/events/e/stream").header("Origin", origin);
    let refused = from("https://evil.example").send().await;
    assert_eq!(refused.problem(), (403, "ORIGIN_REFUSED".into()));
    let own = format!("http://{}", shop.server.public_addr());
    Events::open(from(&own)).await;
}
