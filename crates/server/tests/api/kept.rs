//! What is kept about a person: told as one document, and erased some time after the event.

use crate::client::Answer;
use crate::paying::{GOOD_CARD, use_card};
use crate::scopes::{key_of, named};
use crate::shop::{Guest, Shop};
use onrush_base::config::keys::Scope;
use onrush_base::config::{GatewayName, RetentionSettings, SellerSettings};
use serde_json::{Value, json};
use std::time::Duration;

const DAY_MS: i64 = 24 * 3_600_000;

fn with_receipts(config: &mut onrush_base::config::Config) {
    config.gateway = GatewayName::Sandbox;
    config.retention = RetentionSettings { buyers_days: 30 };
    config.keys.push(named("till", &[Scope::Read, Scope::Sell, Scope::Money]));
    config.seller = Some(SellerSettings {
        name: "Hall of Ours".into(),
        address: vec!["1 Long Lane".into()],
        tax_id: None,
        series: "R".into(),
        from: None,
    });
}

async fn paid_event(shop: &Shop, event: &str) {
    let body = json!({"event": event, "title": "Gala", "currency": "EUR", "room": null,
        "max_per_user": null, "claim_ttl_max_ms": null});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool(event, "ga", 10, 2_500).await;
    shop.add_pool(event, "free", 10, 0).await;
    shop.organise_plainly(&format!("/events/{event}/open")).await;
}

/// Holds, and begins to pay; says the booking's id and where to pay.
async fn begin(guest: &Guest<'_>, event: &str, email: &str) -> (String, String) {
    let wish = json!({"pools": {"ga": 1}});
    let held = guest.hold(event, email, &wish).await.expect(201).json();
    let booking = held["booking"].as_str().unwrap().to_owned();
    let body = json!({"buyer": {"name": "Ann Buyer", "email": email, "language": "en"}});
    let path = format!("/bookings/{booking}/payment");
    let payment = guest.ask("POST", &path).key("p").json(&body).send().await.expect(201);
    (booking, payment.text("url"))
}

async fn buy(guest: &Guest<'_>, event: &str, email: &str) -> String {
    let (booking, url) = begin(guest, event, email).await;
    use_card(&url, GOOD_CARD).await.expect(200);
    guest.until_status(&booking, "confirmed").await;
    booking
}

fn export(shop: &Shop, whose: &Value) -> impl Future<Output = Answer> + use<> {
    shop.admin("POST", "/buyers/export").json(whose).send()
}

