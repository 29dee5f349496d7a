//! Tickets: what they say, who believes them, and who gets in with them.

use crate::client::{Answer, Request};
use crate::shop::{ADMIN_KEY, Guest, Shop};
use onrush_base::config::Secret;
use onrush_ledger::booking::Buyer;
use serde_json::{Value, json};

const SCANNER_KEY: &str = "a scanner for tests only";

async fn shop_with_scanner() -> Shop {
    Shop::start_with(|config| config.scanner_key = Some(Secret::from(SCANNER_KEY.to_owned()))).await
}

/// A confirmed booking of these lines, free of charge.
async fn confirmed(guest: &Guest<'_>, event: &str, wish: &Value) -> String {
    let booking = guest.hold(event, "k", wish).await.expect(201).text("booking");
    guest.ask("POST", &format!("/bookings/{booking}/confirm")).send().await.expect(200);
    booking
}

async fn tickets(guest: &Guest<'_>, booking: &str) -> Vec<Value> {
    let answer = guest.get(&format!("/bookings/{booking}/tickets")).await.expect(200).json();
    assert_eq!(answer["booking"], booking);
    answer["tickets"].as_array().unwrap().clone()
}

fn scan(shop: &Shop, body: &Value) -> Request {
    shop.ask("POST", "/check-in").bearer(SCANNER_KEY).json(body)
}

async fn scan_code(shop: &Shop, code: &str) -> Answer {
    scan(shop, &json!({ "code": code })).send().await
}

#[tokio::test]
async fn a_confirmed_booking_has_a_ticket_for_each_unit_and_nobody_else_sees_them() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    crate::seat_maps::import_small_house(&shop, "e").await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 2}, "seats": ["A-1"]});
    let held = guest.hold("e", "k", &wish).await.expect(201).text("booking");
    let path = format!("/bookings/{held}/tickets");
    let early = guest.get(&path).await;
    assert_eq!(early.problem(), (409, "INVALID_STATUS".into()));
    assert_eq!(early.json()["booking_status"], "held");
    let booking = confirmed(&guest, "e", &wish).await;
    assert_eq!(booking, held);

    let all = tickets(&guest, &booking).await;
    let facts: Vec<_> = all.iter().map(|ticket| (&ticket["ticket"], &ticket["for"])).collect();
    let (ga, seat) = (json!({"pool": "ga"}), json!({"seat": "A-1"}));
    assert_eq!(facts, [(&json!(1), &ga), (&json!(2), &ga), (&json!(3), &seat)]);
    // The clock moves on, and the tickets stay what they are.
    shop.clock.advance_ms(60_000);
    assert_eq!(tickets(&guest, &booking).await, all);

    let neighbour = shop.guest().await;
    for path in [path.clone(), format!("{path}/1.svg")] {
        let answer = neighbour.get(&path).await;
        assert_eq!(answer.problem(), (404, "RESERVATION_NOT_FOUND".into()), "{path}");
    }
    let picture = guest.get(&format!("{path}/3.svg")).await.expect(200);
    assert_eq!(picture.header("content-type"), Some("image/svg+xml"));
    let code = all[2]["code"].as_str().unwrap();
    assert_eq!(picture.body, onrush_base::tickets::qr::svg(code).unwrap().into_bytes());
    let missing = guest.get(&format!("{path}/4.svg")).await;
    assert_eq!(missing.problem(), (404, "TICKET_NOT_FOUND".into()));
    for file in ["0.svg", "01.svg", "+1.svg", "1.png", "1", "99999999999.svg"] {
        let answer = guest.get(&format!("{path}/{file}")).await;
        assert_eq!(answer.problem(), (400, "INVALID_ID".into()), "{file}");
    }
}

#[tokio::test]
async fn fifty_scanners_at_once_admit_a_ticket_once() {
    let shop = shop_with_scanner().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let booking = confirmed(&guest, "e", &json!({"pools": {"ga": 2}})).await;
    let all = tickets(&guest, &booking).await;
    let code = all[0]["code"].as_str().unwrap();
    let scans = (0..50).map(|_| scan_code(&shop, code));
    let answers = futures_util::future::join_all(scans).await;
    let (admitted, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.status == 200);
    assert_eq!((admitted.len(), refused.len()), (1, 49));
    let admitted = admitted[0].json();
    assert_eq!(admitted["booking"], booking.as_str());
    assert_eq!((&admitted["ticket"], &admitted["event"]), (&json!(1), &json!("e")));
    assert_eq!(admitted["for"], json!({"pool": "ga"}));
    for answer in refused {
        assert_eq!(answer.problem(), (409, "ALREADY_CHECKED_IN".into()));
        assert_eq!(answer.json()["checked_in_at"], admitted["checked_in_at"]);
    }
    let other = all[1]["code"].as_str().unwrap();
    let body = json!({"code": format!(" {other}\n"), "event": "e"});
    assert_eq!(scan(&shop, &body).send().await.expect(200).json()["ticket"], 2);
    let view = guest.get(&format!("/bookings/{booking}")).await.expect(200).json();
    assert_eq!(view["checked_in"], json!([1, 2]));
}

