//! The draw: committed to, published, checkable.

use crate::shop::Shop;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

/// The order that anyone can work out from what is published.
fn drawn_order(seed: &str, public_value: Option<&str>, entrants: &str) -> Vec<String> {
    let mut key = unhex(seed);
    if let Some(value) = public_value {
        key.extend_from_slice(value.as_bytes());
        key = Sha256::digest(&key).to_vec();
    }
    let rank = |place: &str| {
        let digest = Sha256::digest([&key, place.as_bytes()].concat());
        u64::from_be_bytes(digest[..8].try_into().unwrap()) >> 12
    };
    let mut places: Vec<String> = entrants.lines().map(str::to_owned).collect();
    places.sort_by_key(|place| (rank(place), place.clone()));
    places
}

async fn draw(shop: &Shop, event: &str) -> Value {
    shop.ask("GET", &format!("/events/{event}/draw")).send().await.expect(200).json()
}

#[tokio::test]
async fn anyone_can_check_the_draw_from_what_is_published() {
    let shop = Shop::start().await;
    let room = json!({"order": "draw", "capacity": 1});
    let body = json!({"event": "d", "title": "Drawn", "currency": "EUR", "room": room});
    shop.organise("POST", "/events", &body).await;
    let committed = draw(&shop, "d").await;
    assert!(committed.get("seed").is_none() && committed.get("entrants").is_none());
    shop.organise_plainly("/events/d/prequeue").await;
    let early = shop.ask("GET", "/events/d/draw/entrants").send().await;
    assert_eq!(early.problem(), (409, "PREQUEUE_NOT_CLOSED".into()));

    let mut guests = Vec::new();
    for _ in 0..12 {
        let guest = shop.guest().await;
        let place = guest.join("d").await.expect(202).json();
        assert!(place.get("position").is_none(), "before the draw nobody is ahead of anybody");
        guests.push((place["place"].as_str().unwrap().to_owned(), guest));
    }
    let (leaver, _) = guests.remove(3);
    let left = format!("/events/d/queue?place={leaver}");
    assert_eq!(shop.guest().await.ask("DELETE", &left).send().await.problem().0, 404);
    let path = format!("/events/d/queue?place={}", guests[5].0);
    guests[5].1.ask("DELETE", &path).send().await.expect(200);
    // Whoever comes back has another place, with an id of its own.
    let again = guests[5].1.join("d").await.expect(202).text("place");
    assert_ne!(again, guests[5].0);
    guests[5].0 = again;

    shop.organise_plainly("/events/d/prequeue/close").await;
    let closed = draw(&shop, "d").await;
    assert_eq!(closed["seed_hash"], committed["seed_hash"]);
    assert!(committed.get("list_fixed_at").is_none());
    assert_eq!(closed["list_fixed_at"], shop.clock.now().0);
    assert!(closed.get("seed").is_none());
    let list = shop.ask("GET", "/events/d/draw/entrants").send().await.expect(200);
    let tag = list.header("etag").expect("it has a tag").to_owned();
    let again = shop.ask("GET", "/events/d/draw/entrants").header("if-none-match", &tag);
    let again = again.send().await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    let list = String::from_utf8(list.body).unwrap();
    assert_eq!(closed["entrants_hash"], hex(&Sha256::digest(&list)));
    assert_eq!(tag, format!("\"{}\"", hex(&Sha256::digest(&list))));
    assert_eq!(closed["entrants"], 12);
    assert_eq!(list.lines().last().unwrap(), guests[5].0, "who left and came back stands last");

    shop.organise("POST", "/events/d/open", &json!({"public_value": "dice: 4 2 6"})).await;
    let opened = draw(&shop, "d").await;
    let seed = opened["seed"].as_str().unwrap();
    assert_eq!(opened["public_value"], "dice: 4 2 6");
    assert_eq!(opened["seed_hash"], hex(&Sha256::digest(unhex(seed))));
    let order = drawn_order(seed, Some("dice: 4 2 6"), &list);
    for (place, guest) in &guests {
        let mine = guest.place("d").await;
        let index = order.iter().position(|other| other == place).unwrap();
        match index {
            0 => assert_eq!(guest.until_active("d").await["place"], *place),
            // The first one drawn is admitted at once, and everyone else is one further ahead then.
            _ if mine["position"].is_u64() => {
                assert!([index, index + 1].map(|p| json!(p)).contains(&mine["position"]), "{mine}");
            }
            _ => panic!("{mine}"),
        }
    }
}

/// The seed must not be readable anywhere before it is revealed.
#[tokio::test]
async fn the_seed_stays_out_of_the_feed_until_it_is_revealed() {
    let shop = Shop::start().await;
    let room = json!({"order": "draw"});
    let body = json!({"event": "d", "title": "Drawn", "currency": "EUR", "room": room});
    shop.organise("POST", "/events", &body).await;
    let seed = hex(&std::fs::read(shop.dir.path().join("keys/seed-d")).unwrap());
    let feed = async || {
        let answer = shop.admin("GET", "/feed").send().await.expect(200);
        String::from_utf8(answer.body).unwrap()
    };
    assert!(!feed().await.contains(&seed));
    shop.organise_plainly("/events/d/open").await;
    assert!(feed().await.contains(&seed));
}

#[tokio::test]
async fn a_drawn_sale_opens_by_itself_when_its_prequeue_has_closed() {
    let shop = Shop::start().await;
    let opens_at = shop.clock.now().0 + 3_600_000;
    let body = json!({"event": "d", "title": "Drawn", "currency": "EUR", "opens_at": opens_at,
        "room": {"order": "draw"}});
    shop.organise("POST", "/events", &body).await;
    shop.organise_plainly("/events/d/prequeue").await;
    let guest = shop.guest().await;
    guest.join("d").await.expect(202);
    shop.clock.advance_ms(3_600_000);
    guest.until_active("d").await;
    assert!(draw(&shop, "d").await["seed"].is_string());
}

