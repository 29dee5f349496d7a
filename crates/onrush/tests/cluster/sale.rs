//! What many nodes sell together.

use crate::cli_support::{ADMIN_KEY, run_json};
use crate::deployment::{Deployment, Process, until};
use crate::load::{create, sell_out};
use onrush_testkit::need;
use serde_json::{Value, json};

#[test]
fn a_booking_is_held_paid_and_confirmed_at_three_different_nodes() {
    let Some(deployment) = need(Deployment::start(3)) else { return };
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": null});
    create(&deployment, &event, &[("ga", 2, 2_500)]);
    let ann = deployment.nodes[0].visitor();
    let wish = json!({"pools": {"ga": 1}});
    let first = deployment.buy(&ann, "e", "one", &wish);
    let second = deployment.buy(&ann, "e", "two", &wish);
    assert_ne!(first, second);

    let path = "/api/v1/events/e/bookings";
    let bob = deployment.nodes[1].visitor();
    let (status, refused) = deployment.nodes[2].ask("POST", path, &bob, "three", &wish.to_string());
    assert_eq!((status, &refused["code"]), (409, &json!("INSUFFICIENT_STOCK")), "{refused}");
    let audit = until("the end of all sagas", || {
        let audit = deployment.audit();
        (audit["open_sagas"] == 0).then_some(audit)
    });
    assert_eq!((&audit["sold"], &audit["confirmed_minor"]), (&json!(2), &json!(5_000)), "{audit}");
}

#[test]
fn the_room_is_one_for_all_nodes_and_a_turn_is_heard_at_each() {
    let Some(deployment) = need(Deployment::start(3)) else { return };
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": {"capacity": 2}});
    create(&deployment, &event, &[("ga", 10, 0)]);
    let node = |number: usize| &deployment.nodes[number % 3];
    let join = |number: usize| {
        let visitor = node(number).visitor();
        let (status, place) = node(number).ask("POST", "/api/v1/events/e/queue", &visitor, "", "");
        assert_eq!(status, 202, "{place}");
        visitor
    };
    let visitors: Vec<_> = (0..5).map(join).collect();
    let status = |number: usize, at: usize| {
        let (_, place) = node(at).ask("GET", "/api/v1/events/e/queue", &visitors[number], "", "");
        (place["status"].clone(), place["position"].clone())
    };
    for first in [0, 1] {
        until("the first two are in", || (status(first, first + 1).0 == "active").then_some(()));
    }
    assert_eq!(status(2, 0), (json!("queued"), json!(1)));
    assert_eq!(status(4, 1), (json!("queued"), json!(3)));
    let mut streams: Vec<_> =
        (0..3).map(|at| node(at).listen("/api/v1/events/e/stream", &visitors[2])).collect();
    for stream in &mut streams {
        stream.until("position");
    }
    let (left, answer) = node(1).ask("DELETE", "/api/v1/events/e/queue", &visitors[0], "", "");
    assert_eq!(left, 200, "{answer}");
    for stream in &mut streams {
        stream.until("your_turn");
    }
    let stock = node(2).organise("GET", "/inventory-status?event=e", &Value::Null);
    assert_eq!(stock["events"][0]["active"], 2, "{stock}");
    assert_eq!(stock["events"][0]["waiting"], 2, "{stock}");
    deployment.audit();
}

/// Nodes tell positions from copies of their own, which are of different ages.
#[test]
fn positions_come_forward_only_whichever_node_tells_them_and_asking_is_a_sign_of_life() {
    let Some(deployment) = need(Deployment::start(2)) else { return };
    // A sign of life is due after ten seconds.
    let room = json!({"capacity": 1, "place_ttl_ms": 60_000, "arrive_ms": 600_000});
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": room});
    create(&deployment, &event, &[("ga", 10, 0)]);
    let node = |number: usize| &deployment.nodes[number % 2];
    let path = "/api/v1/events/e/queue";
    let join = |number: usize| {
        let visitor = node(number).visitor();
        let (status, place) = node(number).ask("POST", path, &visitor, "", "");
        assert_eq!(status, 202, "{place}");
        visitor
    };
    let visitors: Vec<_> = (0..12).map(join).collect();
    let last = visitors.last().expect("there are some");
    let (mut as_of, mut position, mut asked) = (String::new(), u64::MAX, 0);
    let mut look = || {
        let query = if as_of.is_empty() { String::new() } else { format!("?as_of={as_of}") };
        let (status, place) = node(asked).ask("GET", &format!("{path}{query}"), last, "", "");
        assert_eq!((status, &place["status"]), (200, &json!("queued")), "{place}");
        let now = place["position"].as_u64().expect("a position");
        assert!(now <= position, "{now} after {position}: {place}");
        as_of = place["as_of"].as_str().expect("a node says what its answers are of").to_owned();
        (asked, position) = (asked + 1, now);
        now
    };
    for (number, visitor) in visitors[1..11].iter().enumerate() {
        let (left, answer) = node(number / 2).ask("DELETE", path, visitor, "", "");
        assert_eq!(left, 200, "{answer}");
        for _ in 0..8 {
            look();
        }
    }
    until("the head of the line", || (look() == 1).then_some(()));
    until("a sign of life", || {
        look();
        let feed = node(0).organise("GET", "/feed?limit=1000&event=e", &Value::Null);
        feed.to_string().contains("place_seen").then_some(())
    });

    let (status, problem) = node(0).ask("GET", &format!("{path}?as_of=yesterday"), last, "", "");
    assert_eq!(status, 400, "{problem}");
    deployment.audit();
}

