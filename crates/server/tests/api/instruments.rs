//! What `/metrics` shows is what is documented, and what the dashboard and the alerts name.

use crate::client::Request;
use crate::shop::Shop;
use crate::till::Till;
use crate::webhooks::shop_with;
use onrush_saga::Action;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The text of `/metrics`.
async fn metrics(shop: &Shop) -> String {
    let operator = shop.server.operator_addr().expect("it listens");
    let answer = Request::new(operator, "GET", "/metrics").send().await.expect(200);
    String::from_utf8(answer.body).expect("metrics are text")
}

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Each metric's name as queries have it, and its kind.
fn exposed(text: &str) -> BTreeMap<String, String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let named = types.map(|line| {
        let (name, kind) = line.split_once(' ').expect("a name and a kind");
        let suffix = if kind == "counter" { "_total" } else { "" };
        (format!("{name}{suffix}"), kind.to_owned())
    });
    named.collect()
}

/// All names of ours in a text.
fn named(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(|c: char| !is_name(c));
    // Crates and files have such names as well.
    let ours = words.filter(|word| word.starts_with("onrush_") && !word.ends_with('_'));
    ours.filter(|word| !is_crate(word)).map(str::to_owned).collect()
}

fn is_crate(word: &str) -> bool {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    word.strip_prefix("onrush_").is_some_and(|name| crates.join(name).is_dir())
}

/// The metric that a name in a query belongs to.
fn family<'a>(name: &'a str, exposed: &BTreeMap<String, String>) -> &'a str {
    let parts = ["_bucket", "_sum", "_count"];
    let base = parts.iter().find_map(|part| name.strip_suffix(part));
    base.filter(|base| exposed.get(*base).is_some_and(|kind| kind == "histogram")).unwrap_or(name)
}

#[tokio::test]
async fn documented_metrics_are_those_that_there_are() {
    let shop = Shop::start().await;
    let exposed = exposed(&metrics(&shop).await);
    let operating = file("docs/operating.md");
    let rows = operating.lines().filter_map(|line| line.strip_prefix("| `onrush_"));
    let rows: BTreeSet<String> =
        rows.map(|row| format!("onrush_{}", row.split('`').next().unwrap_or_default())).collect();
    let have: BTreeSet<String> = exposed.keys().cloned().collect();
    assert_eq!(rows, have, "docs/operating.md, \"Instruments\", on the left");
    for path in ["docs/operating.md", "docs/security.md", "docs/design/time.md"] {
        for name in named(&file(path)) {
            assert!(have.contains(family(&name, &exposed)), "{path}: {name} is no metric");
        }
    }
}

#[tokio::test]
async fn dashboard_and_alerts_name_metrics_that_there_are_and_all_of_them_are_shown() {
    let shop = Shop::start().await;
    let exposed = exposed(&metrics(&shop).await);
    let dashboard: Value =
        serde_json::from_str(&file("deploy/grafana/onrush.json")).expect("it is JSON");
    let panels = dashboard["panels"].as_array().expect("there are panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries: String = targets.map(|target| target["expr"].to_string() + "\n").collect();
    let mut shown = BTreeSet::new();
    for (place, text) in [
        ("deploy/grafana/onrush.json", queries),
        ("deploy/prometheus/alerts.yaml", file("deploy/prometheus/alerts.yaml")),
        ("deploy/prometheus/alerts.test.yaml", file("deploy/prometheus/alerts.test.yaml")),
    ] {
        for name in named(&text) {
            let family = family(&name, &exposed).to_owned();
            assert!(exposed.contains_key(&family), "{place}: {name} is no metric");
            shown.insert(family);
        }
    }
    let unseen: Vec<_> = exposed.keys().filter(|name| !shown.contains(*name)).collect();
    assert!(unseen.is_empty(), "nobody sees {unseen:?}");
}

#[tokio::test]
async fn alerts_are_those_of_the_document_and_each_is_seen_to_fire() {
    let names = |text: &str, before: &str| -> BTreeSet<String> {
        let found = text.split(before).skip(1);
        let name = |rest: &str| rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        found.map(name).collect()
    };
    let alerts = names(&file("deploy/prometheus/alerts.yaml"), "- alert: ");
    assert!(!alerts.is_empty());
    assert_eq!(
        alerts,
        names(&file("docs/operating.md"), "| `Onrush").into_iter().map(onrush).collect()
    );
    let tests = file("deploy/prometheus/alerts.test.yaml");
    let fired = tests.split("- eval_time: ").skip(1).filter(|test| test.contains("exp_alerts:"));
    let fired: BTreeSet<String> =
        fired.flat_map(|test| names(test, "        alertname: ")).collect();
    assert_eq!(alerts, fired, "deploy/prometheus/alerts.test.yaml on the right");
}

fn onrush(name: String) -> String {
    format!("Onrush{name}")
}

/// What stands behind a name with its labels and a blank.
fn value(text: &str, row: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(row));
    let number = line.unwrap_or_else(|| panic!("no {row} in\n{text}")).trim();
    number.parse().unwrap_or_else(|_| panic!("{row} {number}"))
}

#[tokio::test]
async fn a_stuck_payment_is_counted_until_an_operator_is_done_with_it() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let booking = shop.sell_and_get_stuck(&till).await;
    let text = metrics(&shop).await;
    assert_eq!(value(&text, "onrush_stuck_sagas "), 1.0);
    assert_eq!(value(&text, "onrush_sagas_stuck_total "), 1.0);
    assert!(value(&text, "onrush_saga_step_seconds_count{step=\"confirm\"} ") >= 1.0);
    let calls = text.lines().find(|line| {
        line.starts_with("onrush_gateway_call_seconds_count{") && line.contains("call=\"create\"")
    });
    assert!(calls.is_some_and(|line| line.ends_with(" 1")), "{calls:?}");
    shop.act(&booking, Action::Release).await.expect("there is one");
    assert_eq!(value(&metrics(&shop).await, "onrush_stuck_sagas "), 0.0);
}

#[tokio::test]
async fn what_takes_time_is_counted_where_it_belongs() {
    let shop = Shop::start().await;
    shop.sale_with_room("e", json!({})).await;
    let guest = shop.guest().await;
    guest.join("e").await.expect(202);
    let text = metrics(&shop).await;
    let value = |row: &str| value(&text, row);
    let requests = |group: &str, class: &str| {
        let labels = format!("{{group=\"{group}\",class=\"{class}\"}}");
        (
            value(&format!("onrush_http_request_seconds_count{labels} ")),
            value(&format!("onrush_http_request_seconds_sum{labels} ")),
        )
    };
    assert_eq!(requests("visitors", "2xx").0, 1.0);
    let (joins, took_s) = requests("queue", "2xx");
    assert!(joins >= 1.0 && took_s > 0.0, "{joins} {took_s}");
    // A join is one decision at least, made durable before it was answered.
    assert!(value("onrush_decide_seconds_count ") >= 1.0);
    assert!(value("onrush_commit_seconds_sum ") > 0.0);
    let all = value("onrush_commit_seconds_bucket{le=\"+Inf\"} ");
    assert_eq!(all, value("onrush_commit_seconds_count "));
    assert_eq!(value("onrush_ledger_up "), 1.0);
    assert_eq!(value("onrush_stuck_sagas "), 0.0);
}
