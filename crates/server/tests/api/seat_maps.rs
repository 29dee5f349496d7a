//! Seat maps: import, drawing, statuses.

use crate::shop::Shop;
use flate2::read::GzDecoder;
use onrush_core::Command;
use onrush_store::Failure;
use onrush_store::embedded::{Asked, LostAnswers};
use serde_json::{Value, json};
use std::io::Read;

/// A house of three free seats in one row.
pub(crate) fn small_house() -> Value {
    let seat = |number: u32| {
        json!({"seat_guid": format!("A-{number}"), "seat_number": number.to_string(),
            "position": {"x": 10 * number, "y": 0}, "category": "Stalls"})
    };
    json!({
        "name": "Small house", "size": {"width": 50, "height": 20},
        "categories": [{"name": "Stalls", "color": "#aa3333"}],
        "zones": [{"name": "Floor", "position": {"x": 1, "y": 2}, "zone_id": "z", "rows": [
            {"row_number": "A", "position": {"x": 0, "y": 5}, "seats": [seat(1), seat(2), seat(3)]}]}]
    })
}

pub(crate) async fn import_small_house(shop: &Shop, event: &str) {
    let body = json!({"plan": small_house(), "prices": {"Stalls": 0}});
    shop.organise("PUT", &format!("/events/{event}/seat-map"), &body).await;
}

#[tokio::test]
async fn an_imported_map_is_drawn_with_prices_and_statuses() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let empty = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    assert_eq!((&empty["seats"], &empty["categories"]), (&json!([]), &json!([])));
    let body = json!({"plan": small_house(), "prices": {"Stalls": 900}});
    let event = shop.organise("PUT", "/events/e/seat-map", &body).await;
    assert_eq!(event["units"]["free"], 13);
    let map = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    assert_eq!(map["name"], "Small house");
    assert_eq!(map["size"], json!({"width": 50.0, "height": 20.0}));
    assert_eq!(
        map["categories"],
        json!([{"name": "Stalls", "color": "#aa3333", "price_minor": 900, "all_in_minor": 900}])
    );
    assert_eq!(
        map["seats"][1],
        json!({"id": "A-2", "section": "Floor", "row": "A", "number": "2", "category": "Stalls",
            "x": 21.0, "y": 7.0, "status": "free"})
    );
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"seats": ["A-2"]})).await.expect(201).json();
    assert_eq!(held["amount_minor"], 900);
    let statuses = shop.ask("GET", "/events/e/seats/status").send().await.expect(200).json();
    assert_eq!((&statuses["seats"], &statuses["status"]), (&json!(3), &json!("fhf")));
    let release = format!("/bookings/{}/cancel", held["booking"].as_str().unwrap());
    guest.ask("POST", &release).send().await.expect(200);
    let statuses = shop.ask("GET", "/events/e/seats/status").send().await.expect(200).json();
    assert_eq!(statuses["status"], "fff");
}

#[tokio::test]
async fn seats_that_are_sent_later_are_ranked_after_those_that_are_there() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    import_small_house(&shop, "e").await;
    let mut balcony = small_house();
    for (nth, id) in ["B-1", "B-2", "B-3"].into_iter().enumerate() {
        balcony["zones"][0]["rows"][0]["seats"][nth]["seat_guid"] = json!(id);
    }
    balcony["zones"][0]["rows"][0]["seats"][2]["rank"] = json!(0);
    let body = json!({"plan": balcony, "prices": {"Stalls": 0}});
    shop.organise("PUT", "/events/e/seat-map", &body).await;
    let feed = shop.admin("GET", "/feed?event=e&limit=1000").send().await.expect(200).json();
    let entries = feed["entries"].as_array().unwrap().iter();
    let changes = entries.flat_map(|entry| entry["changes"].as_array().unwrap());
    let added = changes.filter_map(|change| change["seats_added"]["seats"].as_array()).flatten();
    let ranks: Vec<_> = added.map(|seat| seat["rank"].as_u64().unwrap_or(0)).collect();
    let (first, later) = ranks.split_at(3);
    assert_eq!(later[2], 0, "the plan says so: {ranks:?}");
    assert!(later[..2].iter().all(|rank| rank > first.iter().max().unwrap()), "{ranks:?}");

    // Also where the first plan says how good its seats are.
    shop.flash_sale("given").await;
    let mut given = small_house();
    for seat in given["zones"][0]["rows"][0]["seats"].as_array_mut().unwrap() {
        seat["rank"] = json!(400);
    }
    for (nth, plan) in [&given, &balcony].into_iter().enumerate() {
        let body = json!({"plan": plan, "prices": {"Stalls": 0}});
        shop.organise("PUT", "/events/given/seat-map", &body).await;
        let feed = shop.admin("GET", "/feed?event=given&limit=1000").send().await.expect(200);
        let rank = format!("\"rank\":{}", 400 + nth);
        assert!(String::from_utf8_lossy(&feed.body).contains(&rank), "{rank}");
    }
}

