//! A key that somebody else has: retired in the directory of one node, it is gone from all.

use crate::deployment::{Deployment, Process, until};
use crate::load::create;
use onrush_testkit::need;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[test]
fn links_of_a_key_that_is_retired_at_one_node_open_nothing_at_any_node() {
    let Some(mut deployment) = need(Deployment::start(2)) else { return };
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": null});
    create(&deployment, &event, &[("ga", 3, 0)]);
    let (path, wish) = ("/api/v1/events/e/bookings", json!({"pools": {"ga": 1}}).to_string());
    let ann = deployment.nodes[0].visitor();
    let (status, held) = deployment.nodes[0].insist("POST", path, &ann, "one", &wish);
    assert_eq!(status, 201, "{held}");
    let booking = format!("/api/v1/bookings/{}", held["booking"].as_str().expect("an id"));
    let confirm = format!("{booking}/confirm");
    let (status, confirmed) = deployment.nodes[1].insist("POST", &confirm, &ann, "", "");
    assert_eq!(status, 200, "{confirmed}");
    let link_at = |node: &Process| {
        let (status, answer) = node.insist("GET", &format!("{booking}/link"), &ann, "", "");
        assert_eq!(status, 200, "{answer}");
        answer["link"].as_str().expect("a link").to_owned()
    };
    let opened = |node: &Process, link: &str| node.insist("GET", &booking, link, "", "").0;
    let lost = link_at(&deployment.nodes[0]);
    assert_eq!(opened(&deployment.nodes[1], &lost), 200);

    for mut node in std::mem::take(&mut deployment.nodes) {
        node.kill();
    }
    let keys = [1, 2, 3].map(|nth| deployment.data_of(nth).join("keys"));
    let links = links_in(&keys[0]);
    let [key] = &links[..] else { panic!("there is one: {links:?}") };
    fs::rename(keys[0].join(key), keys[0].join(format!("{key}.retired"))).expect("renamed");
    // The next one is named by the second in which it is drawn.
    let drawn_s = key.trim_start_matches("link-").trim_end_matches(".key").parse::<u64>();
    let drawn = Duration::from_secs(drawn_s.expect("a second") + 1);
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    until("another second", || (now() >= drawn).then_some(()));
    let first = deployment.start_again(1);
    assert_eq!(opened(&first, &lost), 401);
    // It has a copy of its own, and nobody has told it.
    assert!(links_in(&keys[1]).contains(key));
    let second = deployment.start_again(2);
    assert_eq!(opened(&second, &lost), 401);
    let rows = "SELECT name FROM files WHERE name LIKE 'keys/link-%'";
    let rows = deployment.postgres.sql(&deployment.postgres.url(), rows).expect("rows");
    assert!(!rows.contains(key), "{rows}");

    let fresh = link_at(&first);
    let third = deployment.start_node(|_| {});
    for node in [&first, &second, &third] {
        assert_eq!(opened(node, &lost), 401);
        assert_eq!(opened(node, &fresh), 200);
    }
    for keys in &keys[1..] {
        assert!(!links_in(keys).contains(key), "{:?}", links_in(keys));
    }
}

/// The names of the keys of links.
fn links_in(keys: &Path) -> Vec<String> {
    let names = fs::read_dir(keys).expect("a directory");
    let names = names.map(|entry| entry.expect("a file").file_name().into_string());
    names.map(|name| name.expect("a text")).filter(|name| name.starts_with("link-")).collect()
}
