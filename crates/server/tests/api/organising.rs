//! What the organiser does: events, settings, stock, feed.

use crate::client::Request;
use crate::shop::Shop;
use serde_json::{Value, json};

#[tokio::test]
async fn settings_are_changed_one_by_one_and_null_removes() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Tour", "currency": "THB", "max_per_user": 4,
        "room": {"capacity": 50, "outflow_per_min": 600}});
    let made = shop.organise("POST", "/events", &body).await;
    assert_eq!(made["room"]["session_ms"], 600_000);
    assert_eq!(made["room"]["order"], "fifo");
    assert_eq!(made["phase"], "scheduled");
    let change = json!({"title": "Grand tour", "max_per_user": null, "room": {"capacity": 60}});
    let changed = shop.organise("PATCH", "/events/e", &change).await;
    assert_eq!(changed["title"], "Grand tour");
    assert_eq!(changed["room"]["capacity"], 60);
    assert_eq!(changed["room"]["outflow_per_min"], 600);
    assert!(changed.get("max_per_user").is_none());
    let room = shop.organise("PATCH", "/events/e/room", &json!({"outflow_per_min": null})).await;
    assert!(room["room"].get("outflow_per_min").is_none());
    let closed = shop.organise("PATCH", "/events/e", &json!({"room": null})).await;
    assert!(closed.get("room").is_none());
    let public = shop.ask("GET", "/events/e").send().await.expect(200).json();
    assert_eq!(public["title"], "Grand tour");
}

#[tokio::test]
async fn null_takes_fees_refunds_and_limits_away_and_lets_seats_be_alone() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Tour", "currency": "EUR",
        "starts_at": 4_000_000_000_000_i64, "refunds": [{"days_before": 7, "percent": 50}],
        "fees": {"fixed_minor": 150},
        "limits": [{"of": {"pool": "ga"}, "max_per_user": 2}], "single_seats": "refuse"});
    let made = shop.organise("POST", "/events", &body).await;
    assert_eq!(made["fees"], json!({"fixed_minor": 150, "percent_bp": 0}));
    let title = shop.organise("PATCH", "/events/e", &json!({"title": "Grand tour"})).await;
    for member in ["fees", "refunds", "limits", "single_seats"] {
        assert!(made.get(member).is_some(), "{member}");
        assert_eq!(title[member], made[member], "what is not named stays");
    }
    let change = json!({"fees": null, "refunds": null, "limits": null, "single_seats": null});
    let changed = shop.organise("PATCH", "/events/e", &change).await;
    for member in ["fees", "refunds", "limits"] {
        assert!(changed.get(member).is_none(), "{member}: {changed}");
    }
    assert_eq!(changed["single_seats"], "allow");
}

#[tokio::test]
async fn settings_that_somebody_else_changed_since_they_were_read_are_not_replaced() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Tour", "currency": "EUR",
        "starts_at": 4_000_000_000_000_i64, "fees": {"fixed_minor": 150}});
    shop.organise("POST", "/events", &body).await;
    let by_others = json!({
        "fees": {"fixed_minor": 150, "percent_bp": 500},
        "tax": {"name": "VAT", "rate_bp": 700},
        "refunds": [{"days_before": 7, "percent": 50}],
        "limits": [{"of": {"pool": "ga"}, "max_per_user": 2}],
    });
    let now = shop.organise("PATCH", "/events/e", &by_others).await;
    let cases = [
        ("fees", json!({"fixed_minor": 150}), json!({"fixed_minor": 200, "percent_bp": 0})),
        ("tax", Value::Null, json!({"name": "VAT", "rate_bp": 1_900})),
        ("refunds", json!([]), json!([{"days_before": 1, "percent": 100}])),
        ("limits", Value::Null, json!([{"of": {"category": "Stalls"}, "max_per_user": 4}])),
    ];
    for (field, was, to_be) in cases {
        let change = json!({"title": "Mine", field: to_be, "was": {field: was}});
        let refused = shop.admin("PATCH", "/events/e").json(&change).send().await;
        assert_eq!(refused.problem(), (409, "SETTINGS_CHANGED".into()), "{change}");
        assert_eq!(refused.json()["field"], field);
        let event = shop.ask("GET", "/events/e").send().await.expect(200).json();
        assert_eq!((&event["title"], &event[field]), (&json!("Tour"), &now[field]), "{change}");

        // What stays is not compared, and neither is what nobody says was read.
        shop.organise("PATCH", "/events/e", &json!({"title": "Tour", "was": {field: was}})).await;
        let read = json!({field: to_be, "was": {field: now[field]}});
        // The answer to the first of the two was not heard.
        for _ in 0..2 {
            let changed = shop.organise("PATCH", "/events/e", &read).await;
            assert_ne!(changed[field], now[field], "{read}");
        }
        shop.organise("PATCH", "/events/e", &json!({field: by_others[field]})).await;
    }
}

