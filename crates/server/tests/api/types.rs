//! Ticket types over HTTP: set up, named, paid for, shown at the door, and their history.

use crate::money_admin::{unchunked, until};
use crate::prices::taxed_sale;
use crate::shop::{ADMIN_KEY, Shop};
use onrush_base::config::GatewayName;
use serde_json::{Value, json};

/// A sale of `ga` at 25.00 and of three seats at 9.01, both to adults and to children, who pay half
/// and show a proof; `ga` also to groups of 3 to 5 at 2.00 less.
async fn sale_with_types(shop: &Shop) {
    taxed_sale(shop, &json!({"name": "VAT", "rate_bp": 1_900})).await;
    set_types(shop).await;
}

async fn set_types(shop: &Shop) {
    let adult = json!({"id": "adult", "name": "Adult", "percent_bp": 10_000});
    let child =
        json!({"id": "child", "name": "Child, 6 to 12", "percent_bp": 5_000, "proof": true});
    let group = json!({"id": "group", "name": "Group", "less_minor": 200, "min": 3, "max": 5});
    let of_ga = json!({"pool": "ga", "types": [adult, child, group], "by": "ann", "why": "start"});
    shop.organise("PUT", "/events/e/types", &of_ga).await;
    let of_stalls =
        json!({"category": "Stalls", "types": [adult, child], "by": "ann", "why": "start"});
    shop.organise("PUT", "/events/e/types", &of_stalls).await;
}

/// Two adults and a child who stand, an adult and a child who sit.
fn mixed() -> Value {
    json!({"pools": {"ga": 3}, "seats": ["A-1", "A-2"],
        "types": {"pools": {"ga": {"child": 1}}, "seats": {"A-2": "child"}}})
}

fn child() -> Value {
    json!({"id": "child", "name": "Child, 6 to 12", "proof": true})
}

fn adult() -> Value {
    json!({"id": "adult", "name": "Adult", "proof": false})
}

#[tokio::test]
async fn everybody_sees_the_types_with_what_they_cost() {
    let shop = Shop::start().await;
    sale_with_types(&shop).await;
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!(
        left["pools"][0]["types"],
        json!([
            {"id": "adult", "name": "Adult", "price_minor": 2_500, "all_in_minor": 2_625,
                "percent_bp": 10_000, "min": 0, "proof": false},
            {"id": "child", "name": "Child, 6 to 12", "price_minor": 1_250, "all_in_minor": 1_313,
                "percent_bp": 5_000, "min": 0, "proof": true},
            {"id": "group", "name": "Group", "price_minor": 2_300, "all_in_minor": 2_415,
                "less_minor": 200, "min": 3, "max": 5, "proof": false},
        ])
    );
    assert_eq!(left["categories"][0]["types"][1]["price_minor"], 451);
}

#[tokio::test]
async fn one_line_mixes_types_and_its_quote_its_booking_and_its_summary_agree() {
    let shop = Shop::start().await;
    sale_with_types(&shop).await;
    let quoted = shop.ask("POST", "/events/e/quote").json(&mixed()).send().await;
    let quoted = quoted.expect(200).json();
    let line = |of: Value, of_type: Value, quantity: u32, price_minor: i64| {
        let amount_minor = i64::from(quantity) * price_minor;
        let mut line = json!({"type": of_type, "quantity": quantity, "price_minor": price_minor,
            "amount_minor": amount_minor});
        line.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
        line
    };
    let mut lines = quoted["lines"].clone();
    for line in lines.as_array_mut().unwrap() {
        let line = line.as_object_mut().unwrap();
        let parts = ["net_minor", "tax_minor"].map(|part| line.remove(part).unwrap());
        let [net_minor, tax_minor] = parts.map(|part| part.as_i64().unwrap());
        assert_eq!(json!(net_minor + tax_minor), line["amount_minor"]);
    }
    // 76.02 and 5 % of it, and 1.00.
    let expected = json!([
        line(json!({"pool": "ga"}), adult(), 2, 2_500),
        line(json!({"pool": "ga"}), child(), 1, 1_250),
        line(json!({"seat": "A-1"}), adult(), 1, 901),
        line(json!({"seat": "A-2"}), child(), 1, 451),
        {"amount_minor": 480},
    ]);
    assert_eq!((&lines, &quoted["amount_minor"]), (&expected, &json!(8_082)));

    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &mixed()).await.expect(201).json();
    assert_eq!(held["amount_minor"], 8_082);
    let types = json!([
        {"type": adult(), "price_minor": 2_500, "pools": {"ga": 2}},
        {"type": child(), "price_minor": 1_250, "pools": {"ga": 1}},
        {"type": adult(), "price_minor": 901, "seats": ["A-1"]},
        {"type": child(), "price_minor": 451, "seats": ["A-2"]},
    ]);
    assert_eq!(held["types"], types);
    let booking = held["booking"].as_str().unwrap();
    // Whatever types and prices are later, what is held keeps its own.
    let gone = json!({"pool": "ga", "types": [], "by": "ann", "why": "over"});
    shop.organise("PUT", "/events/e/types", &gone).await;
    let dearer = json!({"pool": "ga", "price_minor": 9_900, "by": "ann", "why": "late"});
    shop.organise("PUT", "/events/e/prices", &dearer).await;
    let summary = guest.get(&format!("/bookings/{booking}/summary")).await.expect(200).json();
    for member in ["amount_minor", "lines", "tax"] {
        assert_eq!(quoted[member], summary[member], "{member}");
    }
    let shown = guest.get(&format!("/bookings/{booking}")).await.expect(200).json();
    assert_eq!(shown["types"], types);
}