#[tokio::test]
async fn what_we_did_not_sign_lets_nobody_in() {
    let shop = shop_with_scanner().await;
    let stranger = Shop::start().await;
    let wish = json!({"pools": {"ga": 1}});
    for shop in [&shop, &stranger] {
        shop.flash_sale("e").await;
    }
    let (guest, other) = (shop.guest().await, stranger.guest().await);
    let booking = confirmed(&guest, "e", &wish).await;
    let code = tickets(&guest, &booking).await[0]["code"].as_str().unwrap().to_owned();
    let others = confirmed(&other, "e", &wish).await;
    let others = tickets(&other, &others).await[0]["code"].as_str().unwrap().to_owned();
    let [header, claims, signature]: [&str; 3] =
        code.split('.').collect::<Vec<_>>().try_into().unwrap();
    let second = {
        use base64::Engine as _;
        let engine = base64::prelude::BASE64_URL_SAFE_NO_PAD;
        let said = String::from_utf8(engine.decode(claims).unwrap()).unwrap();
        let altered = said.replace("\"ticket\":1", "\"ticket\":2");
        assert_ne!(said, altered);
        format!("{header}.{}.{signature}", engine.encode(altered))
    };
    let forged = [
        String::new(),
        "1".into(),
        "..".into(),
        format!("{header}.{claims}."),
        format!("{header}.{claims}"),
        format!("{code}A"),
        second,
        others,
        "x".repeat(60_000),
    ];
    let before = shop.committed();
    for forged in &forged {
        let answer = scan_code(&shop, forged).await;
        assert_eq!(answer.problem(), (422, "TICKET_NOT_GENUINE".into()), "{forged:.80}");
    }
    let elsewhere = scan(&shop, &json!({"code": code, "event": "f"})).send().await;
    assert_eq!(elsewhere.problem(), (422, "TICKET_FOR_ANOTHER_EVENT".into()));
    assert_eq!(elsewhere.json()["event"], "e");
    assert_eq!(shop.committed(), before);
    scan_code(&shop, &code).await.expect(200);
}

#[tokio::test]
async fn a_scan_that_is_repeated_under_its_key_is_the_same_and_nobody_elses() {
    let shop = shop_with_scanner().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let booking = confirmed(&guest, "e", &json!({"pools": {"ga": 3}})).await;
    let buyer =
        Buyer { name: "Ann Lee".into(), email: "a@post.example".into(), language: "en".into() };
    shop.server
        .ledger()
        .set_buyer(&booking.parse().unwrap(), &"ann".parse().unwrap(), buyer)
        .await
        .unwrap();
    let all = tickets(&guest, &booking).await;
    let [code, next, last] = [0, 1, 2].map(|nth: usize| all[nth]["code"].clone());
    let scan = |code: &Value, key: &str, token: &str| {
        shop.ask("POST", "/check-in").bearer(token).key(key).json(&json!({ "code": code })).send()
    };
    let first = scan(&code, "k1", SCANNER_KEY).await.expect(200).json();
    assert_eq!(first["name"], "Ann Lee");
    shop.clock.advance_ms(5_000);
    assert_eq!(scan(&code, "k1", SCANNER_KEY).await.expect(200).json(), first);
    for (key, token) in [("k2", SCANNER_KEY), ("k1", ADMIN_KEY)] {
        let used = scan(&code, key, token).await;
        assert_eq!(used.problem(), (409, "ALREADY_CHECKED_IN".into()));
    }
    // A refusal is no admission, and the same key elsewhere is another scan.
    let used = scan(&code, "k2", SCANNER_KEY).await;
    assert_eq!(used.problem(), (409, "ALREADY_CHECKED_IN".into()));
    scan(&next, "k1", SCANNER_KEY).await.expect(200);
    // Without a ledger the door stays open.
    shop.server.sqlite_ledger().expect("a file").break_for_tests(true);
    let alone = scan(&last, "k3", SCANNER_KEY).await.expect(200).json();
    assert_eq!((&alone["ticket"], &alone["name"]), (&json!(3), &Value::Null));
    shop.clock.advance_ms(5_000);
    assert_eq!(scan(&last, "k3", SCANNER_KEY).await.expect(200).json(), alone);
    shop.server.sqlite_ledger().expect("a file").break_for_tests(false);
    assert_eq!(scan(&last, "k3", SCANNER_KEY).await.expect(200).json()["name"], "Ann Lee");
}