#[tokio::test]
async fn settings_that_no_event_has_were_not_read() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Tour", "currency": "EUR"});
    shop.organise("POST", "/events", &body).await;
    let cases = [
        ("fees.percent_bp", json!({"fees": {"percent_bp": 10_001}})),
        ("tax.rate_bp", json!({"tax": {"name": "VAT", "rate_bp": 10_001}})),
        ("refunds[0].percent", json!({"refunds": [{"days_before": 1, "percent": 101}]})),
    ];
    for (field, was) in cases {
        let change = json!({"title": "Mine", "was": was});
        let refused = shop.admin("PATCH", "/events/e").json(&change).send().await;
        assert_eq!(refused.problem(), (422, "INVALID_SETTINGS".into()), "{change}");
        assert_eq!(refused.json()["field"], field);
    }
    for until in [Value::Null, json!("soon"), json!(u64::MAX)] {
        let rule = json!({"days_before": 1, "percent": 50, "until": until});
        let change = json!({"title": "Mine", "was": {"refunds": [rule]}});
        let refused = shop.admin("PATCH", "/events/e").json(&change).send().await;
        assert_eq!(refused.problem(), (422, "INVALID_BODY".into()), "{change}");
    }
    // Somebody has taken the rules away meanwhile, and the start that they counted from.
    let was = json!({"refunds": [{"days_before": 7, "percent": 50}]});
    shop.organise("PATCH", "/events/e", &json!({"title": "Mine", "was": was})).await;
}

#[tokio::test]
async fn whole_numbers_of_settings_may_be_written_with_a_point() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Tour", "currency": "EUR"});
    shop.organise("POST", "/events", &body).await;
    let change = json!({
        "starts_at": 4e12, "fees": {"fixed_minor": 150.0, "percent_bp": 250.0},
        "tax": {"name": "VAT", "rate_bp": 725.0},
        "refunds": [{"days_before": 7.0, "percent": 50.0}],
        "limits": [{"of": {"pool": "ga"}, "max_per_user": 2.0}],
    });
    let changed = shop.organise("PATCH", "/events/e", &change).await;
    assert_eq!(changed["fees"], json!({"fixed_minor": 150, "percent_bp": 250}));
    assert_eq!(changed["tax"], json!({"name": "VAT", "rate_bp": 725}));
    let rule = &changed["refunds"][0];
    assert_eq!((&rule["days_before"], &rule["percent"]), (&json!(7), &json!(50)));
    assert_eq!(changed["limits"], json!([{"of": {"pool": "ga"}, "max_per_user": 2}]));
    let cut = json!({"fees": {"fixed_minor": 0.5}});
    let refused = shop.admin("PATCH", "/events/e").json(&cut).send().await;
    assert_eq!(refused.problem(), (422, "INVALID_BODY".into()));
    assert_eq!(refused.json()["field"], "fees.fixed_minor");
}