#[tokio::test]
async fn the_table_of_bookings_tells_how_many_units_are_of_which_type() {
    let shop = Shop::start().await;
    sale_with_types(&shop).await;
    let guest = shop.guest().await;
    guest.hold("e", "typed", &mixed()).await.expect(201);
    let gone = json!({"category": "Stalls", "types": [], "by": "ann", "why": "over"});
    shop.organise("PUT", "/events/e/types", &gone).await;
    let seat = json!({"pools": {}, "seats": ["A-3"]});
    shop.guest().await.hold("e", "untyped", &seat).await.expect(201);
    let are_two = |answer: &Value| answer["bookings"].as_array().unwrap().len() == 2;
    until(&shop, "/bookings", are_two).await;
    let table = shop.admin("GET", "/bookings.csv").send().await.expect(200);
    let text = unchunked(&table);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let place = reader.headers().unwrap().iter().position(|name| name == "types").unwrap();
    let rows = reader.records().map(Result::unwrap);
    let mut types: Vec<String> = rows.map(|row| row[place].to_owned()).collect();
    types.sort();
    assert_eq!(types, ["", "ga=2*adult ga=1*child A-1=1*adult A-2=1*child"]);
}

#[tokio::test]
async fn a_retry_names_the_same_types() {
    let shop = Shop::start().await;
    sale_with_types(&shop).await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &mixed()).await.expect(201).json();
    let again = guest.hold("e", "k", &mixed()).await.expect(201).json();
    assert_eq!(again["booking"], held["booking"]);
    let mut other = mixed();
    other["types"]["seats"] = json!({"A-1": "child"});
    assert_eq!(guest.hold("e", "k", &other).await.problem(), (422, "BOOKING_MISMATCH".into()));
    other.as_object_mut().unwrap().remove("types");
    assert_eq!(guest.hold("e", "k", &other).await.problem(), (422, "BOOKING_MISMATCH".into()));
}

#[tokio::test]
async fn the_best_seats_have_types_too() {
    let shop = Shop::start().await;
    sale_with_types(&shop).await;
    let guest = shop.guest().await;
    let wish = json!({"best": {"quantity": 3}, "types": {"best": {"child": 2}}});
    let held = guest.hold("e", "k", &wish).await.expect(201).json();
    assert_eq!(
        held["types"],
        json!([
            {"type": adult(), "price_minor": 901, "seats": ["A-1"]},
            {"type": child(), "price_minor": 451, "seats": ["A-2", "A-3"]},
        ])
    );
    assert_eq!(held["amount_minor"], (901 + 2 * 451) + 90 + 100);
}

fn wish(pools: Value, seats: Value, types: Value) -> Value {
    json!({"pools": pools, "seats": seats, "types": types})
}

