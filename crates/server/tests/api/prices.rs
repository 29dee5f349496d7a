//! What buyers are told that things cost: fees inside from the first page on, and the tax in it.

use crate::seat_maps::small_house;
use crate::shop::Shop;
use onrush_base::config::GatewayName;
use onrush_core::hold::HoldStatus;
use onrush_ledger::booking::Booking;
use serde_json::{Value, json};

/// An event with a pool at 25.00 and three seats at 9.01, both with 5 % and 1.00 a booking on it.
pub(crate) async fn taxed_sale(shop: &Shop, tax: &Value) {
    let event = json!({"event": "e", "title": "Taxed", "currency": "EUR", "room": null,
        "fees": {"fixed_minor": 100, "percent_bp": 500}, "tax": tax});
    shop.organise("POST", "/events", &event).await;
    shop.add_pool("e", "ga", 10, 2_500).await;
    let plan = json!({"plan": small_house(), "prices": {"Stalls": 901}});
    shop.organise("PUT", "/events/e/seat-map", &plan).await;
    shop.organise_plainly("/events/e/open").await;
}

fn sum(lines: &Value, member: &str) -> i64 {
    lines.as_array().unwrap().iter().map(|line| line[member].as_i64().unwrap()).sum()
}

#[tokio::test]
async fn nobody_is_shown_less_than_what_one_costs() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &Value::Null).await;
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!(left["fee_per_booking_minor"], 100);
    assert_eq!(left["pools"][0]["all_in_minor"], 2_625);
    assert_eq!(left["categories"][0]["all_in_minor"], 946);
    let map = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    assert_eq!(map["categories"][0]["all_in_minor"], 946);
    let guest = shop.guest().await;
    for (key, wish, all_in_minor) in
        [("a", json!({"pools": {"ga": 1}}), 2_625), ("b", json!({"seats": ["A-1"]}), 946)]
    {
        let held = guest.hold("e", key, &wish).await.expect(201).json();
        assert_eq!(held["amount_minor"], all_in_minor + 100);
    }
}

#[tokio::test]
async fn the_map_tells_prices_with_the_fees_of_now() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &Value::Null).await;
    shop.ask("GET", "/events/e/seats").send().await.expect(200);
    shop.organise("PATCH", "/events/e", &json!({"fees": {"percent_bp": 1_000}})).await;
    let map = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    assert_eq!(map["categories"][0]["all_in_minor"], 991);
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!(left["categories"][0]["all_in_minor"], 991);
    assert_eq!(left.get("fee_per_booking_minor"), None);
}

#[tokio::test]
async fn a_summary_splits_the_tax_out_of_each_line_and_adds_up() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &json!({"name": "VAT", "rate_bp": 1_900})).await;
    let event = shop.ask("GET", "/events/e").send().await.expect(200).json();
    assert_eq!(event["tax"], json!({"name": "VAT", "rate_bp": 1_900}));
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 2}, "seats": ["A-1", "A-3"]});
    let booking = guest.hold("e", "k", &wish).await.expect(201).text("booking");
    let path = format!("/bookings/{booking}/summary");
    let summary = guest.get(&path).await.expect(200).json();
    // 68.02, 5 % of it, and 1.00.
    assert_eq!(summary["amount_minor"], 7_242);
    assert_eq!(
        summary["tax"],
        json!({"name": "VAT", "rate_bp": 1_900, "net_minor": 6_086, "tax_minor": 1_156})
    );
    let lines = &summary["lines"];
    assert_eq!(
        lines[0],
        json!({"pool": "ga", "quantity": 2, "price_minor": 2_500, "amount_minor": 5_000,
            "net_minor": 4_202, "tax_minor": 798})
    );
    assert_eq!((&lines[2]["seat"], &lines[2]["amount_minor"]), (&json!("A-3"), &json!(901)));
    assert_eq!(lines[3]["amount_minor"], 440);
    assert_eq!(lines[3].get("quantity"), None);
    assert_eq!(sum(lines, "amount_minor"), 7_242);
    assert_eq!(sum(lines, "net_minor"), 6_086);
    assert_eq!(sum(lines, "tax_minor"), 1_156);

    let stranger = shop.guest().await;
    assert_eq!(stranger.get(&path).await.problem(), (404, "RESERVATION_NOT_FOUND".into()));
}

#[tokio::test]
async fn without_a_tax_a_summary_tells_of_none() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &Value::Null).await;
    let guest = shop.guest().await;
    let booking =
        guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201).text("booking");
    let summary = guest.get(&format!("/bookings/{booking}/summary")).await.expect(200).json();
    assert_eq!(summary.get("tax"), None);
    assert_eq!(
        (sum(&summary["lines"], "net_minor"), sum(&summary["lines"], "tax_minor")),
        (2_725, 0)
    );
}

