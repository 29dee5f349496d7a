//! Backups that are taken while a server sells, and the way back: the drill, and what goes wrong.

mod backup_shop;
mod cli_support;

use backup_shop::{
    Buyer, GOOD_CARD, SILENT_CARD, Shop, audited, names_in, read_over, restored_start, sandboxed,
};
use cli_support::{ADMIN_KEY, Served, onrush, run, run_json};
use onrush_testkit::{Postgres, need};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Backups of the drill, and buyers who buy meanwhile, one booking after the other.
const BACKUPS: usize = 5;
const BUYERS: usize = 4;
/// How long anything may take that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn back_up(data: &Path, to: &Path) -> Output {
    run(&["backup", "--json", "--data", text(data), "--to", text(to)])
}

fn put_back(from: &Path, to: &Path) -> Output {
    run(&["restore", "--json", "--from", text(from), "--to", text(to)])
}

/// How a run ended, and what it said.
fn said(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[track_caller]
fn fine(output: &Output) -> Value {
    let (code, said) = said(output);
    assert_eq!(code, Some(0), "{said}");
    serde_json::from_slice(&output.stdout).expect("a line of JSON")
}

/// A run ended with this code and a sentence with these words.
#[track_caller]
fn refused(output: &Output, code: i32, words: &[&str]) {
    let (ended, said) = said(output);
    assert_eq!(ended, Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not said: {said}");
    }
}

#[test]
fn backups_of_a_sale_under_way_lose_nothing_that_was_acknowledged_and_sell_on() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = |name: String| scratch.path().join(name);
    let data = at("data".into());
    let shop = Shop::open(&data);
    let mut drills = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..BUYERS {
            scope.spawn(|| shop.buy_until_closed());
        }
        // The scope ends, and says why, also if something is wrong.
        let closing = shop.closing();
        for number in 0..BACKUPS {
            shop.wait_for_more(10);
            // The money is taken, and no message tells the server of it. On a busy machine the feed may
            // have it ask the gateway by itself, at any moment before the backup.
            let drill = (0..20).find_map(|nth| {
                let parked = Buyer::new(&shop.served);
                let under_way = parked.hold(&shop.served);
                parked.pay(&shop.served, &under_way, SILENT_CARD);
                let acknowledged = shop.acknowledged();
                let backup = at(format!("backup-{number}-{nth}"));
                let done = fine(&back_up(&data, &backup));
                let is_open = done["open_sagas"].as_u64() >= Some(1)
                    && parked.status(&shop.served, &under_way) == "paying";
                is_open.then_some((backup, acknowledged, parked, under_way))
            });
            drills.push(drill.expect("a payment is under way in one of twenty backups"));
        }
        shop.wait_for_more(10);
        drop(closing);
    });
    let sold = shop.acknowledged().len();
    shop.stop();
    assert_eq!(audited(&data)["violations"], 0);

    let mut decisions = BTreeSet::new();
    for (number, (backup, acknowledged, parked, under_way)) in drills.iter().enumerate() {
        let of_backup = audited(backup);
        assert_eq!(of_backup["violations"], 0, "{number}: {of_backup}");
        let data = at(format!("restored-{number}"));
        let done = fine(&put_back(backup, &data));
        decisions.insert(done["decision"].as_u64().expect("a number"));
        let report = audited(&data);
        assert_eq!(report["violations"], 0, "{number}: {report}");
        assert_eq!(report["gateway"], true, "{number}: the sandbox's book is of the moment, too");
        assert!(report["sold"].as_u64() >= Some(acknowledged.len() as u64), "{number}: {report}");

        // Nobody sells from it unwittingly.
        let (code, said) = restored_start(&data, &[]);
        assert_eq!(code, Some(4), "{said}");
        for word in ["restored from a backup", "After a restore", "--accept-restored"] {
            assert!(said.contains(word), "{word:?} is not said: {said}");
        }
        let served = sandboxed(&data, &["--accept-restored"]);
        let event = served.ask("GET", "/api/v1/events/paid", "", "");
        assert_eq!(event["phase"], "paused", "{event}");
        for (buyer, booking) in acknowledged {
            assert_eq!(buyer.status(&served, booking), "confirmed", "{number}: {booking}");
        }
        // What was under way comes to its end, while nothing new is sold.
        parked.until_confirmed(&served, under_way);
        let eager = Buyer::new(&served);
        assert_eq!(eager.try_hold(&served), Err("EVENT_NOT_OPEN".into()));
        served.ask("POST", "/api/v1/admin/events/paid/resume", ADMIN_KEY, "{}");
        let booking = eager.hold(&served);
        eager.pay(&served, &booking, GOOD_CARD);
        eager.until_confirmed(&served, &booking);
        assert_eq!(served.stop(), Some(0));
        let report = audited(&data);
        assert_eq!(report["violations"], 0, "{number}: {report}");
        assert_eq!(restored_start(&data, &[]).0, Some(0), "once is enough");
    }
    assert_eq!(decisions.len(), BACKUPS, "each is of another moment: {decisions:?}");
    println!("{BACKUPS} backups while {sold} bookings were sold");
}