#[tokio::test]
async fn a_time_in_seconds_is_refused_and_so_is_a_closing_time_that_is_past() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let refused = |change: Value, field: &'static str, says: &'static str| {
        let request = shop.admin("PATCH", "/events/e").json(&change);
        async move {
            let answer = request.send().await;
            assert_eq!(answer.problem(), (422, "INVALID_SETTINGS".into()), "{change}");
            let told = answer.json();
            assert_eq!(told["field"], field, "{change}");
            assert!(told["detail"].as_str().unwrap().contains(says), "{told}");
        }
    };
    let in_seconds = "this is in seconds; use milliseconds";
    for field in ["prequeue_at", "opens_at", "closes_at", "starts_at"] {
        for at in [1, 1_796_119_200, 99_999_999_999_i64] {
            refused(json!({ field: at }), field, in_seconds).await;
        }
        let body = json!({"event": "f", "title": "F", "currency": "EUR", field: 1_796_119_200});
        let answer = shop.admin("POST", "/events").json(&body).send().await;
        assert_eq!(answer.problem(), (422, "INVALID_SETTINGS".into()), "{body}");
    }
    let now = shop.clock.now().0;
    refused(json!({"closes_at": now}), "closes_at", "close the sale").await;
    refused(json!({"closes_at": 0}), "closes_at", "close the sale").await;
    // Other times may be past: what is to happen then happens at once.
    for at in [0, 100_000_000_000_i64] {
        let changed = shop.organise("PATCH", "/events/e", &json!({ "opens_at": at })).await;
        assert_eq!((&changed["opens_at"], &changed["phase"]), (&json!(at), &json!("open")));
    }
    shop.organise("PATCH", "/events/e", &json!({"closes_at": now + 1})).await;
    shop.clock.advance_ms(1);
    let changed = shop.organise("PATCH", "/events/e", &json!({"title": "It is over"})).await;
    assert_eq!(changed["closes_at"], now + 1);
}

#[tokio::test]
async fn an_event_without_a_waiting_room_gets_none_by_a_change_of_it() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    for body in [json!({"capacity": 5}), json!({"order": "draw"}), json!({})] {
        let refused = shop.admin("PATCH", "/events/e/room").json(&body).send().await;
        assert_eq!(refused.problem(), (409, "NO_WAITING_ROOM".into()), "{body}");
    }
    let event = shop.ask("GET", "/events/e").send().await.expect(200).json();
    assert!(event.get("room").is_none());
    let guest = shop.guest().await;
    guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let opened = shop.organise("PATCH", "/events/e", &json!({"room": {}})).await;
    assert!(opened.get("room").is_some());
    shop.organise("PATCH", "/events/e/room", &json!({"capacity": 5})).await;
}

#[tokio::test]
async fn concurrent_changes_of_settings_all_take_effect() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({})).await;
    let change = |body| tokio::spawn(shop.admin("PATCH", "/events/e").json(&body).send());
    let mut changes = Vec::new();
    for n in 1..=20 {
        changes.push(change(json!({ "max_per_user": n })));
        changes.push(change(json!({"room": {"capacity": 1_000 + n}})));
    }
    changes.push(change(json!({"hold_ttl_ms": 77_000})));
    for change in changes {
        change.await.unwrap().expect(200);
    }
    let event = shop.ask("GET", "/events/e").send().await.expect(200).json();
    assert_eq!(event["hold_ttl_ms"], 77_000);
    assert!(event["max_per_user"].is_u64() && event["room"]["capacity"].as_u64() > Some(1_000));
}

#[tokio::test]
async fn events_come_in_pages() {
    let shop = Shop::start().await;
    for n in 1..=5 {
        let body = json!({"event": format!("e{n}"), "title": "E", "currency": "EUR"});
        shop.organise("POST", "/events", &body).await;
    }
    let page = |query: &str| shop.ask("GET", &format!("/events{query}")).send();
    let first = page("?limit=2").await.expect(200).json();
    assert_eq!(first["events"].as_array().unwrap().len(), 2);
    assert_eq!(first["next"], "e2");
    let last = page("?after=e4&limit=2").await.expect(200).json();
    assert_eq!(last["events"][0]["event"], "e5");
    assert!(last.get("next").is_none());
    assert_eq!(page("?after=nowhere").await.problem(), (400, "INVALID_QUERY".into()));
}