#[tokio::test]
async fn a_tax_that_cannot_be_is_refused_by_its_member_and_none_is_changed_later() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let change = |tax: Value| shop.admin("PATCH", "/events/e").json(&json!({"tax": tax})).send();
    for (tax, field) in [
        (json!({"name": " ", "rate_bp": 700}), "tax.name"),
        (json!({"name": "VAT", "rate_bp": 10_001}), "tax.rate_bp"),
    ] {
        let refused = change(tax).await;
        assert_eq!(refused.json()["field"], field);
        assert_eq!(refused.problem(), (422, "INVALID_SETTINGS".into()));
    }
    assert_eq!(change(json!({"name": "VAT"})).await.problem(), (422, "INVALID_BODY".into()));
    let late = change(json!({"name": "VAT", "rate_bp": 700})).await;
    assert_eq!(late.problem(), (409, "SETTINGS_FIXED".into()));
    let event = shop.ask("GET", "/events/e").send().await.expect(200).json();
    assert_eq!(event.get("tax"), None);
}

#[tokio::test]
async fn the_organiser_sees_how_much_of_a_booking_is_tax() {
    let shop = Shop::start_with(|config| config.gateway = GatewayName::Sandbox).await;
    taxed_sale(&shop, &json!({"name": "VAT", "rate_bp": 700})).await;
    let guest = shop.guest().await;
    let booking =
        guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201).text("booking");
    guest.pay(&booking, "p").await.expect(201);
    // The ledger follows the engine.
    let path = format!("/bookings?text={booking}");
    let found = loop {
        let found = shop.admin("GET", &path).send().await.expect(200).json();
        if found["bookings"][0].is_object() {
            break found;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(
        found["bookings"][0]["tax"],
        json!({"name": "VAT", "rate_bp": 700, "net_minor": 2_547, "tax_minor": 178})
    );
}

fn change(of: &Value, price_minor: i64, later: &Value) -> Value {
    let mut body = json!({"price_minor": price_minor, "later": later, "by": "ann", "why": "late"});
    for (name, value) in of.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// What a line of a summary costs, by its pool or seat.
fn cost(summary: &Value, of: &str) -> i64 {
    let lines = summary["lines"].as_array().unwrap();
    let line = lines.iter().find(|line| line["pool"] == of || line["seat"] == of).unwrap();
    line["amount_minor"].as_i64().unwrap()
}

#[tokio::test]
async fn a_changed_price_is_for_the_next_and_every_summary_tells_its_own() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &json!({"name": "VAT", "rate_bp": 1_900})).await;
    let guest = shop.guest().await;
    let before = guest.hold("e", "before", &json!({"pools": {"ga": 2}, "seats": ["A-1"]})).await;
    shop.ask("GET", "/events/e/seats").send().await.expect(200);
    for of in [json!({"pool": "ga"}), json!({"category": "Stalls"})] {
        shop.organise("PUT", "/events/e/prices", &change(&of, 4_000, &json!([]))).await;
    }
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!(left["pools"][0]["all_in_minor"], 4_200);
    assert_eq!(left["categories"][0]["price_minor"], 4_000);
    let map = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    assert_eq!(map["categories"][0]["price_minor"], 4_000);
    let after = guest.hold("e", "after", &json!({"pools": {"ga": 1}, "seats": ["A-2"]})).await;
    let (before, after) = (before.expect(201).json(), after.expect(201).json());
    assert_eq!(after["amount_minor"], 8_500);
    let summary_of = async |held: &Value| {
        let path = format!("/bookings/{}/summary", held["booking"].as_str().unwrap());
        guest.get(&path).await.expect(200).json()
    };
    let check = async || {
        let (first, second) = (summary_of(&before).await, summary_of(&after).await);
        assert_eq!((cost(&first, "ga"), cost(&first, "A-1")), (5_000, 901));
        assert_eq!((cost(&second, "ga"), cost(&second, "A-2")), (4_000, 4_000));
        assert_eq!(sum(&second["lines"], "amount_minor"), 8_500);
    };
    check().await;
    // A day later the rules have forgotten both, and the ledger has not.
    let ledger = shop.server.ledger();
    for held in [&before, &after] {
        let id = held["booking"].as_str().unwrap();
        guest.ask("POST", &format!("/bookings/{id}/cancel")).send().await.expect(200);
        let id = id.parse().unwrap();
        let is_released = |known: &Booking| known.status == HoldStatus::Released;
        while !ledger.booking(&id).await.unwrap().as_ref().is_some_and(is_released) {
            tokio::task::yield_now().await;
        }
    }
    shop.clock.advance_ms(25 * 3_600_000);
    for held in [&before, &after] {
        let tickets = format!("/bookings/{}/tickets", held["booking"].as_str().unwrap());
        while guest.get(&tickets).await.status != 404 {
            tokio::task::yield_now().await;
        }
    }
    check().await;
}