#[tokio::test]
async fn types_that_there_are_not_and_numbers_that_may_not_be_are_refused() {
    let shop = Shop::start().await;
    sale_with_types(&shop).await;
    let guest = shop.guest().await;
    let of_ga = |quantity: u32, types: Value| {
        wish(json!({"ga": quantity}), json!([]), json!({"pools": {"ga": types}}))
    };
    for (nth, (wish, status, code)) in [
        (of_ga(1, json!({"senior": 1})), 404, "TYPE_NOT_FOUND"),
        (of_ga(2, json!({"group": 2})), 409, "TYPE_LIMIT"),
        (of_ga(6, json!({"group": 6})), 409, "TYPE_LIMIT"),
        (of_ga(1, json!({"child": 2})), 422, "INVALID_LINES"),
        (of_ga(1, json!({"child": 0})), 422, "INVALID_QUANTITY"),
        (of_ga(1, json!({"child": 0.5})), 422, "INVALID_BODY"),
        (of_ga(1, json!({"a:b": 1})), 400, "INVALID_ID"),
        (
            wish(json!({}), json!(["A-1"]), json!({"seats": {"A-1": "group"}})),
            404,
            "TYPE_NOT_FOUND",
        ),
        (wish(json!({}), json!(["A-1"]), json!({"seats": {"A-2": "child"}})), 422, "INVALID_LINES"),
        (wish(json!({"ga": 1}), json!([]), json!({"best": {"child": 1}})), 422, "INVALID_LINES"),
        (wish(json!({"ga": 1}), json!([]), json!({"ga": {"child": 1}})), 422, "INVALID_BODY"),
        (wish(json!({"ga": 1}), json!([]), json!([])), 422, "INVALID_BODY"),
    ]
    .into_iter()
    .enumerate()
    {
        let told = guest.hold("e", &format!("k{nth}"), &wish).await.problem();
        assert_eq!(told, (status, code.to_owned()), "held: {wish}");
        let quoted = shop.ask("POST", "/events/e/quote").json(&wish).send().await;
        if code == "TYPE_LIMIT" {
            quoted.expect(200);
        } else {
            assert_eq!(quoted.problem(), (status, code.to_owned()), "quoted: {wish}");
        }
    }
    let limit = guest.hold("e", "limit", &of_ga(2, json!({"group": 2}))).await.json();
    assert_eq!(
        (&limit["ticket_type"], &limit["of"], &limit["min"], &limit["max"], &limit["asked"]),
        (&json!("group"), &json!({"pool": "ga"}), &json!(3), &json!(5), &json!(2))
    );
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!(left["pools"][0]["free"], 10, "nothing was held");
}

#[tokio::test]
async fn the_door_asks_for_a_proof_where_the_type_needs_one() {
    let shop = Shop::start_with(|config| config.gateway = GatewayName::Sandbox).await;
    let event = json!({"event": "e", "title": "Gifts", "currency": "EUR", "room": null});
    shop.organise("POST", "/events", &event).await;
    shop.add_pool("e", "ga", 10, 0).await;
    shop.organise_plainly("/events/e/open").await;
    let plan = json!({"plan": crate::seat_maps::small_house(), "prices": {"Stalls": 0}});
    shop.organise("PUT", "/events/e/seat-map", &plan).await;
    set_types(&shop).await;
    let guest = shop.guest().await;
    let booking = guest.hold("e", "k", &mixed()).await.expect(201).text("booking");
    guest.ask("POST", &format!("/bookings/{booking}/confirm")).send().await.expect(200);
    let shown = guest.get(&format!("/bookings/{booking}/tickets")).await.expect(200).json();
    let tickets = shown["tickets"].as_array().unwrap();
    let types: Vec<_> = tickets.iter().map(|ticket| ticket["type"].clone()).collect();
    assert_eq!(types, [adult(), adult(), child(), adult(), child()]);
    for (ticket, of_type) in tickets.iter().zip(types) {
        let scanned = json!({"code": ticket["code"]});
        let told = shop.ask("POST", "/check-in").bearer(ADMIN_KEY).json(&scanned).send().await;
        assert_eq!(told.expect(200).json()["type"], of_type);
    }
}

#[tokio::test]
async fn a_claim_costs_what_the_first_type_does() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let free = json!([{"id": "gift", "name": "Gift", "price_minor": 0}]);
    let paid = json!([{"id": "paid", "name": "Paid", "price_minor": 100}]);
    let guest = shop.guest().await;
    let claim = |key: &'static str| {
        guest.ask("POST", "/events/e/pools/ga/claims").key(key).json(&json!({"quantity": 1})).send()
    };
    let set = |types: &Value| json!({"pool": "ga", "types": types, "by": "ann", "why": "x"});
    shop.organise("PUT", "/events/e/types", &set(&free)).await;
    claim("a").await.expect(201);
    shop.organise("PUT", "/events/e/types", &set(&paid)).await;
    assert_eq!(claim("b").await.problem(), (402, "PAYMENT_REQUIRED".into()));
}