#[tokio::test]
async fn seats_that_are_sent_later_are_beside_none_that_are_there() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    import_small_house(&shop, "e").await;
    // Of the same section and row: side by side these would be six.
    let later: Value =
        serde_json::from_str(&small_house().to_string().replace("\"A-", "\"B-")).unwrap();
    let body = json!({"plan": later, "prices": {"Stalls": 0}});
    shop.organise("PUT", "/events/e/seat-map", &body).await;
    let guest = shop.guest().await;
    let wish = json!({"best": {"quantity": 4, "together": "must"}});
    let refused = guest.hold("e", "k", &wish).await;
    assert_eq!(refused.problem(), (409, "NOT_TOGETHER".into()));
    assert_eq!((&refused.json()["longest"], &refused.json()["free"]), (&json!(3), &json!(6)));
}

#[tokio::test]
async fn a_drawing_stays_as_it_is_while_its_seats_are_sold() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let mut house = small_house();
    house["zones"][0]["areas"] = json!([{"shape": "rectangle", "color": "#333",
        "position": {"x": 4, "y": 1}, "rectangle": {"width": 20, "height": 3},
        "text": {"text": "Stage", "position": {"x": 10, "y": 1}}}]);
    let body = json!({"plan": house, "prices": {"Stalls": 900}});
    shop.organise("PUT", "/events/e/seat-map", &body).await;
    let first = shop.ask("GET", "/events/e/seats/plan").send().await.expect(200);
    let tag = first.header("etag").unwrap_or_else(|| panic!("{first:?}")).to_owned();
    assert!(tag.starts_with('"'), "a strong tag: {tag}");
    let plan = first.json();
    let drawn = json!([{"x": 5.0, "y": 3.0, "outline": {"rectangle": [20.0, 3.0]}, "color": "#333",
        "text": {"text": "Stage", "x": 10.0, "y": 1.0}}]);
    assert_eq!(plan["areas"], drawn);
    assert_eq!(
        plan["rows"],
        json!([{"section": "Floor", "row": "A", "prefix": "A-", "ids": ["1", "2", "3"],
            "category": 0, "x": [1100, 1000, 1000], "y": [700, 0, 0]}])
    );
    let again = || shop.ask("GET", "/events/e/seats/plan").header("If-None-Match", &tag).send();
    let guest = shop.guest().await;
    guest.hold("e", "k", &json!({"seats": ["A-2"]})).await.expect(201);
    assert_eq!(again().await.expect(304).body.len(), 0, "a seat was held");
    let statuses = shop.ask("GET", "/events/e/seats/status").send().await.expect(200).json();
    assert_eq!((&statuses["plan"], &statuses["status"]), (&plan["version"], &json!("fhf")));
    // More seats are another drawing.
    let mut more = small_house();
    for seat in more["zones"][0]["rows"][0]["seats"].as_array_mut().unwrap() {
        seat["seat_guid"] = json!(seat["seat_guid"].as_str().unwrap().replace('A', "B"));
    }
    let body = json!({"plan": more, "prices": {"Stalls": 900}});
    shop.organise("PUT", "/events/e/seat-map", &body).await;
    let other = again().await.expect(200).json();
    assert_eq!((&other["seats"], &other["areas"]), (&json!(6), &drawn), "the stage stays");
    let statuses = shop.ask("GET", "/events/e/seats/status").send().await.expect(200).json();
    assert_eq!((&statuses["plan"], &statuses["status"]), (&other["version"], &json!("fhffff")));
}

#[tokio::test]
async fn a_plan_that_cannot_be_used_is_refused_whole_and_leaves_the_drawing_alone() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    import_small_house(&shop, "e").await;
    let before = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    let committed = shop.committed();
    // What is told is remembered for a moment; what is kept is in the file.
    let kept = || std::fs::read(shop.dir.path().join("plans/plan-e.json")).unwrap();
    let kept_before = kept();
    let import = |plan: &Value, prices: Value| {
        let body = json!({"plan": plan, "prices": prices});
        shop.admin("PUT", "/events/e/seat-map").json(&body).send()
    };
    let mut moved = small_house();
    moved["zones"][0]["position"]["x"] = json!(1_000);
    moved["zones"][0]["rows"][0]["seats"][0]["seat_guid"] = json!("B-1");
    let refused = import(&moved, json!({"Stalls": 0})).await;
    assert_eq!(refused.problem(), (409, "SEAT_EXISTS".into()));
    let mut odd = small_house();
    odd["zones"][0]["rows"][0]["seats"][2]["seat_guid"] = json!("A 3");
    let refused = import(&odd, json!({"Stalls": 0})).await;
    assert_eq!(refused.problem(), (409, "INVALID_PLAN".into()));
    assert!(refused.text("detail").contains("\"A 3\""), "{refused:?}");
    let refused = import(&small_house(), json!({})).await;
    assert_eq!(refused.problem(), (409, "INVALID_PLAN".into()));
    assert_eq!(import(&json!({"name": "x"}), json!({})).await.problem().1, "INVALID_BODY");
    // All of it new, but for the price of a known category.
    let text = small_house().to_string().replace("\"A-", "\"C-").replace("A 3", "C 3");
    let mut other: Value = serde_json::from_str(&text).unwrap();
    other["name"] = json!("Another house");
    other["size"]["width"] = json!(900);
    other["categories"][0]["color"] = json!("#123456");
    let refused = import(&other, json!({"Stalls": 1})).await;
    assert_eq!(refused.problem().0, 409, "{refused:?}");
    assert_eq!(shop.committed(), committed);
    let after = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    assert_eq!(after, before);
    assert_eq!(String::from_utf8(kept()), String::from_utf8(kept_before));
}