#[test]
fn tokens_and_links_are_good_at_every_node_and_a_code_works_once_at_any() {
    let Some(deployment) = need(Deployment::start(2)) else { return };
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": null});
    create(&deployment, &event, &[("ga", 2, 0)]);
    let [one, two] = [&deployment.nodes[0], &deployment.nodes[1]];
    let wish = json!({"pools": {"ga": 1}}).to_string();
    let ann = one.visitor();
    let (status, held) = one.ask("POST", "/api/v1/events/e/bookings", &ann, "k", &wish);
    assert_eq!(status, 201, "{held}");
    let booking = format!("/api/v1/bookings/{}", held["booking"].as_str().expect("an id"));
    let (status, confirmed) = two.ask("POST", &format!("{booking}/confirm"), &ann, "", "");
    assert_eq!(status, 200, "{confirmed}");
    let (status, renewed) = two.ask("POST", "/api/v1/visitors/renew", &ann, "", "");
    assert_eq!(status, 200, "{renewed}");
    let ann = renewed["token"].as_str().expect("a token");

    let (status, link) = one.ask("GET", &format!("{booking}/link"), ann, "", "");
    assert_eq!(status, 200, "{link}");
    let link = link["link"].as_str().expect("a link");
    let (status, tickets) = two.ask("GET", &format!("{booking}/tickets"), link, "", "");
    assert_eq!((status, tickets["tickets"].as_array().map(Vec::len)), (200, Some(1)), "{tickets}");
    assert_eq!(one.ask("POST", &format!("{booking}/link"), ann, "", "").0, 201);
    let (status, withdrawn) = two.ask("GET", &booking, link, "", "");
    assert_eq!((status, &withdrawn["code"]), (401, &json!("LINK_WITHDRAWN")), "{withdrawn}");

    let (status, code) = one.ask("POST", "/api/v1/visitors/carry", ann, "", "");
    assert_eq!(status, 201, "{code}");
    let typed = json!({ "code": code["code"] }).to_string();
    let take = &|at: usize| {
        let node = &deployment.nodes[at % 2];
        node.ask("POST", "/api/v1/visitors/carried", "", "", &typed).0
    };
    let mut answers: Vec<_> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..6).map(|at| scope.spawn(move || take(at))).collect();
        takers.into_iter().map(|taker| taker.join().expect("no panic")).collect()
    });
    answers.sort_unstable();
    assert_eq!(answers, [200, 404, 404, 404, 404, 404]);
}

#[test]
fn inventory_is_brought_into_the_pools_at_any_node_and_drift_is_explained() {
    let Some(deployment) = need(Deployment::start(2)) else { return };
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": null});
    create(&deployment, &event, &[("ga", 10, 0)]);
    let buyer = deployment.nodes[0].visitor();
    let wish = json!({"pools": {"ga": 4}}).to_string();
    let path = "/api/v1/events/e/bookings";
    assert_eq!(deployment.nodes[1].ask("POST", path, &buyer, "k", &wish).0, 201);
    let wants = |rows: &str| {
        let sql = format!("DELETE FROM inventory; INSERT INTO inventory VALUES {rows}");
        deployment.postgres.sql(&deployment.postgres.url(), &sql).expect("rows are written");
    };
    let status = || {
        let status = deployment.nodes[1].organise("GET", "/inventory-status", &Value::Null);
        status["events"][0].clone()
    };

    wants("('e', 'ga', 12, 0), ('e', 'vip', 5, 100), ('other', 'ga', 1, 0)");
    let before = status();
    assert_eq!(before["pools"][0]["drift"]["difference"], -2, "{before}");
    assert_eq!(before["missing_pools"], json!(["vip"]), "{before}");
    let done = deployment.nodes[1].organise("POST", "/sync-inventory", &Value::Null);
    let outcomes: Vec<_> =
        done["pools"].as_array().unwrap().iter().map(|p| &p["outcome"]).collect();
    assert_eq!(outcomes, ["adjusted", "added", "refused"], "{done}");
    let after = status();
    assert_eq!(after["pools"][0]["capacity"], 12, "{after}");
    assert_eq!(after["pools"][0]["free"], 8, "what is held stays held: {after}");
    assert_eq!(after["pools"][0]["drift"], Value::Null, "{after}");

    // Less than is held: refused and named, also by the command line.
    wants("('e', 'ga', 3, 0)");
    let node = format!("http://{}", deployment.nodes[0].address);
    let arguments = ["sync-inventory", "--json", "--url", &node, "--admin-key", ADMIN_KEY];
    let (code, done) = run_json(&arguments);
    assert_eq!(code, Some(1), "{done}");
    let why = done["pools"][0]["why"].as_str().expect("a sentence");
    assert!(why.starts_with("4 units are held, sold or blocked"), "{why}");
    let drift = status()["pools"][0]["drift"].clone();
    assert_eq!((&drift["wanted"], &drift["difference"]), (&json!(3), &json!(9)), "{drift}");
    deployment.audit();
}

