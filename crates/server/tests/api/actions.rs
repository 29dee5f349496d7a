//! What was done with keys is written down: by whom, from where, and what came of it.

use crate::client::Answer;
use crate::limits::check_let_through;
use crate::money_admin::unchunked;
use crate::scopes::{key_of, named};
use crate::shop::{ADMIN_KEY, Shop};
use onrush_base::config::keys::Scope;
use serde_json::{Value, json};
use std::time::Instant;

async fn shop() -> Shop {
    Shop::start_with(|config| {
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        config.keys.push(named("ann", &[Scope::Read, Scope::Sell]));
        config.keys.push(named("till", &[Scope::Money, Scope::Read]));
        config.keys.push(named("door", &[Scope::Door]));
    })
    .await
}

async fn actions(shop: &Shop, query: &str) -> Vec<Value> {
    let path = format!("/actions{query}");
    let page = shop.admin("GET", &path).send().await.expect(200).json();
    page["actions"].as_array().unwrap().clone()
}

/// Name, method, path, event, status and code of an action.
fn facts(action: &Value) -> [String; 6] {
    ["name", "method", "path", "event", "status", "code"].map(|fact| match &action[fact] {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    })
}

#[tokio::test]
async fn every_change_is_a_row_with_who_whence_what_and_what_came_of_it() {
    let shop = shop().await;
    let from = |method: &str, path: &str, key: &str| {
        shop.ask(method, path).bearer(key).header("X-Forwarded-For", "203.0.113.9")
    };
    let (ann, till) = (key_of("ann"), key_of("till"));
    let event = json!({"event": "gala", "title": "T", "currency": "EUR", "room": null});
    from("POST", "/admin/events", &ann).json(&event).send().await.expect(201);
    from("POST", "/admin/events", &ann).json(&event).send().await.expect(409);
    let pool = json!({"pool": "ga", "capacity": 1, "price_minor": 0});
    from("POST", "/admin/events/gala/pools", &ann).json(&pool).send().await.expect(403);
    let gone = json!({"why": "a bot named Ann Buyer"});
    let path = "/admin/events/gala/visitors/u_77/remove";
    from("POST", path, &ann).json(&gone).send().await.expect(200);
    from("GET", "/admin/bookings.csv", &till).send().await.expect(200);
    from("POST", "/admin/events/gala/open", "a wrong key").send().await.expect(401);
    // What is only looked at leaves nothing, and neither do visitors.
    from("GET", "/admin/bookings", &ann).send().await.expect(200);
    shop.guest().await;
    let rows = actions(&shop, "").await;
    let all: Vec<_> = rows.iter().map(facts).collect();
    let admin = "/api/v1/admin";
    let expected = [
        ["-", "POST", &format!("{admin}/events/gala/open"), "gala", "401", "TOKEN_INVALID"],
        ["till", "GET", &format!("{admin}/bookings.csv"), "-", "200", "-"],
        [
            "ann",
            "POST",
            &format!("{admin}/events/gala/visitors/{{user}}/remove"),
            "gala",
            "200",
            "-",
        ],
        ["ann", "POST", &format!("{admin}/events/gala/pools"), "gala", "403", "SCOPE_MISSING"],
        ["ann", "POST", &format!("{admin}/events"), "-", "409", "EVENT_EXISTS"],
        ["ann", "POST", &format!("{admin}/events"), "gala", "201", "-"],
    ]
    .map(|row| row.map(str::to_owned));
    let sorted = |mut rows: Vec<[String; 6]>| {
        // The engine's clock stands still in this test, so they are of one time.
        rows.sort_unstable();
        rows
    };
    assert_eq!(sorted(all), sorted(expected.to_vec()));
    for row in &rows {
        assert_eq!(row["address"], "203.0.113.9");
        assert_eq!(row["at"].as_i64(), Some(shop.clock.now().0));
        assert!(!row.to_string().contains("u_77") && !row.to_string().contains("Buyer"), "{row}");
    }
}

