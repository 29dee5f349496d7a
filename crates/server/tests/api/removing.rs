//! Limits of one visitor, and visitors whom the organiser removes or bans.

use crate::client::Events;
use crate::shop::{Guest, Shop};
use serde_json::{Value, json};

async fn remove(shop: &Shop, guest: &Guest<'_>, ban: bool) -> Value {
    let path = format!("/events/e/visitors/{}/remove", guest.user);
    shop.organise("POST", &path, &json!({"by": "desk", "why": "bot", "ban": ban})).await
}

#[tokio::test]
async fn a_plain_event_is_held_from_at_once_by_eight_a_person() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Plain", "currency": "EUR"});
    let made = shop.organise("POST", "/events", &body).await;
    assert_eq!((made.get("room"), &made["max_per_user"]), (None, &json!(8)));
    assert_eq!(made["claim_ttl_max_ms"], 86_400_000);
    shop.add_pool("e", "ga", 100, 0).await;
    shop.organise_plainly("/events/e/open").await;
    let guest = shop.guest().await;
    let refused = guest.hold("e", "k", &json!({"pools": {"ga": 9}})).await;
    assert_eq!(refused.problem(), (409, "USER_LIMIT_EXCEEDED".into()));
    guest.hold("e", "k", &json!({"pools": {"ga": 7}})).await.expect(201);
    let claim = guest.ask("POST", "/events/e/pools/ga/claims").key("c");
    let claimed = claim.json(&json!({"quantity": 1})).send().await.expect(201).json();
    assert_eq!(claimed["until"].as_i64(), Some(shop.clock.now().0 + 86_400_000));
}

#[tokio::test]
async fn an_event_has_a_waiting_room_or_no_limits_where_the_organiser_says_so() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Rush", "currency": "EUR", "room": {},
        "max_per_user": null, "claim_ttl_max_ms": null});
    let made = shop.organise("POST", "/events", &body).await;
    assert_eq!(made["room"]["capacity"], 1_000);
    assert_eq!((made.get("max_per_user"), made.get("claim_ttl_max_ms")), (None, None));
    shop.add_pool("e", "ga", 100, 0).await;
    shop.organise_plainly("/events/e/open").await;
    let refused = shop.guest().await.hold("e", "k", &json!({"pools": {"ga": 1}})).await;
    assert_eq!(refused.status, 409);
    let changed = shop.organise("PATCH", "/events/e", &json!({"claim_ttl_max_ms": 60_000})).await;
    assert_eq!(changed["claim_ttl_max_ms"], 60_000);
    let wrong = shop.admin("PATCH", "/events/e").json(&json!({"claim_ttl_max_ms": 0})).send().await;
    assert_eq!(wrong.problem(), (422, "INVALID_SETTINGS".into()));
}

#[tokio::test]
async fn a_hundred_holds_given_back_within_a_day_are_enough() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 1}});
    for n in 0..100 {
        let held = guest.hold("e", &format!("k{n}"), &wish).await.expect(201);
        let path = format!("/bookings/{}/cancel", held.text("booking"));
        guest.ask("POST", &path).send().await.expect(200);
    }
    let refused = guest.hold("e", "more", &wish).await;
    assert_eq!(refused.problem(), (409, "TOO_MANY_ENDED".into()));
    let told = refused.json();
    assert_eq!((&told["limit"], &told["retryable"]), (&json!(100), &json!(true)));
    let again = guest.hold("e", "k0", &wish).await.expect(201).json();
    assert_eq!(again["status"], "released", "its first answer is still known");
    shop.guest().await.hold("e", "k", &wish).await.expect(201);
    shop.clock.advance_ms(86_400_000);
    guest.hold("e", "more", &wish).await.expect(201);
}