#[test]
fn a_drawn_sale_is_opened_by_a_node_that_did_not_create_it() {
    let Some(deployment) = need(Deployment::start(3)) else { return };
    let nodes = &deployment.nodes;
    let event = json!({"event": "e", "title": "Show", "currency": "EUR",
        "room": {"capacity": 1, "order": "draw"}});
    nodes[0].organise("POST", "/events", &event);
    nodes[1].organise("POST", "/events/e/prequeue", &json!({}));
    let visitors: Vec<_> = (0..6)
        .map(|number| {
            let visitor = nodes[number % 3].visitor();
            let joined = nodes[number % 3].ask("POST", "/api/v1/events/e/queue", &visitor, "", "");
            assert_eq!(joined.0, 202, "{}", joined.1);
            visitor
        })
        .collect();
    nodes[2].organise("POST", "/events/e/prequeue/close", &json!({}));
    nodes[1].organise("POST", "/events/e/open", &json!({}));
    let places: Vec<_> = visitors
        .iter()
        .map(|visitor| nodes[2].ask("GET", "/api/v1/events/e/queue", visitor, "", "").1)
        .collect();
    let mut positions: Vec<_> = places.iter().filter_map(|p| p["position"].as_u64()).collect();
    positions.sort_unstable();
    until("one is in and five wait", || {
        let active = visitors.iter().filter(|visitor| {
            nodes[0].ask("GET", "/api/v1/events/e/queue", visitor, "", "").1["status"] == "active"
        });
        (active.count() == 1).then_some(())
    });
    // The draw is public now, and the same at each node.
    let draw = |node: usize| nodes[node].ask("GET", "/api/v1/events/e/draw", "", "", "");
    let (status, first) = draw(0);
    assert_eq!((status, &first["entrants"]), (200, &json!(6)), "{first}");
    assert!(first["seed"].is_string(), "{first}");
    assert_eq!(draw(2).1, first);
    deployment.audit();
}

#[test]
fn a_part_of_pages_that_one_node_has_is_found_at_nodes_of_other_versions() {
    let Some(mut deployment) = need(Deployment::start(0)) else { return };
    let pages = tempfile::tempdir().expect("a directory");
    let mut started = |version: &str| {
        let parts = pages.path().join(version).join("assets");
        std::fs::create_dir_all(&parts).expect("a directory");
        for file in [format!("{version}-0a1b2c3d.json"), format!(".{version}-0a1b2c3d.json")] {
            let content = json!({ "of": version }).to_string();
            std::fs::write(parts.join(file), content).expect("a file can be written");
        }
        deployment.start_node(|command| {
            command.env("ONRUSH_PAGES", pages.path().join(version));
        })
    };
    let (before, after) = (started("before"), started("after"));
    for (node, version) in [(&before, "after"), (&after, "before"), (&after, "after")] {
        let found = node.ask("GET", &format!("/assets/{version}-0a1b2c3d.json"), "", "", "");
        assert_eq!(found, (200, json!({ "of": version })));
        let hidden = format!("/assets/.{version}-0a1b2c3d.json");
        assert_eq!(node.ask("GET", &hidden, "", "", "").0, 404);
    }
    for none in ["/assets/none.json", "/assets/none-0a1b2c3d.json"] {
        assert_eq!(after.ask("GET", none, "", "", "").0, 404, "{none}");
    }
}

#[test]
fn a_flag_that_is_set_at_one_node_is_obeyed_by_all() {
    let Some(mut deployment) = need(Deployment::start(2)) else { return };
    let set = |node: &Process, flag: &str, percent: u8| {
        node.organise("PUT", &format!("/flags/{flag}"), &json!({ "percent": percent }));
    };
    let percent = |node: &Process, flag: &str| {
        let flags = node.organise("GET", "/flags", &Value::Null);
        let flags = flags["flags"].as_array().expect("a list").clone();
        flags.into_iter().find(|known| known["name"] == flag).expect("it is known")["percent"]
            .clone()
    };
    set(&deployment.nodes[0], "streams_queue", 10);
    until("the other node has heard", || {
        (percent(&deployment.nodes[1], "streams_queue") == 10).then_some(())
    });
    let bad = deployment.nodes[0].ask(
        "PUT",
        "/api/v1/admin/flags/fast",
        ADMIN_KEY,
        "",
        "{\"percent\":1}",
    );
    assert_eq!((bad.0, &bad.1["code"]), (404, &json!("FLAG_NOT_FOUND")), "{}", bad.1);
    // Back and forth in the middle of a sale.
    sell_out(&mut deployment, 30, |faulty| {
        for sold in 1..=12 {
            faulty.sale.until_sold(sold);
            for flag in ["streams_queue", "lua_atomic", "composite_score"] {
                let percent = [0, 50, 100][sold % 3];
                set(&faulty.deployment.nodes[sold % 2], flag, percent);
            }
        }
    });
}
