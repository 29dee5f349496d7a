//! Channels over HTTP: stock that is set aside, codes and tokens that open it, and its history.

use crate::limits::{check_let_through, until_limited};
use crate::prices::taxed_sale;
use crate::shop::Shop;
use crate::stuck::as_if_it_had_died;
use crate::tokens::shop_token;
use onrush_base::config::ShopTokens;
use onrush_core::Command;
use onrush_core::channels::ChannelSpec;
use onrush_core::ids::EventId;
use onrush_core::lines::Lines;
use onrush_core::question::ChannelsNow;
use onrush_core::settings::Digest;
use onrush_core::spec::Reason;
use onrush_ledger::request::{Begun, RequestKey};
use onrush_store::embedded::{Asked, LostAnswers};
use onrush_store::{Ask, Failure};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

pub(crate) const CODE: &str = "Fans-2026";

/// An event with 10 of pool `ga` and seats, of which the fan club has 4 and A-1.
pub(crate) async fn sale_with_fans(shop: &Shop) {
    taxed_sale(shop, &Value::Null).await;
    let fans = json!({"codes": [CODE], "by": "ann", "why": "presale"});
    shop.organise("PUT", "/events/e/channels/fans", &fans).await;
    let units =
        json!({"pools": {"ga": 4}, "seats": ["A-1"], "to": "fans", "by": "ann", "why": "presale"});
    shop.organise("POST", "/events/e/allot", &units).await;
}

async fn refused(shop: &Shop, method: &str, path: &str, body: &Value) -> (u16, String) {
    shop.admin(method, path).json(body).send().await.problem()
}

#[tokio::test]
async fn a_code_opens_what_is_set_aside() {
    let shop = Shop::start().await;
    sale_with_fans(&shop).await;
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!((&left["pools"][0]["free"], &left["pools"][0]["blocked"]), (&json!(6), &json!(4)));
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 4}, "seats": ["A-1"]});
    let without = guest.hold("e", "k1", &wish).await;
    assert_eq!(without.problem(), (409, "SEAT_UNAVAILABLE".into()));
    let with = json!({"pools": {"ga": 4}, "seats": ["A-1"], "codes": [" FANS-2026 "]});
    let held = guest.hold("e", "k2", &with).await.expect(201).json();
    assert_eq!(held["status"], "held");
    let again = guest.hold("e", "k2", &with).await.expect(201).json();
    assert_eq!(again["booking"], held["booking"]);
    let shown = shop.admin("GET", "/events/e/channels").send().await.expect(200).json();
    let fans = &shown["channels"][0];
    assert_eq!((&fans["channel"], &fans["codes"]), (&json!("fans"), &json!(1)));
    assert_eq!(
        (&fans["taken"], &fans["pools"], &fans["categories"]),
        (&json!(5), &json!({}), &json!({}))
    );
    let whats: Vec<_> = shown["history"].as_array().unwrap().iter().map(|it| &it["what"]).collect();
    assert_eq!(whats, ["set", "allotted"]);
    assert_eq!(shown["history"][1]["seats"], json!(["A-1"]));
    assert!(!shown.to_string().to_lowercase().contains("fans-2026"), "codes are told to nobody");
}

/// What was kept of a code before a key was in it: whoever reads the feed can work it out.
fn guessable(event: &str, code: &str) -> Digest {
    let mut hash = Sha256::new();
    for part in ["a channel's code\0", event, "\0", code] {
        hash.update(part.as_bytes());
    }
    Digest(hash.finalize().into())
}

#[tokio::test]
async fn the_feed_does_not_tell_codes_that_can_be_guessed_and_those_kept_before_still_open() {
    let shop = Shop::start().await;
    sale_with_fans(&shop).await;
    let feed = shop.admin("GET", "/feed?event=e&limit=1000").send().await.expect(200);
    let told = String::from_utf8(feed.body).unwrap();
    assert!(told.contains("channel_set"), "{told}");
    let hex: String =
        guessable("e", "fans-2026").0.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!told.contains(&hex), "{hex} is in {told}");

    let engine = shop.server.engine();
    let event: EventId = "e".parse().unwrap();
    let known = engine.ask(event.clone(), ChannelsNow).await.unwrap().value;
    let spec = ChannelSpec { codes: vec![guessable("e", "old-2025")], ..known[0].spec.clone() };
    let reason = Reason { by: "ann".into(), why: "before".into() };
    engine.execute(event, Command::SetChannel { spec, reason }).await.unwrap();
    let guest = shop.guest().await;
    let wish = |code| json!({"pools": {"ga": 4}, "seats": ["A-1"], "codes": [code]});
    let refused = guest.hold("e", "k1", &wish("older-2024")).await;
    assert_eq!(refused.problem(), (404, "CHANNEL_CODE_NOT_FOUND".into()));
    guest.hold("e", "k2", &wish("Old-2025")).await.expect(201);
}