#[tokio::test]
async fn a_price_to_come_is_told_and_holds_from_its_time_on() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &Value::Null).await;
    let from = shop.clock.now().0 + 60_000;
    let later = json!([{"from": from, "price_minor": 3_000}]);
    shop.organise("PUT", "/events/e/prices", &change(&json!({"pool": "ga"}), 2_000, &later)).await;
    let stalls = json!({"category": "Stalls"});
    let dearer = json!([{"from": from, "price_minor": 2_000}]);
    shop.organise("PUT", "/events/e/prices", &change(&stalls, 901, &dearer)).await;
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!(
        left["pools"][0]["later"],
        json!([{"from": from, "price_minor": 3_000, "all_in_minor": 3_150}])
    );
    let map = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    assert_eq!(map["categories"][0]["later"][0]["all_in_minor"], 2_100);
    let guest = shop.guest().await;
    let early = guest.hold("e", "early", &json!({"pools": {"ga": 1}})).await.expect(201).json();
    assert_eq!(early["amount_minor"], 2_200);
    shop.clock.advance_ms(60_000);
    let late = guest.hold("e", "late", &json!({"pools": {"ga": 1}})).await.expect(201).json();
    assert_eq!(late["amount_minor"], 3_250);
    let told = shop.admin("GET", "/events/e/prices").send().await.expect(200).json();
    assert_eq!(told["pools"][0]["price_minor"], 3_000);
    assert_eq!(told["pools"][0].get("later"), None);
    let history: Vec<_> = told["history"].as_array().unwrap().iter().collect();
    let of = |step: &Value| step.get("pool").or(step.get("category")).cloned().unwrap();
    let steps: Vec<_> = history
        .iter()
        .map(|step| (of(step), step["before_minor"].clone(), step["price_minor"].clone()))
        .collect();
    assert_eq!(
        steps,
        [
            (json!("ga"), json!(2_500), json!(2_000)),
            (json!("Stalls"), json!(901), json!(901)),
            (json!("Stalls"), json!(901), json!(2_000)),
            (json!("ga"), json!(2_000), json!(3_000)),
        ]
    );
    assert_eq!((&history[0]["by"], &history[0]["why"]), (&json!("admin"), &json!("late")));
    assert_eq!((history[3].get("by"), history[3].get("why")), (None, None));
    let map = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    assert_eq!(map["categories"][0]["price_minor"], 2_000);
    assert_eq!(map["categories"][0].get("later"), None);
}

#[tokio::test]
async fn a_price_that_cannot_be_is_refused_and_changes_nothing() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &Value::Null).await;
    let now = shop.clock.now().0;
    let (ga, stalls) = (json!({"pool": "ga"}), json!({"category": "Stalls"}));
    let step = |from: i64| json!([{"from": from, "price_minor": 1}]);
    for (of, price_minor, later, expected, field) in [
        (&ga, -1, json!([]), (422, "INVALID_SETTINGS"), Some("price_minor")),
        (&stalls, 1, step(now), (422, "INVALID_SETTINGS"), Some("later")),
        (&stalls, 1, step(now / 1_000), (422, "INVALID_SETTINGS"), Some("later")),
        (&json!({"pool": "gb"}), 1, json!([]), (409, "ZONE_NOT_FOUND"), None),
        (&json!({"category": "gods"}), 1, json!([]), (409, "CATEGORY_NOT_FOUND"), None),
        (
            &json!({"pool": "ga", "category": "Stalls"}),
            1,
            json!([]),
            (422, "INVALID_BODY"),
            Some("pool"),
        ),
        (&json!({}), 1, json!([]), (422, "INVALID_BODY"), Some("pool")),
    ] {
        let body = change(of, price_minor, &later);
        let answer = shop.admin("PUT", "/events/e/prices").json(&body).send().await;
        assert_eq!(answer.problem(), (expected.0, expected.1.into()), "{body}");
        assert_eq!(answer.json()["field"].as_str(), field, "{body}");
    }
    let refused = shop.ask("PUT", "/admin/events/e/prices").json(&change(&ga, 1, &json!([])));
    assert_eq!(refused.send().await.problem(), (401, "TOKEN_MISSING".into()));
    let told = shop.admin("GET", "/events/e/prices").send().await.expect(200).json();
    assert_eq!(told["history"], json!([]));
    assert_eq!(told["pools"][0]["price_minor"], 2_500);
}