#[test]
fn what_nobody_serves_is_backed_up_as_well_after_a_stop_and_after_a_power_cut() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = |name: &str| scratch.path().join(name);
    for (kind, is_killed) in [("stopped", false), ("killed", true)] {
        let data = at(kind);
        let shop = Shop::open(&data);
        shop.buy(3);
        if is_killed {
            shop.kill();
        } else {
            shop.stop();
        }
        let (backup, restored) = (at(&format!("{kind}-backup")), at(&format!("{kind}-restored")));
        fs::create_dir(&backup).expect("made");
        fine(&back_up(&data, &backup));
        fine(&put_back(&backup, &restored));
        let report = audited(&restored);
        assert_eq!((&report["violations"], &report["sold"]), (&json!(0), &json!(3)), "{kind}");
        assert_eq!(restored_start(&restored, &["--accept-restored"]).0, Some(0), "{kind}");
        assert_eq!(restored_start(&data, &[]).0, Some(0), "{kind}: the first one is as it was");
    }
}

#[test]
fn everything_that_a_start_needs_is_in_a_backup_for_its_owner_alone() {
    let scratch = tempfile::tempdir().expect("a directory");
    let (data, backup) = (scratch.path().join("data"), scratch.path().join("backup"));
    let shop = Shop::open(&data);
    shop.buy(1);
    shop.import_a_seat();
    fine(&back_up(&data, &backup));
    let copied = names_in(&backup);
    // Whatever is not copied has a reason.
    let left_out = |name: &str| {
        ["engine.db-wal", "engine.db-shm", "ledger.db-wal", "ledger.db-shm"].contains(&name)
            || ["engine.lock", "ledger.lock"].contains(&name)
    };
    let there = names_in(&data);
    for name in there.iter().filter(|name| !left_out(name)) {
        assert!(copied.contains(name), "{name} is not in the backup: {copied:?}");
    }
    for name in ["engine.db", "ledger.db", "witness.json", "backup.json", "plans/plan-paid.json"] {
        assert!(copied.contains(name), "{name}: {copied:?}");
    }
    for name in ["keys/ids.key", "keys/token.key", "sandbox/sandbox.jsonl"] {
        assert!(copied.contains(name), "{name}: {copied:?}");
    }
    let mode = |path: PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(backup.clone()), 0o700);
    assert_eq!(mode(backup.join("keys")), 0o700);
    for name in &copied {
        assert_eq!(mode(backup.join(name)), 0o600, "{name}");
    }
}

#[test]
fn a_backup_that_is_broken_off_is_none() {
    let scratch = tempfile::tempdir().expect("a directory");
    let data = scratch.path().join("data");
    let shop = Shop::open(&data);
    shop.buy(2);
    // It takes a while to copy, piece by piece.
    fs::File::create(data.join("plans/large.json"))
        .and_then(|file| file.set_len(64 << 20))
        .expect("made");
    for number in 0..3 {
        let backup = scratch.path().join(format!("backup-{number}"));
        let draft = scratch.path().join(format!("backup-{number}.partial"));
        let mut child = onrush()
            .args(["backup", "--data", text(&data), "--to", text(&backup)])
            .stdout(Stdio::null())
            .spawn()
            .expect("it can be started");
        let awaited = ["engine.db", "ledger.db", "plans/large.json"][number];
        let begun = Instant::now();
        while !draft.join(awaited).exists() {
            assert!(begun.elapsed() < PATIENCE, "{awaited} never came");
            assert_eq!(child.try_wait().expect("our child"), None, "it was too quick");
        }
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        assert!(!backup.exists(), "{number}: it has no name");
        refused(&put_back(&draft, &scratch.path().join("r")), 1, &["no whole backup"]);
        assert!(!scratch.path().join("r").exists());
        refused(&back_up(&data, &backup), 3, &[".partial", "broken off", "delete it"]);
    }
    fs::remove_file(data.join("plans/large.json")).expect("removed");
    let backup = scratch.path().join("whole");
    fine(&back_up(&data, &backup));
    assert_eq!(audited(&backup)["violations"], 0);
    shop.buy(1);
}