#[tokio::test]
async fn units_are_moved_and_taken_off_sale_once_for_each_key() {
    let shop = Shop::start().await;
    sale_with_fans(&shop).await;
    let ask = |path: &str, key: &str, body: &Value| {
        shop.admin("POST", &format!("/events/e/{path}")).key(key).json(body).send()
    };
    let pool = async || {
        let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
        (left["pools"][0]["free"].clone(), left["pools"][0]["blocked"].clone())
    };
    assert_eq!(pool().await, (json!(6), json!(4)));
    let moved = json!({"pools": {"ga": 1}, "to": "fans", "why": "more"});
    let blocked = json!({"pools": {"ga": 2}, "why": "broken"});
    for _ in 0..2 {
        ask("allot", "k1", &moved).await.expect(200);
        ask("block", "k1", &blocked).await.expect(200);
        assert_eq!(pool().await, (json!(3), json!(7)));
    }
    let other = json!({"pools": {"ga": 1}, "why": "broken"});
    assert_eq!(ask("block", "k1", &other).await.problem(), (422, "BOOKING_MISMATCH".into()));
    for _ in 0..2 {
        ask("unblock", "k1", &other).await.expect(200);
        assert_eq!(pool().await, (json!(4), json!(6)));
    }
    ask("unblock", "k2", &other).await.expect(200);
    // What was refused was not done, and is decided anew.
    assert_eq!(ask("unblock", "k3", &other).await.status, 409);
    ask("block", "k2", &other).await.expect(200);
    ask("unblock", "k3", &other).await.expect(200);
    assert_eq!(pool().await, (json!(5), json!(5)));
    // However much is moved since.
    for nth in 0..20 {
        ask("block", &format!("more-{nth}"), &other).await.expect(200);
        ask("unblock", &format!("more-{nth}"), &other).await.expect(200);
        ask("block", &format!("again-{nth}"), &other).await.expect(200);
        ask("unblock", &format!("again-{nth}"), &other).await.expect(200);
    }
    ask("block", "k1", &blocked).await.expect(200);
    assert_eq!(pool().await, (json!(5), json!(5)));
}

/// The process had blocked them, and ended before it could answer.
#[tokio::test]
async fn units_that_may_have_been_moved_are_not_moved_again_under_the_same_key() {
    let shop = Shop::start().await;
    sale_with_fans(&shop).await;
    let ledger = shop.server.ledger();
    let lines: Lines = serde_json::from_value(json!({"pools": {"ga": 2}})).unwrap();
    let asked = json!({"lines": lines, "why": "broken"}).to_string();
    let key = RequestKey { scope: "block e admin".into(), key: "k1".into(), asker: None };
    let hash = Sha256::digest(asked).into();
    let begun = ledger.begin(key, hash, 1, shop.clock.now()).await;
    assert_eq!(begun, Ok(Begun::Fresh));
    let reason = Reason { by: "admin".into(), why: "broken".into() };
    as_if_it_had_died(&shop, Command::Block { lines, reason }).await;
    let ask = |key: &str| {
        let body = json!({"pools": {"ga": 2}, "why": "broken"});
        shop.admin("POST", "/events/e/block").key(key).json(&body).send()
    };
    let free = async || {
        let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
        left["pools"][0]["free"].clone()
    };
    for _ in 0..2 {
        assert_eq!(ask("k1").await.problem(), (409, "OUTCOME_UNKNOWN".into()));
        assert_eq!(free().await, 4);
    }
    ask("k2").await.expect(200);
    assert_eq!(free().await, 2);
}