/// The document, once it is as it is looked for: the ledger follows a moment later.
async fn exported(shop: &Shop, whose: &Value, fits: impl Fn(&Value) -> bool) -> Value {
    let look = async {
        loop {
            let kept = export(shop, whose).await.expect(200).json();
            if fits(&kept) {
                return kept;
            }
            tokio::task::yield_now().await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(20), look).await;
    found.unwrap_or_else(|_| panic!("it was never so for {whose}"))
}

/// Whether a document has one booking with its receipt, and the ledger has heard of its end.
fn is_whole(kept: &Value) -> bool {
    let booking = &kept["bookings"][0];
    booking["receipts"].as_array().is_some_and(|all| all.len() == 1)
        && booking["bought"]["status"] == "confirmed"
        && booking["money"]["saga"]["current_step"] == "CONFIRMED"
}

#[tokio::test]
async fn everything_about_a_person_is_one_document_and_nothing_about_others() {
    let shop = Shop::start_with(with_receipts).await;
    paid_event(&shop, "e").await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let booking = buy(&ann, "e", "Ann@Example.org").await;
    let of_bob = buy(&bob, "e", "bob@example.org").await;
    let claim = ann.ask("POST", "/events/e/pools/free/claims").key("c");
    let claim = claim.json(&json!({"quantity": 2})).send().await.expect(201).text("claim");
    ann.ask("DELETE", &format!("/claims/{claim}")).send().await.expect(200);

    let kept = exported(&shop, &json!({"email": "ann@example.ORG"}), is_whole).await;
    assert_eq!(kept["users"], json!([ann.user]));
    assert_eq!(kept["bookings"].as_array().unwrap().len(), 1);
    let of_booking = &kept["bookings"][0];
    assert_eq!(of_booking["booking"], booking);
    let buyer = json!({"name": "Ann Buyer", "email": "Ann@Example.org", "language": "en"});
    assert_eq!(of_booking["buyer"], buyer);
    let money = &of_booking["money"];
    assert_eq!(money["payments"][0]["captured_minor"], 2_500);
    assert_eq!(money["refunds"], json!([]));
    assert!(!money["history"].as_array().unwrap().is_empty());
    assert_eq!(of_booking["receipts"][0]["buyer_name"], "Ann Buyer");
    let told = kept["traces"].to_string();
    assert!(told.contains(&claim) && told.contains("declaimed"), "{told}");
    assert!(kept.get("next").is_none());
    let text = kept.to_string();
    assert!(
        !text.contains(&of_bob) && !text.contains(&bob.user) && !text.contains("bob@"),
        "{text}"
    );

    // The same by the visitor's id and by the booking's.
    for whose in [json!({"user": ann.user}), json!({"booking": booking})] {
        let same = exported(&shop, &whose, is_whole).await;
        assert_eq!(same["bookings"], kept["bookings"], "{whose}");
        assert_eq!(same["traces"], kept["traces"], "{whose}");
    }
    let nobody = export(&shop, &json!({"email": "nobody@example.org"})).await.expect(200).json();
    assert_eq!((&nobody["bookings"], &nobody["traces"]), (&json!([]), &json!([])));
}

#[tokio::test]
async fn of_a_booking_with_another_buyer_by_now_an_address_is_told_its_receipts_alone() {
    for by_organiser in [false, true] {
        check_told_its_receipts_alone(by_organiser).await;
    }
}

/// Another buyer is named by the visitor, or by the organiser.
async fn check_told_its_receipts_alone(by_organiser: bool) {
    let shop = Shop::start_with(with_receipts).await;
    paid_event(&shop, "e").await;
    let ann = shop.guest().await;
    let booking = buy(&ann, "e", "ann@example.org").await;
    let of_ann = json!({"email": "ann@example.org"});
    let before = exported(&shop, &of_ann, is_whole).await;
    let bo = json!({"name": "Bo Buyer", "email": "bo@example.org", "language": "en"});
    let path = format!("/bookings/{booking}/buyer");
    let put = if by_organiser {
        let mut correction = bo.clone();
        correction["was"] = json!("ann@example.org");
        shop.admin("PUT", &path).json(&correction)
    } else {
        ann.ask("PUT", &path).json(&bo)
    };
    put.send().await.expect(200);

    let kept = export(&shop, &of_ann).await.expect(200).json();
    let receipts = &before["bookings"][0]["receipts"];
    let expected = json!([{"booking": booking, "receipts": receipts, "desk": [], "messages": []}]);
    assert_eq!((&kept["bookings"], &kept["users"]), (&expected, &json!([])));
    // Nor is the present buyer told who was the buyer before.
    let of_bo = json!({"email": "BO@example.org"});
    let kept = export(&shop, &of_bo).await.expect(200).json();
    let told = &kept["bookings"][0];
    assert_eq!((&told["buyer"], &told["receipts"]), (&bo, &json!([])));
    assert!(!kept.to_string().contains("Ann Buyer"), "{kept}");
    let erased = shop.admin("POST", "/buyers/erase").json(&of_ann).send().await.expect(200);
    assert_eq!(erased.json(), json!({"erased": 1}));
    let kept = export(&shop, &of_ann).await.expect(200).json();
    assert_eq!(kept["bookings"], json!([]));
    let kept = export(&shop, &json!({"booking": booking})).await.expect(200).json();
    assert_eq!(kept["bookings"][0]["buyer"], bo);
    assert!(!kept.to_string().contains("Ann Buyer"), "{kept}");
    let whole = &kept["bookings"][0]["receipts"];
    let kept = export(&shop, &of_bo).await.expect(200).json();
    let receipts = &kept["bookings"][0]["receipts"];
    assert_eq!(receipts.as_array().map(Vec::len), Some(1));
    assert_eq!(receipts, whole, "what names nobody is left out for nobody");
}

#[tokio::test]
async fn what_is_kept_is_told_to_admins_alone_is_stored_by_nobody_and_leaves_a_row() {
    let shop = Shop::start_with(with_receipts).await;
    let whose = json!({"email": "ann@example.org"});
    let answer = export(&shop, &whose).await.expect(200);
    assert!(answer.header("cache-control").is_some_and(|it| it.contains("no-store")));
    let till = shop.ask("POST", "/admin/buyers/export").bearer(&key_of("till"));
    let refused = till.json(&whose).send().await;
    assert_eq!(refused.problem(), (403, "SCOPE_MISSING".into()));
    for body in [json!({}), json!({"email": ""}), json!({"email": "a@b", "user": "u"})] {
        assert_eq!(export(&shop, &body).await.problem(), (422, "INVALID_BODY".into()), "{body}");
    }
    let rows = shop.admin("GET", "/actions").send().await.expect(200).json();
    let rows = rows["actions"].as_array().unwrap();
    let facts = |row: &Value| (row["name"].clone(), row["path"].clone(), row["status"].clone());
    let path = json!("/api/v1/admin/buyers/export");
    for (name, status, count) in [("admin", 200, 1), ("till", 403, 1), ("admin", 422, 3)] {
        let wanted = (json!(name), path.clone(), json!(status));
        let found = rows.iter().filter(|row| facts(row) == wanted).count();
        assert_eq!(found, count, "{name} {status}: {rows:?}");
    }
    assert!(!json!(rows).to_string().contains("ann@"), "a row names a buyer: {rows:?}");
}

/// What is erased now, however long it takes until the ledger has heard of everything.
async fn erase(shop: &Shop) -> u64 {
    shop.server.sagas().erase_past_buyers().await.expect("erased")
}

/// Whether the ledger knows who bought.
async fn is_known(shop: &Shop, booking: &str) -> bool {
    let booking = booking.parse().unwrap();
    shop.server.ledger().buyer(&booking).await.unwrap().is_some()
}

#[tokio::test]
async fn an_event_that_was_archived_keeps_nobody_of_it_and_of_others() {
    let shop = Shop::start_with(with_receipts).await;
    // One that was not noted to be over before it was archived, one that was, and another.
    for event in ["a", "b", "c"] {
        paid_event(&shop, event).await;
    }
    let ann = shop.guest().await;
    let mut bookings = Vec::new();
    for event in ["a", "b", "c"] {
        let booking = buy(&ann, event, "ann@example.org").await;
        exported(&shop, &json!({"booking": &booking}), is_whole).await;
        bookings.push(booking);
    }
    let archive = |event: &str| {
        let request = shop.admin("POST", &format!("/events/{event}/archive"));
        request.json(&json!({"why": "it is over"})).send()
    };
    for event in ["b", "c"] {
        shop.organise_plainly(&format!("/events/{event}/close")).await;
    }
    assert_eq!(erase(&shop).await, 0);
    shop.organise_plainly("/events/a/close").await;
    archive("a").await.expect(200);
    archive("b").await.expect(200);
    shop.clock.advance_ms(15 * DAY_MS);
    assert_eq!(erase(&shop).await, 0);
    shop.clock.advance_ms(15 * DAY_MS);
    assert_eq!(erase(&shop).await, 2, "b and c were over first");
    shop.clock.advance_ms(15 * DAY_MS);
    assert_eq!(erase(&shop).await, 1);
    for booking in &bookings {
        assert!(!is_known(&shop, booking).await, "{booking}");
    }
}

#[tokio::test]
async fn who_bought_is_erased_so_many_days_after_the_event_and_receipts_stay() {
    let shop = Shop::start_with(with_receipts).await;
    paid_event(&shop, "e").await;
    paid_event(&shop, "later").await;
    let ann = shop.guest().await;
    let booking = buy(&ann, "e", "ann@example.org").await;
    let other = buy(&ann, "later", "ann@example.org").await;
    for id in [&booking, &other] {
        exported(&shop, &json!({"booking": id}), is_whole).await;
    }
    shop.clock.advance_ms(40 * DAY_MS);
    assert_eq!(erase(&shop).await, 0, "nothing is over");
    shop.organise_plainly("/events/e/close").await;
    assert_eq!(erase(&shop).await, 0);
    shop.clock.advance_ms(30 * DAY_MS - 1);
    assert_eq!(erase(&shop).await, 0, "a moment too early");
    shop.clock.advance_ms(1);
    assert_eq!(erase(&shop).await, 1);
    assert_eq!([is_known(&shop, &booking).await, is_known(&shop, &other).await], [false, true]);
    let kept = export(&shop, &json!({"booking": booking})).await.expect(200).json();
    let kept = &kept["bookings"][0];
    assert!(kept.get("buyer").is_none());
    assert_eq!(kept["receipts"][0]["number"], "R-1");
    assert!(kept["receipts"][0].get("buyer_name").is_none(), "{kept}");
    assert_eq!(kept["money"]["payments"][0]["captured_minor"], 2_500);
    assert_eq!(erase(&shop).await, 0);
    let metrics =
        crate::client::Request::new(shop.server.operator_addr().unwrap(), "GET", "/metrics");
    let metrics = String::from_utf8(metrics.send().await.body).unwrap();
    assert!(metrics.contains("onrush_buyers_erased_total 1"), "{metrics}");
}

#[tokio::test]
async fn nobody_is_erased_while_the_sale_is_closed_and_the_event_is_to_come() {
    let shop = Shop::start_with(with_receipts).await;
    paid_event(&shop, "e").await;
    let starts_at = shop.clock.now().0 + 100 * DAY_MS;
    shop.organise("PATCH", "/events/e", &json!({"starts_at": starts_at})).await;
    let ann = shop.guest().await;
    let booking = buy(&ann, "e", "ann@example.org").await;
    exported(&shop, &json!({"booking": booking}), is_whole).await;
    shop.organise_plainly("/events/e/close").await;
    assert_eq!(erase(&shop).await, 0);
    shop.clock.advance_ms(40 * DAY_MS);
    assert_eq!(erase(&shop).await, 0, "the doors open in sixty days");
    shop.clock.advance_ms(60 * DAY_MS);
    assert_eq!(erase(&shop).await, 0);
    shop.clock.advance_ms(30 * DAY_MS);
    assert_eq!(erase(&shop).await, 1);
    assert!(!is_known(&shop, &booking).await);
}

#[tokio::test]
async fn an_event_that_was_put_off_after_closing_keeps_who_bought_so_long_after_it_begins() {
    let shop = Shop::start_with(with_receipts).await;
    paid_event(&shop, "e").await;
    let ann = shop.guest().await;
    let booking = buy(&ann, "e", "ann@example.org").await;
    exported(&shop, &json!({"booking": booking}), is_whole).await;
    shop.organise_plainly("/events/e/close").await;
    assert_eq!(erase(&shop).await, 0);
    let starts_at = shop.clock.now().0 + 100 * DAY_MS;
    shop.organise("PATCH", "/events/e", &json!({"starts_at": starts_at})).await;
    shop.clock.advance_ms(100 * DAY_MS);
    assert_eq!(erase(&shop).await, 0, "the doors are open");
    shop.clock.advance_ms(30 * DAY_MS - 1);
    assert_eq!(erase(&shop).await, 0, "a moment too early");
    shop.clock.advance_ms(1);
    assert_eq!(erase(&shop).await, 1);
    assert!(!is_known(&shop, &booking).await);
}

#[tokio::test]
async fn the_timer_erases_by_itself_and_nobody_where_it_is_not_set() {
    let shop = Shop::start_with(with_receipts).await;
    paid_event(&shop, "e").await;
    let ann = shop.guest().await;
    let booking = buy(&ann, "e", "ann@example.org").await;
    exported(&shop, &json!({"booking": booking}), is_whole).await;
    shop.organise_plainly("/events/e/close").await;
    assert_eq!(erase(&shop).await, 0);
    shop.clock.advance_ms(31 * DAY_MS);
    let restart = async |shop: Shop, days: u32| {
        let (dir, clock) = (shop.dir, shop.clock);
        shop.server.shutdown().await;
        Shop::start_in(dir, clock, |config| {
            with_receipts(config);
            config.retention.buyers_days = days;
        })
        .await
    };
    let shop = restart(shop, 0).await;
    assert_eq!(erase(&shop).await, 0);
    assert!(is_known(&shop, &booking).await);
    let shop = restart(shop, 30).await;
    let gone = async {
        while is_known(&shop, &booking).await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("erased by the timer");
}