/// Many lanes have one key, and an answer may be lost while all of them let people in.
#[tokio::test]
async fn a_scan_may_be_repeated_however_many_were_let_in_since() {
    let shop = shop_with_scanner().await;
    shop.flash_sale("e").await;
    let scan = |code: &str, key: &str| {
        let body = json!({ "code": code });
        shop.ask("POST", "/check-in").bearer(SCANNER_KEY).key(key).json(&body).send()
    };
    shop.add_pool("e", "hall", 320, 0).await;
    let mut first = None;
    for crowd in 0..40 {
        let guest = shop.guest().await;
        let booking = confirmed(&guest, "e", &json!({"pools": {"hall": 8}})).await;
        for (nth, ticket) in tickets(&guest, &booking).await.iter().enumerate() {
            let code = ticket["code"].as_str().unwrap();
            let answer = scan(code, &format!("{crowd}-{nth}")).await.expect(200).json();
            first.get_or_insert((code.to_owned(), answer));
        }
    }
    let (code, answer) = first.expect("somebody was let in");
    assert_eq!(scan(&code, "0-0").await.expect(200).json(), answer);
}

#[tokio::test]
async fn a_cancelled_bookings_ticket_lets_nobody_in() {
    let shop = shop_with_scanner().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let booking = confirmed(&guest, "e", &json!({"pools": {"ga": 1}})).await;
    let code = tickets(&guest, &booking).await[0]["code"].as_str().unwrap().to_owned();
    let reason = json!({"by": "box office", "why": "asked for"});
    shop.organise("POST", &format!("/events/e/bookings/{booking}/cancel"), &reason).await;
    let answer = scan_code(&shop, &code).await;
    assert_eq!(answer.problem(), (409, "INVALID_STATUS".into()));
    assert_eq!(answer.json()["booking_status"], "cancelled");
}

#[tokio::test]
async fn whoever_cancelled_is_in_the_list_of_revoked_tickets_at_once() {
    let shop = shop_with_scanner().await;
    shop.flash_sale("e").await;
    let reason = json!({"why": "asked for"});
    let mut cancelled = Vec::new();
    for _ in 0..10 {
        let guest = shop.guest().await;
        let booking = confirmed(&guest, "e", &json!({"pools": {"ga": 1}})).await;
        shop.organise("POST", &format!("/events/e/bookings/{booking}/cancel"), &reason).await;
        cancelled.push(booking);
        let list = shop.ask("GET", "/events/e/revoked-tickets").bearer(SCANNER_KEY).send().await;
        let list = list.expect(200).json();
        let listed: Vec<_> = list["bookings"].as_array().unwrap().iter().collect();
        assert_eq!(listed.len(), cancelled.len());
        assert!(cancelled.iter().all(|booking| listed.contains(&&json!(booking))), "{listed:?}");
    }
}

#[tokio::test]
async fn the_scanner_key_lets_people_in_and_opens_nothing_else() {
    let shop = shop_with_scanner().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let booking = confirmed(&guest, "e", &json!({"pools": {"ga": 1}})).await;
    let code = tickets(&guest, &booking).await[0]["code"].clone();
    let check_in = |token: &str| {
        shop.ask("POST", "/check-in").bearer(token).json(&json!({ "code": code })).send()
    };
    for token in [guest.token.as_str(), "a scanner for tests onlY", ""] {
        let answer = check_in(token).await;
        assert_eq!(answer.problem(), (401, "TOKEN_INVALID".into()), "{token}");
    }
    let feed = shop.ask("GET", "/admin/feed").bearer(SCANNER_KEY).send().await;
    assert_eq!(feed.problem(), (403, "SCOPE_MISSING".into()));
    check_in(ADMIN_KEY).await.expect(200);
    assert_eq!(check_in(SCANNER_KEY).await.problem(), (409, "ALREADY_CHECKED_IN".into()));
}