/// The engine moves the units, and its answer is lost.
#[tokio::test]
async fn units_that_may_have_been_moved_without_a_key_are_not_to_be_asked_for_again() {
    let lost = LostAnswers::default();
    let shop = Shop::start_losing(&lost).await;
    sale_with_fans(&shop).await;
    let free = async || {
        let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
        left["pools"][0]["free"].clone()
    };
    let blocked = json!({"pools": {"ga": 2}, "why": "broken"});
    let allotted = json!({"pools": {"ga": 1}, "to": "fans", "why": "more"});
    for (path, body, failure, left) in [
        ("block", &blocked, Failure::Unreachable, 4),
        ("allot", &allotted, Failure::Unreachable, 3),
        ("unblock", &blocked, Failure::Unreachable, 5),
        ("block", &blocked, Failure::Faulty, 3),
        ("unblock", &blocked, Failure::Stopped, 5),
    ] {
        lost.lose(move |asked| match asked {
            Asked::Command(
                Command::Block { .. } | Command::Unblock { .. } | Command::Allot { .. },
            ) => Some(failure.clone()),
            Asked::Command(_) | Asked::Query(_) => None,
        });
        let told = shop.admin("POST", &format!("/events/e/{path}")).json(body).send().await;
        assert_eq!(told.problem(), (409, "OUTCOME_UNKNOWN".into()), "{path}");
        assert_eq!(told.json()["retryable"], false, "{path}");
        assert_eq!(free().await, left, "{path}");
    }
}

/// Once the engine has moved the units, it cannot say what there is.
#[tokio::test]
async fn units_that_were_moved_and_cannot_be_shown_are_not_moved_again_under_the_same_key() {
    let lost = LostAnswers::default();
    let shop = Shop::start_losing(&lost).await;
    sale_with_fans(&shop).await;
    let ask = |path: &str, body: &Value| {
        shop.admin("POST", &format!("/events/e/{path}")).key("k1").json(body).send()
    };
    let free = async || {
        let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
        left["pools"][0]["free"].clone()
    };
    let blocked = json!({"pools": {"ga": 2}, "why": "broken"});
    let allotted = json!({"pools": {"ga": 1}, "to": "fans", "why": "more"});
    for (path, body, left) in
        [("block", &blocked, 4), ("allot", &allotted, 3), ("unblock", &blocked, 5)]
    {
        let is_moved = AtomicBool::new(false);
        lost.lose(move |asked| match asked {
            Asked::Command(command) => {
                let moves = matches!(
                    command,
                    Command::Block { .. } | Command::Unblock { .. } | Command::Allot { .. }
                );
                is_moved.fetch_or(moves, Ordering::Relaxed);
                None
            }
            Asked::Query(_) if is_moved.load(Ordering::Relaxed) => {
                Some(Failure::Rebuilding { retry_after_ms: 1_000 })
            }
            Asked::Query(_) => None,
        });
        assert_eq!(ask(path, body).await.problem(), (409, "OUTCOME_UNKNOWN".into()), "{path}");
        lost.lose_none();
        assert_eq!(free().await, left, "{path}");
        assert_eq!(ask(path, body).await.problem(), (409, "OUTCOME_UNKNOWN".into()), "{path}");
        assert_eq!(free().await, left, "{path}");
    }
}

#[tokio::test]
async fn a_retry_gets_its_booking_also_when_the_code_opens_nothing_any_more() {
    let shop = Shop::start().await;
    sale_with_fans(&shop).await;
    let guest = shop.guest().await;
    let wish = json!({"seats": ["A-1"], "codes": [CODE]});
    let held = guest.hold("e", "k1", &wish).await.expect(201).json();
    let withdrawn = json!({"codes": [], "by": "ann", "why": "the code leaked"});
    shop.organise("PUT", "/events/e/channels/fans", &withdrawn).await;
    let again = guest.hold("e", "k1", &wish).await.expect(201).json();
    assert_eq!(again["booking"], held["booking"]);
    let other = json!({"pools": {"ga": 1}, "codes": [CODE]});
    assert_eq!(guest.hold("e", "k1", &other).await.problem(), (422, "BOOKING_MISMATCH".into()));
    let new = guest.hold("e", "k2", &wish).await.problem();
    assert_eq!(new, (404, "CHANNEL_CODE_NOT_FOUND".into()));
    let stranger = shop.guest().await.hold("e", "k1", &wish).await.problem();
    assert_eq!(stranger, (404, "CHANNEL_CODE_NOT_FOUND".into()));
}

