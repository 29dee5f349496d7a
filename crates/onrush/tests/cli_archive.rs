//! Events that are over leave the journal: what they sold, and its money, is audited from their files.

#[expect(dead_code, reason = "the tests of backups use the rest")]
mod backup_shop;
mod cli_support;

use backup_shop::{Buyer, Shop, audited, names_in, restored_start, sandboxed};
use cli_support::{ADMIN_KEY, exchange, onrush, run, run_json};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

const FILE: &str = "archive/paid.jsonl.gz";
const BOUGHT: usize = 3;
const PATIENCE: Duration = Duration::from_secs(60);

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn archive(data: &Path) -> Output {
    run(&["archive", "--json", "--data", text(data)])
}

#[track_caller]
fn fine(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    serde_json::from_slice(&output.stdout).expect("a line of JSON")
}

fn audited_with_files(data: &Path) -> (Option<i32>, Value) {
    run_json(&["audit", "--json", "--archive", "--data", text(data)])
}

/// Ends the event once all of its money and documents are where they belong.
fn end(shop: &Shop) {
    shop.served.ask("POST", "/api/v1/admin/events/paid/close", ADMIN_KEY, "{}");
    let begun = Instant::now();
    loop {
        let mut connection = TcpStream::connect(shop.served.address).expect("it listens");
        let (path, body) = ("/api/v1/admin/events/paid/archive", r#"{"why":"it is over"}"#);
        let answer = exchange(&mut connection, "POST", path, ADMIN_KEY, "", body);
        let (status, answer) = answer.expect("it answers");
        if status == 200 {
            return;
        }
        assert_eq!(answer["code"], "MONEY_UNDER_WAY", "{answer}");
        assert!(begun.elapsed() < PATIENCE, "{answer}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Waits until the ledger has followed the journal to its end, as the witness says: what it has not
/// followed stays in the journal.
fn until_followed(data: &Path, shop: &Shop) {
    let page = shop.served.ask("GET", "/api/v1/admin/feed?limit=1", ADMIN_KEY, "");
    let committed = page["committed"].as_u64().expect("a number");
    let begun = Instant::now();
    loop {
        let says = fs::read(data.join("witness.json")).expect("a witness");
        let says: Value = serde_json::from_slice(&says).expect("JSON");
        if says["ledger"].as_u64() >= Some(committed) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{says}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn history_and_money_of_an_event_that_is_over_are_audited_from_its_file() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = |name: &str| scratch.path().join(name);
    let (data, settings) = (at("data"), at("onrush.toml"));
    fs::write(&settings, "[seller]\nname = \"Hall\"\naddress = [\"1 Lane\"]\n").expect("written");
    let flags = ["--config", text(&settings)];
    let shop = Shop::open_with(&data, &flags);
    shop.buy(BOUGHT);
    end(&shop);
    shop.served.create_flash_sale("next", 10);
    let refused = archive(&data);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("another onrush process uses this directory"), "{said}");
    until_followed(&data, &shop);
    shop.stop();
    let before = audited(&data);
    assert_eq!((&before["violations"], &before["sold"]), (&json!(0), &json!(BOUGHT)), "{before}");
    assert_eq!(before["issued"]["receipts"], BOUGHT, "{before}");

    let done = fine(&archive(&data));
    assert_eq!(done["archived"][0]["event"], "paid", "{done}");
    let without = audited(&data);
    assert_eq!((&without["violations"], &without["sold"]), (&json!(0), &json!(0)), "{without}");
    assert_eq!(without["unread"], json!(["paid"]), "{without}");
    assert_eq!(without["unread_minor"], before["confirmed_minor"], "{without}");
    assert_eq!(without["unexplained_minor"], 0, "{without}");
    let (code, with) = audited_with_files(&data);
    assert_eq!(
        (code, &with["violations"], &with["archive_files"]),
        (Some(0), &json!(0), &json!(1))
    );
    for name in ["sold", "changes", "confirmed_minor", "captured_minor", "issued", "gateway"] {
        assert_eq!(with[name], before[name], "{name}: {with}");
    }
    let said = run(&["audit", "--data", text(&data)]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("(--archive reads it): paid"), "{said}");

    // A backup has the files, and a restore puts them back.
    let (backup, restored) = (at("backup"), at("restored"));
    let made = fine(&run(&["backup", "--json", "--data", text(&data), "--to", text(&backup)]));
    assert_eq!(made["found"], json!([]), "{made}");
    assert!(names_in(&backup).contains(FILE));
    fine(&run(&["restore", "--json", "--from", text(&backup), "--to", text(&restored)]));
    assert_eq!(audited_with_files(&restored), (code, with));
    assert_eq!(restored_start(&restored, &["--accept-restored"]).0, Some(0));
    let file = fs::read(backup.join(FILE)).expect("a file");
    fs::write(backup.join(FILE), &file[1..]).expect("written");
    let refused = run(&["restore", "--from", text(&backup), "--to", text(&at("again"))]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains(FILE));

    // The server sells on, and says of the feed what is not there.
    let served = sandboxed(&data, &flags);
    let page = served.ask("GET", "/api/v1/admin/feed?event=paid&limit=1000", ADMIN_KEY, "");
    let entries = page["entries"].as_array().expect("a list");
    assert_eq!(entries.len(), 2, "that it was created, and archived: {page}");
    let decisions = done["archived"][0]["decisions"].as_u64().expect("a number");
    assert_eq!(page["left_out"], decisions - 2, "{page}");
    let gone = Buyer::new(&served).try_hold(&served);
    assert_eq!(gone, Err("EVENT_ARCHIVED".into()));
    assert_eq!(served.stop(), Some(0));

    // A damaged one goes into a backup, which says so.
    fs::write(data.join(FILE), &file[..file.len() - 9]).expect("written");
    let made = run(&["backup", "--json", "--data", text(&data), "--to", text(&at("damaged"))]);
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(said.contains(FILE) && said.contains("so in the backup"), "{said}");
    let made = fine(&made);
    assert!(made["found"][0].as_str().expect("a text").starts_with(FILE), "{made}");

    // Without the file its history is nowhere, and both say so.
    fs::remove_file(data.join(FILE)).expect("removed");
    let (code, report) = audited_with_files(&data);
    assert_eq!((code, &report["violations"]), (Some(1), &json!(1)), "{report}");
    assert!(report["found"][0].as_str().expect("a text").contains("it is missing"), "{report}");
    let made = run(&["backup", "--json", "--data", text(&data), "--to", text(&at("less"))]);
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(said.contains(FILE) && said.contains("it is missing"), "{said}");
    fine(&made);
}

/// Whatever the process has reached when it is killed, nothing is lost and the next run finishes.
#[test]
fn a_killed_run_leaves_the_history_and_the_next_one_finishes_it() {
    let scratch = tempfile::tempdir().expect("a directory");
    let data = scratch.path().join("data");
    let shop = Shop::open(&data);
    shop.buy(1);
    end(&shop);
    until_followed(&data, &shop);
    shop.stop();
    for (number, awaited) in
        ["engine.db-wal", "archive/paid.jsonl.gz.new", FILE].into_iter().enumerate()
    {
        let copy = scratch.path().join(format!("copy-{number}"));
        for name in names_in(&data) {
            let to = copy.join(&name);
            fs::create_dir_all(to.parent().expect("a directory")).expect("made");
            fs::copy(data.join(&name), to).expect("copied");
        }
        let mut child = onrush()
            .args(["archive", "--json", "--data", text(&copy)])
            .stdout(Stdio::null())
            .spawn()
            .expect("it can be started");
        // It may be quicker than we look; then it was not killed, and must be done.
        while !copy.join(awaited).exists() && child.try_wait().expect("our child").is_none() {
            std::thread::yield_now();
        }
        child.kill().expect("it runs, or has ended");
        child.wait().expect("it has ended");
        let (code, report) = audited_with_files(&copy);
        assert_eq!((code, &report["sold"]), (Some(0), &json!(1)), "{awaited}: {report}");
        fine(&archive(&copy));
        let (code, report) = audited_with_files(&copy);
        assert_eq!((code, &report["sold"]), (Some(0), &json!(1)), "{awaited}: {report}");
        assert_eq!(report["archive_files"], 1, "{awaited}: {report}");
        assert_eq!(restored_start(&copy, &[]).0, Some(0), "{awaited}: it starts");
    }
}

#[test]
fn what_cannot_be_archived_is_named() {
    let scratch = tempfile::tempdir().expect("a directory");
    let nowhere = archive(&scratch.path().join("nowhere"));
    assert_eq!(nowhere.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("there is no journal"));
    let settings = scratch.path().join("onrush.toml");
    let redis = "engine = \"redis\"\nledger = \"postgres\"\n[redis]\nurls = [\"redis://127.0.0.1:1\"]\n\
                 [postgres]\nurl = \"postgres://127.0.0.1/x\"\n";
    let mixed = "ledger = \"postgres\"\n[postgres]\nurl = \"postgres://127.0.0.1/x\"\n";
    for (text_of_file, word) in
        [(redis, "history is in PostgreSQL"), (mixed, "the ledger is in PostgreSQL")]
    {
        fs::write(&settings, text_of_file).expect("written");
        let refused = run(&["archive", "--config", text(&settings)]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&refused.stderr).contains(word));
    }
    // Whose ledger is elsewhere, nobody knows who else has to read it.
    let data = scratch.path().join("data");
    fs::create_dir(&data).expect("made");
    fs::write(data.join("engine.db"), "whatever").expect("written");
    let refused = archive(&data);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("ledger.db: it is missing"), "{said}");
}

#[test]
fn sold_bookings_that_the_ledger_lost_are_named_and_those_of_files_are_counted() {
    let scratch = tempfile::tempdir().expect("a directory");
    let data = scratch.path().join("data");
    let shop = Shop::open(&data);
    shop.buy(BOUGHT);
    end(&shop);
    until_followed(&data, &shop);
    shop.stop();
    assert_eq!(audited(&data)["violations"], 0);

    let [gone, taken_back, later] = falsify(&data.join("ledger.db"));
    let lost = format!("booking {gone}: the journal says confirmed, and the ledger has no such");
    let differs = format!(
        "booking {taken_back}: the journal says confirmed, 5023 minor units and 0 to go back; the \
         ledger says released, 5023 and 0"
    );
    let at_another_time = format!("booking {later}: the journal confirmed it at ");
    let said = [&lost, &differs, &at_another_time];
    let report = audited(&data);
    let found = report["found"].to_string();
    assert!(said.iter().all(|said| found.contains(*said)), "{report}");

    // An older ledger that was put back and accepted never learns what files have.
    fine(&archive(&data));
    let (code, report) = audited_with_files(&data);
    let found = report["found"].to_string();
    assert_eq!(code, Some(0), "{report}");
    assert!(!said.iter().any(|said| found.contains(*said)), "{report}");
    assert!(report["noticed"].to_string().contains("or has otherwise: 3;"), "{report}");
}

/// Has the ledger forget a booking with all of its money, take another one for released, and a third one
/// for confirmed a moment later.
fn falsify(ledger: &Path) -> [String; 3] {
    let ledger = Connection::open(ledger).expect("a ledger");
    let of_place = |place: u32| -> String {
        let sql = "SELECT booking_id FROM bookings ORDER BY booking_id LIMIT 1 OFFSET ?1";
        ledger.query_row(sql, [place], |row| row.get(0)).expect("a booking")
    };
    let [gone, taken_back, later] = [0, 1, 2].map(of_place);
    let sql = format!(
        "PRAGMA foreign_keys = OFF; DELETE FROM bookings WHERE booking_id = '{gone}'; \
         DELETE FROM sagas WHERE booking_id = '{gone}'; \
         DELETE FROM payments WHERE booking_id = '{gone}'; \
         UPDATE bookings SET status = 'released' WHERE booking_id = '{taken_back}'; \
         UPDATE bookings SET confirmed_at = confirmed_at + 1 WHERE booking_id = '{later}'"
    );
    ledger.execute_batch(&sql).expect("changed");
    [gone, taken_back, later]
}