const SOURCE: &str = "the six numbers of the lottery of 5 December 2026, ascending";

/// An event `d` with a draw that was promised a public value.
async fn promised(shop: &Shop, more: Value) {
    let mut body = json!({"event": "d", "title": "Drawn", "currency": "EUR",
        "room": {"order": "draw", "public_value_source": SOURCE}});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = shop.organise("POST", "/events", &body).await;
    assert_eq!(made["room"]["public_value_source"], SOURCE);
}

async fn open(shop: &Shop, body: &Value) -> (u16, String) {
    shop.admin("POST", "/events/d/open").json(body).send().await.problem()
}

#[tokio::test]
async fn a_promised_value_is_told_from_the_start_and_given_at_the_opening() {
    let shop = Shop::start().await;
    promised(&shop, json!({})).await;
    assert_eq!(draw(&shop, "d").await["public_value_source"], SOURCE);
    shop.organise_plainly("/events/d/prequeue").await;
    assert_eq!(open(&shop, &json!({})).await, (409, "OTHER_STEP_FIRST".into()));
    let early = json!({"public_value": "4 8 15 16 23 42"});
    assert_eq!(open(&shop, &early).await, (409, "OTHER_STEP_FIRST".into()));
    shop.organise_plainly("/events/d/prequeue/close").await;

    for hidden in ["4 8 15 16 23 42 ", "4 8  15 16 23 42", "4 8 15\u{200b} 16 23 42"] {
        let problem = shop.admin("POST", "/events/d/open").json(&json!({"public_value": hidden}));
        let problem = problem.send().await.expect(422).json();
        assert_eq!(
            (&problem["code"], &problem["field"]),
            (&json!("INVALID_SETTINGS"), &json!("public_value"))
        );
    }
    let refused = shop.admin("POST", "/events/d/open").send().await;
    assert_eq!(refused.problem(), (409, "PUBLIC_VALUE_MISSING".into()));
    let problem = refused.json();
    assert_eq!(problem["public_value_source"], SOURCE);
    assert!(problem["detail"].as_str().unwrap().ends_with(SOURCE), "{problem}");
    assert!(draw(&shop, "d").await.get("seed").is_none(), "nothing is revealed");

    shop.organise("POST", "/events/d/open", &json!({"public_value": "4 8 15 16 23 42"})).await;
    let opened = draw(&shop, "d").await;
    assert_eq!(opened["public_value"], "4 8 15 16 23 42");
    assert_eq!(opened["public_value_source"], SOURCE);
}

#[tokio::test]
async fn a_promise_is_changed_and_taken_back_until_the_prequeue_is_closed() {
    let shop = Shop::start().await;
    let body = json!({"event": "d", "title": "Drawn", "currency": "EUR",
        "room": {"order": "draw"}});
    let made = shop.organise("POST", "/events", &body).await;
    assert!(made["room"].get("public_value_source").is_none());
    shop.organise_plainly("/events/d/prequeue").await;
    let change = async |source: Value| {
        let body = json!({ "public_value_source": source });
        shop.admin("PATCH", "/events/d/room").json(&body).send().await
    };
    let changed = change(json!(SOURCE)).await.expect(200).json();
    assert_eq!(changed["room"]["public_value_source"], SOURCE);
    let taken = change(Value::Null).await.expect(200).json();
    assert!(taken["room"].get("public_value_source").is_none());
    for wrong in ["".to_owned(), " \n".to_owned(), "x".repeat(501), "\u{202e}7".to_owned()] {
        assert_eq!(change(json!(wrong)).await.problem().1, "INVALID_SETTINGS");
    }
    change(json!(SOURCE)).await.expect(200);
    shop.organise_plainly("/events/d/prequeue/close").await;
    for late in [Value::Null, json!("another")] {
        assert_eq!(change(late).await.problem(), (409, "SETTINGS_FIXED".into()));
    }
    let other = json!({"capacity": 5});
    shop.admin("PATCH", "/events/d/room").json(&other).send().await.expect(200);

    let body = json!({"event": "e", "title": "Queue", "currency": "EUR",
        "room": {"public_value_source": SOURCE}});
    let answer = shop.admin("POST", "/events").json(&body).send().await;
    assert_eq!(answer.problem().1, "SETTINGS_CONFLICT");
}

#[tokio::test]
async fn a_drawn_sale_that_was_promised_a_value_waits_for_it_at_its_time() {
    let shop = Shop::start().await;
    let opens_at = shop.clock.now().0 + 3_600_000;
    promised(&shop, json!({ "opens_at": opens_at })).await;
    shop.organise_plainly("/events/d/prequeue").await;
    let guest = shop.guest().await;
    guest.join("d").await.expect(202);
    shop.clock.advance_ms(3_600_000);
    while draw(&shop, "d").await.get("entrants").is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(open(&shop, &json!({})).await, (409, "PUBLIC_VALUE_MISSING".into()));
    shop.organise("POST", "/events/d/open", &json!({"public_value": "4 8 15"})).await;
    guest.until_active("d").await;
}

#[tokio::test]
async fn an_event_without_a_draw_says_so() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    for path in ["/events/e/draw", "/events/e/draw/entrants"] {
        let answer = shop.ask("GET", path).send().await;
        assert_eq!(answer.problem(), (404, "DRAW_NOT_FOUND".into()));
    }
}