#[tokio::test]
async fn a_visitor_sees_what_their_channels_have() {
    let shop = Shop::start().await;
    sale_with_fans(&shop).await;
    let quota =
        json!({"quota": 3, "release": {"at": 4_000_000_000_000_i64}, "by": "ann", "why": "few"});
    shop.organise("PUT", "/events/e/channels/fans", &quota).await;
    let guest = shop.guest().await;
    let ask = |codes: Value| {
        guest.ask("POST", "/events/e/channels").json(&json!({"codes": codes})).send()
    };
    let mine = ask(json!([CODE])).await.expect(200).json();
    assert_eq!(
        mine["channels"],
        json!([{"channel": "fans", "left": 3, "until": 4_000_000_000_000_i64,
        "pools": {"ga": 4}, "seats": ["A-1"]}]),
        "codes stay where they are not named"
    );
    assert_eq!(ask(json!([])).await.expect(200).json()["channels"], json!([]));
    assert_eq!(ask(json!(["fans-2027"])).await.problem(), (404, "CHANNEL_CODE_NOT_FOUND".into()));
    assert_eq!(ask(json!(["a", "b", "c", "d", "e", "f"])).await.problem().1, "INVALID_BODY");
    let over = guest.hold("e", "k", &json!({"pools": {"ga": 8}, "codes": [CODE]})).await;
    assert_eq!(over.problem(), (409, "INSUFFICIENT_STOCK".into()));
    assert_eq!(over.json()["free"], 6);
    let all = json!({"codes": [], "by": "ann", "why": "over"});
    shop.organise("PUT", "/events/e/channels/fans", &all).await;
    assert_eq!(ask(json!([CODE])).await.problem(), (404, "CHANNEL_CODE_NOT_FOUND".into()));
}

#[tokio::test]
async fn wrong_codes_are_limited_and_right_ones_are_not() {
    let shop = Shop::start().await;
    sale_with_fans(&shop).await;
    let guest = shop.guest().await;
    let ask = |code: &str| guest.ask("POST", "/events/e/channels").json(&json!({"codes": [code]}));
    for _ in 0..12 {
        ask(CODE).send().await.expect(200);
    }
    let (wrong, begun) = (ask("guess-guess"), Instant::now());
    for _ in 0..10 {
        let answer = wrong.clone().send().await;
        assert_eq!(answer.problem(), (404, "CHANNEL_CODE_NOT_FOUND".into()));
    }
    let (more, limited) = until_limited(&wrong, 200).await;
    check_let_through(10 + more, 10, begun);
    assert_eq!(limited.problem(), (429, "RATE_LIMITED".into()));
    // Whoever holds has no other allowance.
    let wish = json!({"pools": {"ga": 1}, "codes": ["guess-guess"]});
    let hold = guest.ask("POST", "/events/e/bookings").key("k").json(&wish);
    let (more, limited) = until_limited(&hold, 200).await;
    assert!(more < 10, "{more}");
    assert_eq!(limited.problem(), (429, "RATE_LIMITED".into()));
    guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
}

#[tokio::test]
async fn the_shops_token_opens_channels() {
    let secret = "a shared secret of at least 32 bytes";
    let shop = Shop::start_with(|config| {
        config.shop_tokens =
            Some(ShopTokens::shared(secret.to_owned().into(), "https://shop.example", "onrush"));
    })
    .await;
    sale_with_fans(&shop).await;
    let claims = json!({"iss": "https://shop.example", "sub": "42", "aud": "onrush",
        "exp": 4_000_000_000_i64, "channels": ["elsewhere", "fans"]});
    let token = shop_token(secret, &claims);
    let hold = |key: &'static str, wish: Value| {
        let hold = shop.ask("POST", "/events/e/bookings").bearer(&token);
        hold.header("idempotency-key", key).json(&wish).send()
    };
    hold("k1", json!({"seats": ["A-1"]})).await.expect(201);
    hold("k2", json!({"best": {"quantity": 1}})).await.expect(201);
    let mine = shop.ask("POST", "/events/e/channels").bearer(&token).json(&json!({}));
    let mine = mine.send().await.expect(200).json();
    assert_eq!(mine["channels"][0]["pools"], json!({"ga": 4}));
    assert_eq!(mine["channels"][0]["seats"], json!([]));
}