#[tokio::test]
async fn a_removed_visitor_hears_of_it_and_the_next_one_is_let_in() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({"capacity": 1})).await;
    let (inside, waiting, next) = (shop.guest().await, shop.guest().await, shop.guest().await);
    for guest in [&inside, &waiting, &next] {
        guest.join("e").await.expect(202);
    }
    inside.until_active("e").await;
    let held = inside.hold("e", "k", &json!({"pools": {"ga": 2}})).await.expect(201);
    let open = |guest: &Guest<'_>| Events::open(guest.ask("GET", "/events/e/stream"));
    let (mut theirs, mut others) = (open(&inside).await, open(&waiting).await);
    theirs.next_of("your_turn").await;
    others.next_of("position").await;

    let gone = remove(&shop, &waiting, false).await;
    assert_eq!((&gone["places"], &gone["session_ended"]), (&json!(1), &json!(false)));
    assert_eq!(others.next_of("left").await["how"], "removed");
    let removed = remove(&shop, &inside, true).await;
    let expected = json!({"user": inside.user, "places": 0, "session_ended": true,
        "released": 1, "paying": [], "banned": true});
    assert_eq!(removed, expected);
    assert_eq!(theirs.next_of("session_ended").await["how"], "removed");
    let path = format!("/bookings/{}", held.text("booking"));
    assert_eq!(inside.get(&path).await.expect(200).json()["status"], "released");
    next.until_active("e").await;
    waiting.join("e").await.expect(202);
}

#[tokio::test]
async fn a_banned_visitor_takes_nothing_until_unbanned_and_is_listed_in_pages() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guests = [shop.guest().await, shop.guest().await, shop.guest().await];
    for guest in &guests {
        remove(&shop, guest, true).await;
    }
    let wish = json!({"pools": {"ga": 1}});
    let refused = guests[0].hold("e", "k", &wish).await;
    assert_eq!(refused.problem(), (403, "VISITOR_BANNED".into()));
    let claim = guests[0].ask("POST", "/events/e/pools/ga/claims").key("c");
    let refused = claim.json(&json!({"quantity": 1})).send().await;
    assert_eq!(refused.problem(), (403, "VISITOR_BANNED".into()));

    let page = async |query: &str| {
        let path = format!("/events/e/bans{query}");
        shop.admin("GET", &path).send().await.expect(200).json()
    };
    let mut users: Vec<_> = guests.iter().map(|guest| guest.user.clone()).collect();
    users.sort_unstable();
    let first = page("?limit=2").await;
    let ban = &first["bans"][0];
    assert_eq!(
        (&ban["user"], &ban["by"], &ban["why"]),
        (&json!(users[0]), &json!("admin"), &json!("bot"))
    );
    assert_eq!(ban["at"].as_i64(), Some(shop.clock.now().0));
    assert_eq!(first["next"], json!(users[1]));
    let last = page(&format!("?limit=2&after={}", users[1])).await;
    assert_eq!(last["bans"][0]["user"], json!(users[2]));
    assert!(last.get("next").is_none());
    let wrong = shop.admin("GET", "/events/e/bans?limit=0").send().await;
    assert_eq!(wrong.problem(), (400, "INVALID_QUERY".into()));

    let path = format!("/events/e/visitors/{}/unban", guests[0].user);
    let reason = json!({"by": "desk", "why": "a mistake"});
    let unbanned = shop.organise("POST", &path, &reason).await;
    assert_eq!(unbanned, json!({"user": guests[0].user, "banned": false}));
    assert_eq!(shop.organise("POST", &path, &reason).await, unbanned);
    guests[0].hold("e", "k", &wish).await.expect(201);
    let path = format!("/events/e/visitors/{}/remove", guests[0].user);
    let visitor = guests[1].ask("POST", &format!("/admin{path}")).json(&reason).send().await;
    assert_eq!(visitor.status, 401, "a visitor removes nobody");
}

#[tokio::test]
async fn a_ban_survives_a_restart() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    remove(&shop, &guest, true).await;
    let (token, user) = (guest.token.clone(), guest.user.clone());
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    let shop = Shop::start_in(dir, clock, |_| {}).await;
    let guest = Guest { shop: &shop, token, user };
    let refused = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await;
    assert_eq!(refused.problem(), (403, "VISITOR_BANNED".into()));
}

#[tokio::test]
async fn a_unit_that_a_removal_gave_back_says_why() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    remove(&shop, &guest, false).await;
    let file = shop.admin("GET", "/events/e/pools/ga").send().await.expect(200).json();
    let steps = file["history"].as_array().unwrap();
    let released = steps.iter().find(|step| step["what"] == "released").unwrap();
    assert_eq!((&released["by"], &released["why"]), (&json!("admin"), &json!("bot")));
}