#[tokio::test]
async fn a_drawing_is_taken_back_where_the_engine_surely_added_no_seats() {
    let lost = LostAnswers::default();
    let shop = Shop::start_losing(&lost).await;
    shop.flash_sale("e").await;
    import_small_house(&shop, "e").await;
    let kept = || std::fs::read_to_string(shop.dir.path().join("plans/plan-e.json")).unwrap();
    let cases = [
        ("B", Failure::Busy { retry_after_ms: 1_000 }, "BUSY", true),
        ("C", Failure::DiskLow, "DISK_LOW", true),
        ("D", Failure::Rebuilding { retry_after_ms: 1_000 }, "EVENT_REBUILDING", true),
        ("E", Failure::Unreachable, "ENGINE_UNREACHABLE", false),
    ];
    for (row, failure, code, is_taken_back) in cases {
        let before = kept();
        let text = small_house().to_string().replace("\"A-", &format!("\"{row}-"));
        let plan: Value = serde_json::from_str(&text).unwrap();
        lost.lose(move |asked| match asked {
            Asked::Command(Command::AddSeats { .. }) => Some(failure.clone()),
            Asked::Command(_) | Asked::Query(_) => None,
        });
        let body = json!({"plan": plan, "prices": {"Stalls": 0}});
        let answer = shop.admin("PUT", "/events/e/seat-map").json(&body).send().await;
        assert_eq!(answer.problem(), (503, code.into()));
        assert_eq!(kept() == before, is_taken_back, "{code}");
    }
}

#[tokio::test]
async fn the_arena_of_the_examples_is_imported_and_shown() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/arena.json");
    let plan: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let names = plan["categories"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap());
    let prices: serde_json::Map<_, _> = names.map(|name| (name.to_owned(), json!(100))).collect();
    let body = json!({"plan": plan, "prices": prices});
    let event = shop.organise("PUT", "/events/e/seat-map", &body).await;
    let seats = event["units"]["free"].as_u64().unwrap() - 10;
    assert!(seats > 10_000, "{seats}");
    let map = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    assert_eq!(map["seats"].as_array().unwrap().len() as u64, seats);
}

#[tokio::test]
async fn a_known_map_is_not_sent_again_and_statuses_neither() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    import_small_house(&shop, "e").await;
    let guest = shop.guest().await;
    for path in ["/events/e/seats", "/events/e/seats/status"] {
        let first = shop.ask("GET", path).send().await.expect(200);
        let tag = first.header("etag").unwrap_or_else(|| panic!("{first:?}")).to_owned();
        let again = || shop.ask("GET", path).header("If-None-Match", &tag).send();
        let known = again().await.expect(304);
        assert_eq!((known.header("etag"), known.body.len()), (Some(tag.as_str()), 0));
        // What concerns no seat changes no map.
        guest.hold("e", path, &json!({"pools": {"ga": 1}})).await.expect(201);
        again().await.expect(304);
        let seat = if path.ends_with("status") { "A-1" } else { "A-2" };
        guest.hold("e", seat, &json!({"seats": [seat]})).await.expect(201);
        let changed = again().await.expect(200);
        assert_ne!(changed.header("etag"), Some(tag.as_str()));
    }
}

#[tokio::test]
async fn maps_and_statuses_come_compressed_to_whoever_can_read_that() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    import_small_house(&shop, "e").await;
    for path in ["/events/e/seats", "/events/e/seats/status", "/events/e/seats/plan"] {
        let plain = shop.ask("GET", path).send().await.expect(200);
        assert_eq!(plain.header("content-encoding"), None);
        let request = shop.ask("GET", path).header("Accept-Encoding", "gzip, deflate, br");
        let packed = request.send().await.expect(200);
        assert_eq!(packed.header("content-encoding"), Some("gzip"));
        assert_eq!(packed.header("content-type"), Some("application/json"));
        assert_eq!(packed.header("vary"), Some("accept-encoding"));
        let mut unpacked = Vec::new();
        GzDecoder::new(&*packed.body).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, plain.body);
        assert_eq!(packed.header("etag"), plain.header("etag"));
    }
}