#[tokio::test]
async fn a_released_channel_is_over_and_its_stock_elsewhere() {
    let shop = Shop::start().await;
    sale_with_fans(&shop).await;
    let release = json!({"by": "ann", "why": "the rest is for all"});
    let released = shop.organise("POST", "/events/e/channels/fans/release", &release).await;
    assert_eq!(released["pools"], json!({}));
    assert!(released["released"]["at"].is_i64());
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!(left["pools"][0]["free"], 10);
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 7}, "seats": ["A-1"], "codes": [CODE]});
    guest.hold("e", "k", &wish).await.expect(201);
    let seat = shop.admin("GET", "/events/e/seats/A-1").send().await.expect(200).json();
    let whats: Vec<_> = seat["history"].as_array().unwrap().iter().map(|it| &it["what"]).collect();
    assert_eq!(whats, ["added", "allotted", "allotted", "held"]);
    assert_eq!(seat["history"][1]["channel"], "fans");
    assert_eq!(seat["history"][2]["why"], "the rest is for all");
    let path = "/events/e/channels/fans";
    assert_eq!(refused(&shop, "PUT", path, &release).await, (409, "CHANNEL_RELEASED".into()));
}

/// Last year's presale has the code still, and is over.
#[tokio::test]
async fn a_code_of_several_channels_opens_all_of_them() {
    let shop = Shop::start().await;
    sale_with_fans(&shop).await;
    let release = json!({"by": "ann", "why": "the first presale is over"});
    shop.organise("POST", "/events/e/channels/fans/release", &release).await;
    let second = json!({"codes": [CODE], "by": "ann", "why": "the second presale"});
    shop.organise("PUT", "/events/e/channels/second", &second).await;
    let units = json!({"pools": {"ga": 10}, "to": "second", "by": "ann", "why": "presale"});
    shop.organise("POST", "/events/e/allot", &units).await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 2}, "codes": [CODE]});
    guest.hold("e", "k", &wish).await.expect(201);
    let mine = guest.ask("POST", "/events/e/channels").json(&json!({"codes": [CODE]}));
    let mine = mine.send().await.expect(200).json();
    assert_eq!(mine["channels"].as_array().map(Vec::len), Some(1), "{mine}");
    assert_eq!(mine["channels"][0]["channel"], "second");
}

#[tokio::test]
async fn what_cannot_be_is_refused_and_changes_nothing() {
    let shop = Shop::start().await;
    sale_with_fans(&shop).await;
    let before = shop.committed();
    let with = |more: Value| {
        let mut body = json!({"by": "ann", "why": "x"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let fans = "/events/e/channels/fans";
    for (path, method, body, status, code) in [
        (fans, "PUT", with(json!({"quota": -1})), 422, "INVALID_BODY"),
        (fans, "PUT", with(json!({"quota": 1_000_000_001})), 422, "INVALID_SETTINGS"),
        (fans, "PUT", with(json!({"codes": ["short"]})), 422, "INVALID_BODY"),
        (fans, "PUT", with(json!({"codes": vec![CODE; 101]})), 422, "INVALID_SETTINGS"),
        (fans, "PUT", with(json!({"release": {"at": 5}})), 422, "INVALID_SETTINGS"),
        (
            fans,
            "PUT",
            with(json!({"release": {"at": 4_000_000_000_000_i64, "into": "no"}})),
            404,
            "CHANNEL_NOT_FOUND",
        ),
        (fans, "PUT", json!({"why": ""}), 422, "INVALID_SETTINGS"),
        ("/events/e/channels/a b", "PUT", with(json!({})), 400, "INVALID_ID"),
        ("/events/e/channels/no/release", "POST", with(json!({})), 404, "CHANNEL_NOT_FOUND"),
        (
            "/events/e/channels/fans/release",
            "POST",
            with(json!({"into": "fans"})),
            422,
            "INVALID_SETTINGS",
        ),
        (
            "/events/e/allot",
            "POST",
            with(json!({"pools": {"ga": 7}, "to": "fans"})),
            409,
            "INSUFFICIENT_STOCK",
        ),
        ("/events/e/allot", "POST", with(json!({"pools": {"ga": 1}})), 422, "INVALID_SETTINGS"),
        (
            "/events/e/allot",
            "POST",
            with(json!({"pools": {"ga": 1}, "to": "no"})),
            404,
            "CHANNEL_NOT_FOUND",
        ),
        ("/events/e/allot", "POST", with(json!({"to": "fans"})), 422, "INVALID_QUANTITY"),
        (
            "/events/f/allot",
            "POST",
            with(json!({"pools": {"ga": 1}, "to": "fans"})),
            404,
            "EVENT_NOT_FOUND",
        ),
    ] {
        let path = path.replace(' ', "%20");
        assert_eq!(refused(&shop, method, &path, &body).await, (status, code.to_owned()), "{body}");
    }
    assert_eq!(shop.committed(), before);
}