#[tokio::test]
async fn a_paused_sale_holds_nothing_and_a_closed_one_is_over() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 1}});
    assert_eq!(shop.organise_plainly("/events/e/pause").await["phase"], "paused");
    let paused = guest.hold("e", "k", &wish).await;
    assert_eq!(paused.problem(), (409, "EVENT_NOT_OPEN".into()));
    assert_eq!(
        (&paused.json()["phase"], &paused.json()["retryable"]),
        (&json!("paused"), &json!(true))
    );
    shop.organise_plainly("/events/e/resume").await;
    guest.hold("e", "k", &wish).await.expect(201);
    shop.organise_plainly("/events/e/close").await;
    let closed = guest.hold("e", "k2", &wish).await;
    assert_eq!(closed.problem(), (409, "EVENT_NOT_OPEN".into()));
    assert_eq!(closed.json()["retryable"], false);
}

/// A trap: sync by plain SET from a lagging database resurrects sold stock.
#[tokio::test]
async fn a_capacity_is_set_without_resurrecting_what_is_held_or_sold() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    guest.hold("e", "k", &json!({"pools": {"ga": 6}})).await.expect(201);
    let set = |capacity: u32| {
        let body = json!({"capacity": capacity, "by": "sync", "why": "nightly"});
        shop.admin("PUT", "/events/e/pools/ga/capacity").json(&body).send()
    };
    let refused = set(5).await;
    assert_eq!(refused.problem(), (409, "CAPACITY_BELOW_COMMITTED".into()));
    assert_eq!(refused.json()["committed"], 6);
    set(10).await.expect(200);
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!(left["pools"][0]["free"], 4);
}

#[tokio::test]
async fn every_unit_is_free_held_sold_or_blocked_with_a_reason() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    crate::seat_maps::import_small_house(&shop, "e").await;
    let block = json!({"pools": {"ga": 2}, "seats": ["A-3"], "by": "crew", "why": "camera"});
    shop.organise("POST", "/events/e/block", &block).await;
    let status = shop.admin("GET", "/inventory-status?event=e").send().await.expect(200).json();
    let pool = &status["events"][0]["pools"][0];
    assert_eq!((&pool["free"], &pool["blocked"]), (&json!(8), &json!(2)));
    assert_eq!(pool["blocked_why"], json!([{"why": "camera", "units": 2}]));
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"seats": ["A-1"]})).await.expect(201);
    let map = shop.admin("GET", "/events/e/seats").send().await.expect(200).json();
    assert_eq!(map["seats"][0]["booking"], held.json()["booking"]);
    assert_eq!(map["seats"][2]["why"], "camera");
    let public = shop.ask("GET", "/events/e/seats").send().await.expect(200).json();
    assert!(public["seats"][0].get("booking").is_none() && public["seats"][2].get("why").is_none());
    let other = json!({"pools": {"ga": 1}, "by": "crew", "why": "sound"});
    let refused = shop.admin("POST", "/events/e/unblock").json(&other).send().await;
    assert_eq!(refused.problem(), (409, "UNITS_NOT_BLOCKED".into()));
    shop.organise("POST", "/events/e/unblock", &block).await;
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!(left["pools"][0]["free"], 10);
}

#[tokio::test]
async fn the_feed_is_read_page_by_page_and_filtered() {
    let shop = Shop::start().await;
    shop.flash_sale("a").await;
    shop.flash_sale("b").await;
    let (mut after, mut entries) = (0, Vec::new());
    loop {
        let path = format!("/feed?after={after}&limit=2");
        let page = shop.admin("GET", &path).send().await.expect(200).json();
        entries.extend(page["entries"].as_array().unwrap().iter().cloned());
        after = page["next"].as_u64().unwrap();
        if page["next"] == page["committed"] {
            break;
        }
    }
    assert_eq!(entries.len(), 6);
    assert_eq!(entries[0]["changes"][0]["event_created"]["settings"]["title"], "Flash");
    let only = shop.admin("GET", "/feed?event=b").send().await.expect(200).json();
    assert_eq!(only["entries"], json!(entries[3..]));
    let end = shop.admin("GET", &format!("/feed?after={after}")).send().await.expect(200).json();
    assert_eq!(end["entries"], json!([]));
}