#[tokio::test]
async fn the_organiser_sees_types_and_how_they_changed() {
    let shop = Shop::start().await;
    sale_with_types(&shop).await;
    // The same again changes nothing.
    set_types(&shop).await;
    let gone = json!({"pool": "ga", "types": [], "by": "bob", "why": "adults only"});
    shop.organise("PUT", "/events/e/types", &gone).await;
    let shown = shop.admin("GET", "/events/e/types").send().await.expect(200).json();
    assert_eq!(shown["pools"][0].get("types"), None);
    assert_eq!(shown["categories"][0]["types"][0]["name"], "Adult");
    let history = shown["history"].as_array().unwrap();
    let facts: Vec<_> =
        history.iter().map(|it| (&it["by"], &it["why"], &it["pool"], &it["category"])).collect();
    let null = Value::Null;
    assert_eq!(
        facts,
        [
            (&json!("admin"), &json!("start"), &json!("ga"), &null),
            (&json!("admin"), &json!("start"), &null, &json!("Stalls")),
            (&json!("admin"), &json!("adults only"), &json!("ga"), &null),
        ]
    );
    assert_eq!(history[0]["types"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn types_that_cannot_be_are_refused_by_their_member() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &Value::Null).await;
    let one = json!({"id": "adult", "name": "Adult", "price_minor": 1_000});
    let with = |member: &str, value: Value| {
        let mut changed = one.clone();
        changed[member] = value;
        json!([changed])
    };
    let nth_type = |nth: u32| json!({"id": nth.to_string(), "name": "x", "percent_bp": 1});
    let many: Vec<_> = (0..21).map(nth_type).collect();
    for (types, status, code, field) in [
        (with("id", json!("a b")), 400, "INVALID_ID", "types[0].id"),
        (with("name", json!("")), 422, "INVALID_SETTINGS", "types"),
        (with("name", json!("a\u{202e}b")), 422, "INVALID_SETTINGS", "types"),
        (with("price_minor", json!(-1)), 422, "INVALID_SETTINGS", "types"),
        (with("percent_bp", json!(5_000)), 422, "INVALID_BODY", "types[0].price_minor"),
        (json!([{"id": "adult", "name": "Adult"}]), 422, "INVALID_BODY", "types[0].price_minor"),
        (json!([{"id": "a", "name": "A", "percent_bp": 10_001}]), 422, "INVALID_SETTINGS", "types"),
        (with("max", json!(0)), 422, "INVALID_SETTINGS", "types"),
        (with("max", json!(1_001)), 422, "INVALID_SETTINGS", "types"),
        (with("min", json!(1_001)), 422, "INVALID_SETTINGS", "types"),
        (json!([one, one]), 422, "INVALID_SETTINGS", "types"),
        (json!(many), 422, "INVALID_SETTINGS", "types"),
    ] {
        let body = json!({"pool": "ga", "types": types, "by": "ann", "why": "x"});
        let refused = shop.admin("PUT", "/events/e/types").json(&body).send().await;
        assert_eq!(refused.json()["field"], field, "{body}");
        assert_eq!(refused.problem(), (status, code.to_owned()), "{body}");
    }
    let refused = |body: Value| shop.admin("PUT", "/events/e/types").json(&body).send();
    for (of, status, code) in [
        (json!({"pool": "gb"}), 409, "ZONE_NOT_FOUND"),
        (json!({"category": "Box"}), 409, "CATEGORY_NOT_FOUND"),
        (json!({"pool": "ga", "category": "Stalls"}), 422, "INVALID_BODY"),
        (json!({}), 422, "INVALID_BODY"),
    ] {
        let mut body = json!({"types": [one], "by": "ann", "why": "x"});
        body.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
        assert_eq!(refused(body).await.problem(), (status, code.to_owned()), "{of}");
    }
    let guest = shop.guest().await;
    let by_a_guest = guest.ask("PUT", "/admin/events/e/types").json(&json!({})).send().await;
    assert_eq!(by_a_guest.status, 401);
    let history = shop.admin("GET", "/events/e/types").send().await.expect(200).json();
    assert_eq!(history["history"], json!([]));
}
