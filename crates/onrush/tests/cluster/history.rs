//! Events end in a cluster: their history is in files that the audit reads, while nodes sell.

use crate::cli_support::{ADMIN_KEY, run, run_json};
use crate::deployment::{Deployment, RedisKind, until};
use crate::load::{PRICE_MINOR, create};
use crate::outages::Reader;
use onrush_testkit::{Kafka, need};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// The exit code, and what is said of it.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(arguments);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Closes and archives an event, once its money is where it belongs.
fn end(deployment: &Deployment, event: &str) {
    let node = &deployment.nodes[0];
    node.organise("POST", &format!("/events/{event}/close"), &json!({}));
    let path = format!("/api/v1/admin/events/{event}/archive");
    until("money at its end", || {
        let (status, answer) = node.ask("POST", &path, ADMIN_KEY, "", r#"{"why":"it is over"}"#);
        assert!(status == 200 || answer["code"] == "MONEY_UNDER_WAY", "{status} {answer}");
        (status == 200).then_some(())
    });
}

/// What an audit says, whose exit code is this.
#[track_caller]
fn audited(config: &Path, archive: Option<&Path>, wanted: i32) -> Value {
    let mut arguments = vec!["audit", "--json", "--config", text(config)];
    arguments.extend(archive.iter().flat_map(|dir| ["--archive", text(dir)]));
    let (code, report) = run_json(&arguments);
    assert_eq!(code, Some(wanted), "{report}");
    report
}

fn shows(deployment: &Deployment, event: &str) -> (u16, Value) {
    deployment.nodes[0].insist("GET", &format!("/api/v1/events/{event}"), "", "", "")
}

#[test]
fn history_of_events_that_are_over_goes_into_files_while_nodes_sell() {
    let Some(mut deployment) = need(Deployment::start(2)) else { return };
    for event in ["over", "next"] {
        let event = json!({"event": event, "title": "Show", "currency": "EUR", "room": null});
        create(&deployment, &event, &[("ga", 9, PRICE_MINOR)]);
    }
    let wish = json!({"pools": {"ga": 1}});
    for event in ["over", "next", "over"] {
        let buyer = deployment.nodes[0].visitor();
        deployment.buy(&buyer, event, "b", &wish);
    }
    end(&deployment, "over");
    let config = deployment.config();
    let scratch = tempfile::tempdir().expect("a directory");
    let dir = scratch.path().join("history");
    let before = deployment.audit();
    assert_eq!((&before["sold"], &before["confirmed_minor"]), (&json!(3), &json!(3 * PRICE_MINOR)));
    let of_over = || {
        let sql = "SELECT count(*) FROM feed WHERE event = 'over'";
        let count = deployment.postgres.sql(&deployment.postgres.url(), sql).expect("it answers");
        count.trim().parse::<u64>().expect("a number")
    };
    let decisions = of_over();

    // What is lost of its history is told, although the event is over and nobody plays it any more.
    let sql = |sql: &str| deployment.postgres.sql(&deployment.postgres.url(), sql).expect("done");
    sql("CREATE TABLE kept AS SELECT number, changes FROM feed WHERE event = 'over' AND seq = 3");
    sql("UPDATE feed SET changes = '[]' WHERE event = 'over' AND seq = 3");
    let blank = audited(&config, None, 1);
    let told = |what: &str| {
        let found = blank["found"].as_array().into_iter().flatten();
        found.filter_map(Value::as_str).any(|sentence| sentence.contains(what))
    };
    assert!(told("it has no changes, and no archive file has them"), "{blank}");
    sql("UPDATE feed SET changes = kept.changes FROM kept WHERE feed.number = kept.number");
    sql("DROP TABLE kept");

    // Wrong use says what to do.
    let (code, why) = refused(&["archive", "--config", text(&config)]);
    assert!(code == Some(2) && why.contains("by --to"), "{code:?}: {why}");
    let (code, why) = refused(&["audit", "--config", text(&config), "--archive"]);
    assert!(code == Some(3) && why.contains("name the directory"), "{code:?}: {why}");
    let (code, why) = refused(&["archive", "--data", "x", "--to", text(&dir)]);
    assert!(code == Some(2) && why.contains("--to"), "{code:?}: {why}");

    let archive = ["archive", "--json", "--config", text(&config), "--to", text(&dir)];
    let moved = until("the ledger's cursor past it", || {
        let (code, moved) = run_json(&archive);
        assert_eq!(code, Some(0), "{moved}");
        (moved["waiting"] == json!([])).then_some(moved)
    });
    let expected = [json!("over"), json!(decisions)];
    assert_eq!(
        [&moved["archived"][0]["event"], &moved["archived"][0]["decisions"]],
        [&expected[0], &expected[1]]
    );
    assert_eq!(of_over(), 2, "that it was created, and archived");

    let without = audited(&config, None, 0);
    assert_eq!(without["unread"], json!(["over"]), "{without}");
    assert_eq!((&without["sold"], &without["archive_files"]), (&json!(1), &json!(0)), "{without}");
    assert_eq!(without["unread_minor"], json!(2 * PRICE_MINOR), "{without}");
    assert_eq!(without["unexplained_minor"], 0, "{without}");
    let with = audited(&config, Some(&dir), 0);
    assert_eq!((&with["archive_files"], &with["unread"]), (&json!(1), &json!([])), "{with}");
    for name in ["sold", "changes", "decisions", "confirmed_minor", "captured_minor", "events"] {
        assert_eq!(with[name], before[name], "{name}: {with}");
    }

    // The feed says what is not there, and an empty Redis is filled with what is.
    let feed = |filter: &str| {
        let path = format!("/feed?limit=1000{filter}");
        deployment.nodes[0].organise("GET", &path, &Value::Null)
    };
    assert_eq!(feed("")["left_out"], json!(decisions - 2));
    let of_event = feed("&event=over");
    assert_eq!(of_event["entries"].as_array().expect("a list").len(), 2, "{of_event}");
    let RedisKind::One(server) = &deployment.redis else { panic!("there is one") };
    assert_eq!(server.command(&["FLUSHALL"]).expect("it answers").trim(), "OK");
    let node = deployment.start_node(|_| {});
    deployment.nodes.push(node);
    for event in ["over", "next"] {
        until(format!("{event} as it was"), || {
            let (status, answer) = shows(&deployment, event);
            let is_it = if event == "over" { status == 410 } else { status == 200 };
            (is_it && (event == "next" || answer["code"] == "EVENT_ARCHIVED")).then_some(())
        });
    }
    let buyer = deployment.nodes[2].visitor();
    deployment.buy(&buyer, "next", "later", &wish);
    until("the end of all sagas", || {
        (audited(&config, Some(&dir), 0)["open_sagas"] == 0).then_some(())
    });
    assert_eq!(audited(&config, Some(&dir), 0)["sold"], 4);

    // A file that was changed, or is not there, is found; what is in order is judged all the same.
    let file = dir.join("over.jsonl.gz");
    let bytes = fs::read(&file).expect("a file");
    let mut changed = bytes.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 0x10;
    fs::write(&file, &changed).expect("written");
    let report = audited(&config, Some(&dir), 1);
    assert_eq!((&report["violations"], &report["sold"]), (&json!(1), &json!(2)), "{report}");
    assert!(report["found"][0].as_str().expect("a text").contains("over.jsonl.gz"), "{report}");
    fs::remove_file(&file).expect("removed");
    let report = audited(&config, Some(&dir), 1);
    assert!(report["found"][0].as_str().expect("a text").contains("it is missing"), "{report}");
    fs::write(&file, &bytes).expect("written");
    audited(&config, Some(&dir), 0);
}

/// An event that is over before anything was sold.
fn begin_and_end(deployment: &Deployment, event: &str) {
    let settings = json!({"event": event, "title": "Show", "currency": "EUR", "room": null});
    create(deployment, &settings, &[("ga", 9, PRICE_MINOR)]);
    end(deployment, event);
}

#[test]
fn a_publisher_that_begins_later_sends_what_is_left_and_one_that_is_behind_keeps_history() {
    let start = || Ok((Kafka::start()?, Deployment::start(1)?));
    let Some((mut kafka, mut deployment)) = need(start()) else { return };
    begin_and_end(&deployment, "first");
    let (config, url) = (deployment.config(), deployment.postgres.url());
    let scratch = tempfile::tempdir().expect("a directory");
    let archive = ["archive", "--json", "--config", text(&config), "--to", text(scratch.path())];
    let moved = || run_json(&archive).1;
    until("the first event's file", || (moved()["before"] == 1).then_some(()));

    let brokers = kafka.bootstrap_servers();
    let node = deployment.start_node(|node| {
        node.env("ONRUSH_KAFKA_BROKERS", &brokers);
    });
    deployment.nodes.push(node);
    let numbers = || {
        let feed = deployment.nodes[0].organise("GET", "/feed?limit=1000", &Value::Null);
        let entries = feed["entries"].as_array().expect("a list").clone();
        entries.iter().map(|entry| entry["seq"].as_u64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!(numbers().len(), 2, "that it was created, and archived");
    let mut reader = Reader::new(&kafka);
    let mut sent = |numbers: &[u64]| {
        until("all of it on its topic", || {
            reader.read();
            let sent: BTreeSet<_> = reader.taken.iter().map(|(number, _)| *number).collect();
            sent.iter().eq(numbers).then_some(())
        });
    };
    sent(&numbers());
    kafka.kill();
    begin_and_end(&deployment, "second");
    // The cursor alone says that there is a publisher: it is not in these settings.
    let waiting = until("the ledger past it", || {
        let waiting = moved()["waiting"].clone();
        (waiting[0]["reader"] != "ledger").then_some(waiting)
    });
    let who = json!({"event": "second", "reader": "kafka"});
    assert_eq!((&waiting[0]["event"], &waiting[0]["reader"]), (&who["event"], &who["reader"]));
    kafka.restart().expect("it starts again");
    sent(&numbers());
    until("the second event's file", || (moved()["before"] == 2).then_some(()));
    let rows = deployment.postgres.sql(&url, "SELECT count(*) FROM feed").expect("it answers");
    assert_eq!(rows.trim(), "4");
    let report = audited(&config, Some(scratch.path()), 0);
    assert_eq!(report["archive_files"], 2, "{report}");
}