#[tokio::test]
async fn operators_see_health_readiness_and_metrics_on_their_own_listener() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({})).await;
    let guest = shop.guest().await;
    guest.join("e").await.expect(202);
    let operator = shop.server.operator_addr().unwrap();
    for path in ["/healthz", "/readyz"] {
        Request::new(operator, "GET", path).send().await.expect(200);
        Request::new(shop.server.public_addr(), "GET", path).send().await.expect(200);
    }
    let metrics = Request::new(operator, "GET", "/metrics").send().await.expect(200);
    let metrics = String::from_utf8(metrics.body).unwrap();
    for line in ["onrush_joins_total 1", "onrush_units{event=\"e\",status=\"free\"} 10"] {
        assert!(metrics.lines().any(|other| other == line), "{line} is not in {metrics}");
    }
    assert!(metrics.ends_with("# EOF\n"));
    let public = Request::new(shop.server.public_addr(), "GET", "/metrics").send().await;
    assert_eq!(public.problem(), (404, "PATH_NOT_FOUND".into()));
}

#[tokio::test]
async fn what_nodes_share_is_refused_where_there_is_only_one() {
    let shop = Shop::start().await;
    for (method, path, body) in [
        ("POST", "/sync-inventory", None),
        ("GET", "/flags", None),
        ("PUT", "/flags/lua_atomic", Some(json!({"percent": 10}))),
    ] {
        let request = shop.admin(method, path);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        assert_eq!(request.send().await.problem(), (409, "NEEDS_CLUSTER".into()), "{path}");
    }
}

#[tokio::test]
async fn limits_of_pools_and_categories_are_set_changed_and_told() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let limits = json!([
        {"of": {"category": "not there yet"}, "ticket_type": "child", "max_per_user": 1},
        {"of": {"pool": "ga"}, "max_per_user": 2},
    ]);
    let changed = shop.organise("PATCH", "/events/e", &json!({"limits": limits})).await;
    assert_eq!(changed["limits"], limits);
    let guest = shop.guest().await;
    guest.hold("e", "1", &json!({"pools": {"ga": 1}})).await.expect(201);
    let more = guest.hold("e", "2", &json!({"pools": {"ga": 2}})).await;
    assert_eq!(more.problem(), (409, "USER_LIMIT_EXCEEDED".into()));
    let told = more.json();
    assert_eq!((&told["limit"], &told["held"]), (&json!(2), &json!(1)));
    assert_eq!(told["of"], json!({"pool": "ga"}));
    assert_eq!(told["detail"], "one person may have 2 of pool ga and you have 1; ask for fewer");
    let title = shop.organise("PATCH", "/events/e", &json!({"title": "Tour"})).await;
    assert_eq!(title["limits"], limits, "what is not named stays");
    let none = shop.organise("PATCH", "/events/e", &json!({"limits": []})).await;
    assert!(none.get("limits").is_none());
    guest.hold("e", "2", &json!({"pools": {"ga": 2}})).await.expect(201);
}

#[tokio::test]
async fn a_limit_that_cannot_be_is_refused_by_its_place() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let of_ga = |max_per_user| json!({"of": {"pool": "ga"}, "max_per_user": max_per_user});
    let cases = [
        (json!([of_ga(0)]), "limits[0].max_per_user"),
        (json!([of_ga(1), of_ga(2)]), "limits[1].of"),
        (
            json!([of_ga(1), {"of": {"pool": "ga"}, "max_per_user": 1_001, "ticket_type": "child"}]),
            "limits[1].max_per_user",
        ),
        (json!([{"of": {"category": ""}, "max_per_user": 1}]), "limits[0].of"),
    ];
    for (limits, field) in cases {
        let body = json!({"limits": limits});
        let refused = shop.admin("PATCH", "/events/e").json(&body).send().await;
        assert_eq!(refused.problem(), (422, "INVALID_SETTINGS".into()), "{field}");
        assert_eq!(refused.json()["field"], field);
    }
    let both = json!({"limits": [{"of": {"pool": "ga", "category": "x"}, "max_per_user": 1}]});
    let refused = shop.admin("PATCH", "/events/e").json(&both).send().await;
    assert_eq!(refused.problem(), (422, "INVALID_BODY".into()));
    assert_eq!(refused.json()["field"], "limits[0].of");
}