#[tokio::test]
async fn an_answer_names_the_row_and_rows_are_found_by_name_event_and_page() {
    let shop = shop().await;
    let ann = key_of("ann");
    let mut requests = Vec::new();
    for id in ["a", "b", "c"] {
        let event = json!({"event": id, "title": "T", "currency": "EUR", "room": null});
        let made = shop.ask("POST", "/admin/events").bearer(&ann).json(&event).send().await;
        requests.push(made.expect(201).header("x-request-id").unwrap().to_owned());
        shop.clock.advance_ms(1_000);
    }
    shop.organise_plainly("/events/b/close").await;
    let ids = |rows: &[Value]| -> Vec<String> {
        rows.iter().map(|row| row["request"].as_str().unwrap().to_owned()).collect()
    };
    requests.reverse();
    assert_eq!(ids(&actions(&shop, "?name=ann").await), requests);
    let of_b = actions(&shop, "?event=b").await;
    let who: Vec<_> = of_b.iter().map(|row| row["name"].clone()).collect();
    assert_eq!(who, [json!("admin"), json!("ann")]);
    let first = shop.admin("GET", "/actions?name=ann&limit=2").send().await.expect(200).json();
    let next = first["next"].as_str().unwrap();
    let rest = actions(&shop, &format!("?name=ann&limit=2&after={next}")).await;
    assert_eq!(ids(&rest), requests[2..]);
    let wrong = shop.admin("GET", "/actions?nam=ann").send().await;
    assert_eq!(wrong.problem(), (400, "INVALID_QUERY".into()));
    let table = shop.admin("GET", "/actions.csv?name=ann").send().await.expect(200);
    let text = unchunked(&table);
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert!(rows[1].starts_with(&format!("\"{}\"", requests[0])), "{rows:?}");
    for path in ["/actions", "/actions.csv"] {
        let refused = shop.ask("GET", &format!("/admin{path}")).bearer(&ann).send().await;
        assert_eq!(refused.problem(), (403, "SCOPE_MISSING".into()));
    }
}

#[tokio::test]
async fn sign_ins_sign_outs_and_wrong_keys_are_rows_and_strangers_fill_nothing() {
    let shop = shop().await;
    let sign_in = async |key: &str, address: &str| -> Answer {
        let request = shop.ask("POST", "/session").header("X-Forwarded-For", address);
        request.json(&json!({ "key": key })).send().await
    };
    let signed = sign_in(&key_of("ann"), "203.0.113.1").await.expect(200);
    let cookie = signed.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let page = shop.ask("DELETE", "/session").header("Cookie", &cookie);
    page.header("X-CSRF-Token", &signed.text("csrf")).send().await.expect(200);
    let of_ann: Vec<_> = actions(&shop, "?name=ann").await.iter().map(facts).collect();
    for method in ["DELETE", "POST"] {
        let row = ["ann", method, "/api/v1/session", "-", "200", "-"].map(str::to_owned);
        assert!(of_ann.contains(&row), "{of_ann:?}");
    }
    let begun = Instant::now();
    for n in 0..200 {
        let address = format!("198.51.{}.{}", n / 100, n % 100);
        assert_eq!(sign_in("a wrong key", &address).await.status, 401);
    }
    let rows = actions(&shop, "?limit=1000").await;
    let wrong = rows.iter().filter(|row| row["code"] == "TOKEN_INVALID").count();
    check_rows(wrong, begun);
    assert!(!json!(rows).to_string().contains("a wrong key"));
    // Nor does a key that tries what it may not.
    let begun = Instant::now();
    for _ in 0..200 {
        let request = shop.ask("GET", "/admin/flags").bearer(&key_of("door"));
        assert_eq!(request.send().await.status, 403);
    }
    let refused = actions(&shop, "?limit=1000&name=door").await.len();
    check_rows(refused, begun);
}

/// Of 200 refusals since then, as many as a minute's allowance have rows, and one more a second.
fn check_rows(count: usize, begun: Instant) {
    assert!(count < 200, "{count}");
    check_let_through(u32::try_from(count).unwrap(), 60, begun);
}

#[tokio::test]
async fn rows_are_forgotten_after_as_many_days_as_configured() {
    let shop = shop().await;
    let event = json!({"event": "e", "title": "T", "currency": "EUR", "room": null});
    shop.ask("POST", "/admin/events").bearer(&key_of("ann")).json(&event).send().await.expect(201);
    let (mut dir, mut clock) = (shop.dir, shop.clock);
    shop.server.shutdown().await;
    clock.advance_ms(10 * 86_400_000);
    for (days, left) in [(11, 1), (9, 0)] {
        let shop = Shop::start_in(dir, clock, |config| config.actions_kept_days = days).await;
        let mut rows = actions(&shop, "").await;
        // They go soon after the start, beside it.
        while rows.len() > left {
            tokio::task::yield_now().await;
            rows = actions(&shop, "").await;
        }
        assert_eq!(rows.len(), left, "{days}");
        (dir, clock) = (shop.dir, shop.clock);
        shop.server.shutdown().await;
    }
}

#[tokio::test]
async fn a_ledger_that_fails_undoes_no_change() {
    let shop = shop().await;
    let event = json!({"event": "e", "title": "T", "currency": "EUR", "room": null});
    shop.ask("POST", "/admin/events").bearer(ADMIN_KEY).json(&event).send().await.expect(201);
    shop.server.sqlite_ledger().expect("a file").break_for_tests(true);
    let opened = shop.admin("POST", "/events/e/open").send().await.expect(200).json();
    assert_eq!(opened["phase"], "open");
    shop.server.sqlite_ledger().expect("a file").break_for_tests(false);
}