#[test]
fn any_byte_that_is_not_what_was_written_is_refused() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = |name: &str| scratch.path().join(name);
    let (data, backup) = (at("data"), at("backup"));
    let shop = Shop::open(&data);
    shop.buy(1);
    fine(&back_up(&data, &backup));
    for name in names_in(&backup) {
        let path = backup.join(&name);
        let whole = fs::read(&path).expect("a file");
        for place in [0, whole.len() / 2, whole.len().saturating_sub(2)] {
            let mut other = whole.clone();
            other[place] ^= 0x10;
            fs::write(&path, &other).expect("written");
            refused(&put_back(&backup, &at("r")), 1, &[&name, "take another backup"]);
        }
        fs::remove_file(&path).expect("removed");
        refused(&put_back(&backup, &at("r")), 1, &[&name, "take another"]);
        fs::write(&path, &whole).expect("written");
    }
    fs::write(backup.join("snapshot-1.jsonl"), "x").expect("written");
    refused(&put_back(&backup, &at("r")), 1, &["snapshot-1.jsonl", "not of this backup"]);
    fs::remove_file(backup.join("snapshot-1.jsonl")).expect("removed");
    assert!(!at("r").exists() && !at("r.partial").exists(), "nothing is left of them");
    fine(&put_back(&backup, &at("r")));
    // A copy by hand is known as well.
    assert!(read_over(&at("r"), &["backup.json"]).contains("decision"));
}

#[test]
fn wrong_directories_and_settings_are_named() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = |name: &str| scratch.path().join(name);
    let data = at("data");
    let shop = Shop::open(&data);
    shop.buy(1);
    shop.stop();
    // SQLite leaves files without content beside what it reads.
    let names = || -> Vec<String> {
        let by_readers = |name: &String| name.ends_with("-shm") || name.ends_with("-wal");
        names_in(&data).into_iter().filter(|name| !by_readers(name)).collect()
    };
    let before = names();

    fs::create_dir(at("full")).expect("made");
    fs::write(at("full/a"), "a").expect("written");
    refused(&back_up(&data, &at("full")), 2, &["not empty"]);
    refused(&back_up(&data, &at("full/a")), 2, &["no directory"]);
    refused(&back_up(&data, &data.join("backup")), 2, &["must not go into the data"]);
    refused(&back_up(&at("nowhere"), &at("b")), 3, &["there is no journal"]);
    refused(&back_up(&data, &at("no/such/b")), 3, &["no/such"]);
    refused(&run(&["backup", "--data", text(&data)]), 2, &["--to"]);
    assert_eq!(names(), before, "nothing is left in the data");
    assert!(!at("b").exists() && !at("b.partial").exists());

    let backup = at("backup");
    fine(&back_up(&data, &backup));
    refused(&put_back(&backup, &at("full")), 2, &["not empty"]);
    refused(&put_back(&at("nowhere"), &at("r")), 2, &["no such directory"]);
    refused(&put_back(&data, &at("r")), 1, &["no backup.json", "no whole backup"]);
    refused(&run(&["restore", "--from", text(&backup)]), 2, &["--to"]);

    fs::remove_file(data.join("ledger.db")).expect("removed");
    refused(&back_up(&data, &at("b")), 3, &["ledger.db", "PostgreSQL"]);

    // Of a cluster, PostgreSQL is all there is to back up.
    let settings = at("onrush.toml");
    let redis = "engine = \"redis\"\nledger = \"postgres\"\n[redis]\nurls = [\"redis://127.0.0.1:1\"]\n\
                 [postgres]\nurl = \"postgres://127.0.0.1/x\"\n";
    let mixed = "ledger = \"postgres\"\n[postgres]\nurl = \"postgres://127.0.0.1/x\"\n";
    for (text_of_file, word) in [(redis, "pg_dump"), (mixed, "dump PostgreSQL")] {
        fs::write(&settings, text_of_file).expect("written");
        let output = run(&["backup", "--config", text(&settings), "--to", text(&at("b"))]);
        refused(&output, 2, &["PostgreSQL", word]);
    }
    assert!(!at("b").exists());
}

#[test]
fn a_backup_that_finds_no_room_says_so_and_leaves_nothing() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = |name: &str| scratch.path().join(name);
    let data = at("data");
    let shop = Shop::open(&data);
    shop.buy(1);
    let long = data.join("plans/long.json");
    fs::File::create(&long).and_then(|file| file.set_len(16 << 20)).expect("made");
    // No file may grow beyond so much, which is what a full disk looks like to who writes.
    for (kib, file) in [(64, ".db"), (2_048, "plans/long.json")] {
        let script = format!("trap '' XFSZ; ulimit -f {} && exec \"$0\" \"$@\"", kib * 2);
        let output = std::process::Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_onrush"), "backup"])
            .args(["--data", text(&data), "--to", text(&at("b"))])
            .output()
            .expect("it can be started");
        refused(&output, 3, &["b.partial", file]);
        assert!(!at("b").exists() && !at("b.partial").exists(), "{file}");
    }
    // The first one goes on.
    shop.buy(1);
}

#[test]
fn a_sale_that_would_have_opened_since_is_paused_as_well() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = |name: &str| scratch.path().join(name);
    let data = at("data");
    let shop = Shop::open(&data);
    let event = |id: &str, more: &str| {
        let create = format!(r#"{{"event":"{id}","title":"Test","currency":"EUR"{more}}}"#);
        shop.served.ask("POST", "/api/v1/admin/events", ADMIN_KEY, &create);
        let pool = r#"{"pool":"ga","capacity":10,"price_minor":0}"#;
        let path = format!("/api/v1/admin/events/{id}/pools");
        shop.served.ask("POST", &path, ADMIN_KEY, pool);
    };
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    // What the organiser opens by hand may have been opened since, and its seed be known.
    event("by-hand", r#","room":{"order":"draw"}"#);
    shop.served.ask("POST", "/api/v1/admin/events/by-hand/prequeue", ADMIN_KEY, "{}");
    // On a busy machine a backup may end only when the sales are open: then the next ones open later.
    let in_time = [4_000, 15_000, 45_000].into_iter().find_map(|ms| {
        let (timed, drawn) = (format!("timed-{ms}"), format!("drawn-{ms}"));
        let promised = format!("promised-{ms}");
        event(&timed, r#","room":null"#);
        event(&drawn, r#","room":{"order":"draw"}"#);
        event(&promised, r#","room":{"order":"draw","public_value_source":"the lottery"}"#);
        for id in [&drawn, &promised] {
            let path = format!("/api/v1/admin/events/{id}/prequeue");
            shop.served.ask("POST", &path, ADMIN_KEY, "{}");
        }
        let opens_at = now() + ms;
        for id in [&timed, &drawn, &promised] {
            let path = format!("/api/v1/admin/events/{id}");
            shop.served.ask("PATCH", &path, ADMIN_KEY, &format!(r#"{{"opens_at":{opens_at}}}"#));
        }
        let backup = at(&format!("b-{ms}"));
        fine(&back_up(&data, &backup));
        (now() < opens_at).then_some((timed, drawn, promised, backup))
    });
    let (timed, drawn, promised, backup) = in_time.expect("a backup ends before the sales open");
    let phase = |served: &Served, id: &str| {
        let event = served.ask("GET", &format!("/api/v1/events/{id}"), "", "");
        event["phase"].as_str().expect("a phase").to_owned()
    };
    let begun = Instant::now();
    for id in [&timed, &drawn] {
        while phase(&shop.served, id) != "open" {
            assert!(begun.elapsed() < PATIENCE, "{id} never opened");
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }
    shop.stop();
    fine(&put_back(&backup, &at("r")));
    let log = at("log");
    let served = Served::start_with_log(&at("r"), &log, |command| {
        command.arg("--accept-restored").env("ONRUSH_GATEWAY", "sandbox");
    });
    let said = fs::read_to_string(&log).expect("a text");
    let of_seeds: Vec<_> = said.lines().filter(|line| line.contains("its seed is known")).collect();
    assert!(matches!(of_seeds[..], [line] if line.contains("by-hand")), "{said}");
    for id in ["paid", &timed, &drawn] {
        assert_eq!(phase(&served, id), "paused", "{id}");
    }
    // Nobody but the organiser can open it, who alone can tell the value: it keeps no sale closed.
    assert_eq!(phase(&served, &promised), "prequeue");
    assert_eq!(phase(&served, "by-hand"), "prequeue");
    let path = format!("/api/v1/admin/events/{promised}/open");
    served.ask("POST", &path, ADMIN_KEY, r#"{"public_value":"4 8 15"}"#);
    assert_eq!(phase(&served, &promised), "open");
    assert_eq!(served.stop(), Some(0));
    // It is a directory like any other now, and keeps what it was made from.
    assert!(names_in(&at("r")).iter().any(|name| name.starts_with("restored-")));
    let (_, report) = run_json(&["audit", "--json", "--data", text(&at("r"))]);
    assert_eq!(report["violations"], 0, "{report}");
}

#[test]
fn a_session_that_was_ended_after_the_backup_is_not_back_after_a_restore() {
    let scratch = tempfile::tempdir().expect("a directory");
    let [data, backup, restored] = ["data", "backup", "restored"].map(|it| scratch.path().join(it));
    let shop = Shop::open(&data);
    let sessions = |served: &Served| {
        let live = served.ask("GET", "/api/v1/admin/sessions", ADMIN_KEY, "");
        live["sessions"].as_array().expect("a list").len()
    };
    let key = json!({ "key": ADMIN_KEY }).to_string();
    shop.served.ask("POST", "/api/v1/session", "", &key);
    assert_eq!(sessions(&shop.served), 1);
    fine(&back_up(&data, &backup));
    shop.served.ask("DELETE", "/api/v1/admin/sessions", ADMIN_KEY, "");
    assert_eq!(sessions(&shop.served), 0);
    shop.stop();
    fine(&put_back(&backup, &restored));
    let served = sandboxed(&restored, &["--accept-restored"]);
    assert_eq!(sessions(&served), 0, "its cookie is worth nothing");
    // From then on sessions outlive starts, as ever.
    served.ask("POST", "/api/v1/session", "", &key);
    assert_eq!(served.stop(), Some(0));
    let served = sandboxed(&restored, &[]);
    assert_eq!(sessions(&served), 1);
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn the_number_of_a_backups_last_decision_accepts_that_backup_alone_and_once() {
    let scratch = tempfile::tempdir().expect("a directory");
    let [data, backup, restored] = ["data", "backup", "restored"].map(|it| scratch.path().join(it));
    let shop = Shop::open(&data);
    shop.buy(1);
    shop.stop();
    fine(&back_up(&data, &backup));
    let decision = fine(&put_back(&backup, &restored))["decision"].as_u64().expect("a number");
    let flag = |decision: u64| format!("--accept-restored={decision}");
    let (code, said) = restored_start(&restored, &[&flag(decision + 1)]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains(&format!("decision {decision}")), "{said}");
    for phase in ["paused", "open"] {
        let served = sandboxed(&restored, &[&flag(decision)]);
        let event = served.ask("GET", "/api/v1/events/paid", "", "");
        assert_eq!(event["phase"], phase, "{event}");
        if phase == "paused" {
            served.ask("POST", "/api/v1/admin/events/paid/resume", ADMIN_KEY, "{}");
        }
        assert_eq!(served.stop(), Some(0));
    }
    // What else does not fit is not accepted by it.
    fs::remove_file(restored.join("witness.json")).expect("it is there");
    let (code, said) = restored_start(&restored, &[&flag(decision)]);
    assert_eq!(code, Some(4), "{said}");
}

#[test]
fn audit_of_a_ledger_in_postgresql_beside_a_journal_compares_the_money() {
    let Some(postgres) = need(Postgres::start()) else { return };
    let scratch = tempfile::tempdir().expect("a directory");
    let (data, settings) = (scratch.path().join("data"), scratch.path().join("onrush.toml"));
    let url = postgres.url();
    let lines = format!("data = {data:?}\nledger = \"postgres\"\n[postgres]\nurl = \"{url}\"\n");
    fs::write(&settings, lines).expect("written");
    let shop = Shop::open_with(&data, &["--config", text(&settings)]);
    shop.buy(2);
    shop.stop();
    let (code, report) = run_json(&["audit", "--json", "--config", text(&settings)]);
    assert_eq!((code, &report["violations"]), (Some(0), &json!(0)), "{report}");
    let (sold, paid_minor) = (&report["sold"], &report["confirmed_minor"]);
    assert_eq!((sold, paid_minor), (&json!(2), &json!(2 * 5_023)), "{report}");
    // A payment that is not in the ledger is found there.
    postgres.sql(&url, "UPDATE payments SET captured_minor = captured_minor - 1").expect("done");
    let (code, report) = run_json(&["audit", "--json", "--config", text(&settings)]);
    assert_eq!(code, Some(1), "{report}");
    // Whoever names the directory alone is told where to look.
    let alone = run(&["audit", "--data", text(&data)]);
    let told = String::from_utf8_lossy(&alone.stdout).into_owned();
    assert!(told.contains("give --config"), "{told}");
}

#[test]
fn publishers_begin_no_later_than_at_the_end_of_a_journal_that_was_accepted() {
    let Some(postgres) = need(Postgres::start()) else { return };
    let scratch = tempfile::tempdir().expect("a directory");
    let (data, settings) = (scratch.path().join("data"), scratch.path().join("onrush.toml"));
    let url = postgres.url();
    let lines = format!("data = {data:?}\nledger = \"postgres\"\n[postgres]\nurl = \"{url}\"\n");
    fs::write(&settings, lines).expect("written");
    let shop = Shop::open_with(&data, &["--config", text(&settings)]);
    shop.buy(1);
    shop.stop();
    // As after decisions that an older journal does not know.
    let sql = "INSERT INTO cursors VALUES ('far', 1, 1000000), ('near', 1, 2)";
    postgres.sql(&url, sql).expect("done");
    let cursor = |name: &str| {
        let sql = format!("SELECT value FROM cursors WHERE name = '{name}'");
        postgres.sql(&url, &sql).expect("it answers").parse::<u64>().expect("a number")
    };
    let (code, said) = restored_start(&data, &["--config", text(&settings)]);
    assert_eq!((code, cursor("far")), (Some(0), 1_000_000), "{said}");
    let followed = postgres.sql(&url, "SELECT seq FROM feed_cursor").expect("it answers");
    let end = followed.parse::<u64>().expect("a number");
    let flags = ["--config", text(&settings), "--accept-restored"];
    let (code, said) = restored_start(&data, &flags);
    assert_eq!((code, cursor("near")), (Some(0), 2), "{said}");
    // The ledger may not have followed to the end before it stopped.
    assert!((end..1_000).contains(&cursor("far")), "{} {end}", cursor("far"));
    assert!(said.contains("the feed is read anew") && said.contains("far"), "{said}");
}

#[test]
fn an_accepted_start_beside_postgresql_that_ends_early_leaves_the_pausing_to_the_next_one() {
    let Some(postgres) = need(Postgres::start()) else { return };
    let scratch = tempfile::tempdir().expect("a directory");
    let (data, settings) = (scratch.path().join("data"), scratch.path().join("onrush.toml"));
    // The sandbox is opened after the journal, and somebody else has its port.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let lines = |sandbox: &str| {
        let url = postgres.url();
        format!(
            "data = {data:?}\nledger = \"postgres\"\n[postgres]\nurl = \"{url}\"\n\
             [sandbox]\nlisten = \"{sandbox}\"\n"
        )
    };
    let flags = ["--config", text(&settings)];
    fs::write(&settings, lines("127.0.0.1:0")).expect("written");
    Shop::open_with(&data, &flags).stop();
    let address = taken.local_addr().expect("an address").to_string();
    fs::write(&settings, lines(&address)).expect("written");
    let accepting = [flags[0], flags[1], "--accept-restored"];
    let (code, said) = restored_start(&data, &accepting);
    assert!(code.is_some_and(|code| code != 0) && said.contains(&address), "{code:?} {said}");

    fs::write(&settings, lines("127.0.0.1:0")).expect("written");
    let served = sandboxed(&data, &flags);
    assert_eq!(served.ask("GET", "/api/v1/events/paid", "", "")["phase"], "paused");
    assert_eq!(served.stop(), Some(0));
}
