//! Archived events leave the journal: their history is in files, is audited as before, and a kill
//! at any moment loses nothing of it.

use crate::sale::{
    Sale, copy_files, done, event, feed_to, flash_settings, hold_command, id, pool_spec, units,
};
use flate2::read::MultiGzDecoder;
use flate2::{Compression, write::GzEncoder};
use onrush_core::Command;
use onrush_core::ids::EventId;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::question::AvailabilityNow;
use onrush_core::spec::Reason;
use onrush_core::types::AskedTypes;
use onrush_store::embedded::{
    ArchiveError, ArchiveReport, ArchiveStep, AuditReport, Embedded, OpenError, Options, archive,
    audit, audit_with_archive,
};
use onrush_store::{Ask, Engine, Seq};
use onrush_testkit::golden;
use rusqlite::Connection;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const FILE: &str = "archive/gala.jsonl.gz";
/// Units that `sold` sells of each event that it archives.
const SOLD: u64 = 12;

async fn run(engine: &Embedded, event: &EventId, command: Command) {
    let told = format!("{command:?}");
    let answer = engine.execute(event.clone(), command).await;
    answer.unwrap_or_else(|failure| panic!("{event}: {told}: {failure}"));
}

/// Opens an event with so many units in a pool.
async fn begin(engine: &Embedded, event: &EventId, capacity: u32) {
    run(engine, event, Command::CreateEvent { settings: Box::new(flash_settings()) }).await;
    run(engine, event, Command::AddPool { spec: pool_spec("ga", capacity) }).await;
    run(engine, event, Command::OpenSale { seed: None, public_value: None }).await;
}

async fn sell(engine: &Embedded, event: &EventId, number: u64, quantity: u32) {
    let (booking, user) = (id(&format!("{event}.{number}")), id(&format!("u{number}")));
    let lines = Lines::new(vec![PoolLine { pool: id("ga"), quantity }], vec![]).expect("lines");
    let (channels, types) = (Vec::new(), AskedTypes::default());
    run(engine, event, Command::Hold { booking, user, lines, channels, types }).await;
    let (booking, user) = (id(&format!("{event}.{number}")), id(&format!("u{number}")));
    run(engine, event, Command::Confirm { booking, user, payment: None }).await;
}

async fn end(engine: &Embedded, event: &EventId) {
    let reason = Reason { by: "office".into(), why: "it is over".into() };
    run(engine, event, Command::Close).await;
    run(engine, event, Command::Archive { reason }).await;
}

/// Two events that were sold and archived, `gala` and `matinee`, and `other`, which is on sale: the
/// decisions of all lie between each other's. The engine is closed.
async fn sold() -> Sale {
    let sale = Sale::new();
    let engine = Embedded::open(sale.path(), Options { snapshot_every: 15, ..sale.options() })
        .expect("opened");
    let (gala, matinee, other) = (event(), id("matinee"), id("other"));
    for event in [&gala, &matinee, &other] {
        begin(&engine, event, 100).await;
    }
    for number in 0..SOLD {
        sale.clock.advance_ms(1_000);
        for event in [&gala, &matinee, &other] {
            sell(&engine, event, number, 1).await;
        }
    }
    for event in [&gala, &matinee] {
        end(&engine, event).await;
    }
    run(&engine, &other, hold_command("later", units(2))).await;
    engine.close();
    sale
}

fn archived(dir: &Path) -> ArchiveReport {
    archive(dir, &mut |_| {}).expect("it can be archived")
}

fn events(report: &ArchiveReport) -> Vec<&str> {
    report.archived.iter().map(|archived| archived.event.as_str()).collect()
}

/// What every audit of such files must say, whether history is in the journal or in files.
fn is_clean(report: &AuditReport) {
    assert_eq!(report.violations, Vec::<String>::new());
    assert_eq!((report.events, report.seats_sold_twice, report.oversold), (3, 0, 0));
}

/// The journal's rows: how many there are, and how many have no changes.
fn rows(dir: &Path) -> (i64, i64) {
    let journal = Connection::open(dir.join("engine.db")).expect("a journal");
    let sql = "SELECT count(*), sum(body = '[]') FROM journal";
    journal.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("a row")
}

/// Whoever starts on it finds `other` on sale as it was, and the other two archived.
async fn starts(sale: &Sale) {
    let engine = sale.open();
    assert_eq!(engine.events().await.expect("a list").value, [id("other")]);
    let view = engine.ask(id("other"), AvailabilityNow).await.expect("an answer").value;
    let pool = &view.pools[0];
    assert_eq!((pool.units.free, pool.units.sold, pool.units.held), (86, 12, 2));
    for gone in ["gala", "matinee"] {
        let refused = engine.ask(id(gone), AvailabilityNow).await.expect_err("it is archived");
        assert!(refused.to_string().contains("archived"), "{refused}");
    }
    engine.close();
}

fn text(path: &Path) -> String {
    let mut text = String::new();
    let file = fs::File::open(path).expect("a file");
    MultiGzDecoder::new(file).read_to_string(&mut text).expect("it is compressed text");
    text
}

fn write_text(path: &Path, text: &str) {
    let mut file = GzEncoder::new(Vec::new(), Compression::default());
    file.write_all(text.as_bytes()).expect("memory");
    fs::write(path, file.finish().expect("memory")).expect("written");
}

fn remove_snapshots(dir: &Path) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("a file").path();
        if path.file_name().expect("a name").to_string_lossy().starts_with("snapshot-") {
            fs::remove_file(path).expect("removed");
        }
    }
}

#[tokio::test]
async fn history_goes_into_files_and_is_audited_as_before() {
    let sale = sold().await;
    let before = audit(sale.path()).expect("readable");
    is_clean(&before);
    let (all, none) = rows(sale.path());
    assert_eq!(none, 0);
    let report = archived(sale.path());
    assert_eq!(events(&report), ["gala", "matinee"]);
    let decisions: u64 = report.archived.iter().map(|archived| archived.decisions).sum();
    // Those that created and archived them stay.
    assert_eq!(rows(sale.path()), (all, decisions as i64 - 4));
    assert!(!sale.path().join("engine.db-wal").exists(), "all of it is in the file itself");

    let without = audit(sale.path()).expect("readable");
    is_clean(&without);
    assert_eq!(without.unread, [id::<EventId>("gala"), id("matinee")]);
    assert_eq!((without.sold, without.archive_files), (SOLD, 0));
    let with = audit_with_archive(sale.path()).expect("readable");
    is_clean(&with);
    assert_eq!((with.unread.len(), with.archive_files), (0, 2));
    assert_eq!((with.sold, with.changes, with.seq), (before.sold, before.changes, before.seq));
    assert!(with.snapshots >= 2, "one of before is compared, too");

    starts(&sale).await;
    remove_snapshots(sale.path());
    starts(&sale).await;
    is_clean(&audit(sale.path()).expect("readable"));
    is_clean(&audit_with_archive(sale.path()).expect("readable"));
    let again = archived(sale.path());
    assert_eq!((events(&again).len(), again.before), (0, 2));
}

#[tokio::test]
async fn readers_of_the_feed_find_no_gap_and_no_changes() {
    let sale = sold().await;
    archived(sale.path());
    let engine = sale.open();
    let last = engine.committed();
    let entries = feed_to(&engine, Seq(0), last).await;
    assert_eq!(entries.len() as u64, last.0);
    let blank: Vec<_> = entries.iter().filter(|entry| entry.changes.is_empty()).collect();
    assert_eq!(blank.len() as i64, rows(sale.path()).1);
    assert!(blank.iter().all(|entry| entry.event != id("other")));
    // What is decided from now on is numbered on, and archived the next time.
    end_of(&engine).await;
    engine.close();
    assert_eq!(events(&archived(sale.path())), ["other"]);
    let report = audit_with_archive(sale.path()).expect("readable");
    is_clean(&report);
    assert_eq!((report.archive_files, report.sold), (3, SOLD * 3));
}

/// Ends `other`, in which somebody holds something.
async fn end_of(engine: &Embedded) {
    let other = id("other");
    let release = Command::Release { booking: id("later"), user: id("u-later") };
    run(engine, &other, release).await;
    end(engine, &other).await;
}

#[tokio::test]
async fn a_kill_at_any_step_leaves_all_of_it_and_the_next_time_finishes_it() {
    let sale = sold().await;
    let before = audit(sale.path()).expect("readable");
    let whole = sale.copy();
    let mut killed = Vec::new();
    archive(sale.path(), &mut |step| {
        let left =
            Sale { dir: tempfile::tempdir().expect("a directory"), clock: sale.clock.clone() };
        copy_files(sale.path(), left.path());
        killed.push((step, left));
    })
    .expect("it can be archived");
    // Drafted, written, removing and removed for each of two, and shrunk.
    assert_eq!(killed.len(), 9);
    assert!(matches!(killed[8].0, ArchiveStep::Shrunk));
    // Killed while the file was written: any part of it is left.
    for bytes in [0, 1, 100] {
        let left = whole.copy();
        let draft = fs::read(sale.path().join(FILE)).expect("a file");
        fs::create_dir(left.path().join("archive")).expect("made");
        let path = left.path().join(FILE).with_extension("gz.new");
        fs::write(path, &draft[..bytes]).expect("written");
        killed.push((ArchiveStep::Drafted(event()), left));
    }
    for (step, left) in killed {
        for report in [audit(left.path()), audit_with_archive(left.path())] {
            is_clean(&report.expect("readable"));
        }
        let with = audit_with_archive(left.path()).expect("readable");
        assert_eq!((with.sold, with.changes), (before.sold, before.changes), "{step:?}");
        starts(&left.copy()).await;
        archived(left.path());
        let with = audit_with_archive(left.path()).expect("readable");
        is_clean(&with);
        assert_eq!(with.archive_files, 2, "{step:?}");
        assert_eq!((with.sold, with.changes), (before.sold, before.changes), "{step:?}");
        assert_eq!(rows(left.path()), rows(sale.path()), "{step:?}");
        let files: Vec<_> = fs::read_dir(left.path().join("archive")).expect("there").collect();
        assert_eq!(files.len(), 2, "{step:?}: nothing half is left");
        starts(&left).await;
    }
}

#[tokio::test]
async fn files_that_are_missing_cut_changed_or_foreign_are_told() {
    let sale = sold().await;
    archived(sale.path());
    let path = sale.path().join(FILE);
    let (bytes, text) = (fs::read(&path).expect("a file"), text(&path));
    let seal = |body: &str, decisions: usize| {
        let sha256 = sha256(body);
        let end = format!("{{\"end\":{{\"decisions\":{decisions},\"sha256\":\"{sha256}\"}}}}\n");
        format!("{body}{end}")
    };
    let (body, _) = text.rsplit_once("{\"end\"").expect("a trailer");
    let decisions = body.lines().count() - 1;
    let sealed = seal(body, decisions);
    assert_eq!(sealed, text, "the test seals as the program does");
    let told = |change: &dyn Fn(), words: &str| {
        change();
        let report = audit_with_archive(sale.path()).expect("readable");
        let found = &report.violations;
        assert!(found.iter().any(|what| what.contains(FILE) && what.contains(words)), "{found:?}");
        assert_eq!((report.archive_files, &report.unread[..]), (1, &[event()][..]));
        is_clean(&audit(sale.path()).expect("readable"));
        fs::write(&path, &bytes).expect("written");
        is_clean(&audit_with_archive(sale.path()).expect("readable"));
    };
    told(&|| fs::remove_file(&path).expect("removed"), "it is missing");
    told(&|| fs::write(&path, &bytes[..bytes.len() / 2]).expect("written"), "it is cut off");
    told(&|| fs::write(&path, b"").expect("written"), "it is cut off");
    told(&|| fs::write(&path, b"no gzip at all").expect("written"), "it is damaged");
    let without_end = body.trim_end_matches('\n').rsplit_once('\n').expect("lines").0;
    told(&|| write_text(&path, &format!("{without_end}\n")), "it is cut off");
    told(&|| write_text(&path, &text.replacen("\"ga\":1}", "\"ga\":2}", 1)), "checksum");
    told(&|| write_text(&path, &text.replacen("u3", "u4", 1)), "checksum");
    // Whoever changes it and seals it anew is known all the same.
    let changed = body.replacen("\"u3\"", "\"u4\"", 1);
    assert_ne!(changed, body);
    told(&|| write_text(&path, &seal(&changed, decisions)), "not the one that the journal");
    let shorter = format!("{without_end}\n");
    told(&|| write_text(&path, &seal(&shorter, decisions - 1)), "not the one that the journal");
    let matinee = fs::read(sale.path().join("archive/matinee.jsonl.gz")).expect("a file");
    told(&|| fs::write(&path, &matinee).expect("written"), "it is of event matinee");
    let newer = text.replacen("{\"onrush_archive\":1", "{\"onrush_archive\":2", 1);
    told(&|| write_text(&path, &newer), "format 2 is not known");

    let elsewhere = sold().await;
    archived(elsewhere.path());
    let foreign = fs::read(elsewhere.path().join(FILE)).expect("a file");
    told(&|| fs::write(&path, &foreign).expect("written"), "it is of another journal");
    // One that lies beside the others is told as well.
    fs::write(sale.path().join("archive/stray.jsonl.gz"), &foreign).expect("written");
    let report = audit_with_archive(sale.path()).expect("readable");
    assert_eq!(report.violation_count, 1, "{:?}", report.violations);
    assert!(report.violations[0].contains("archive/stray.jsonl.gz"), "{:?}", report.violations);
}

fn sha256(text: &str) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn nothing_is_archived_beside_an_engine_or_before_the_ledger_has_followed() {
    let sale = sold().await;
    let before = rows(sale.path());
    let engine = sale.open();
    let refused = archive(sale.path(), &mut |_| {}).expect_err("an engine runs");
    assert!(matches!(refused, ArchiveError::Open(OpenError::Locked { .. })), "{refused}");
    engine.set_ledger_followed(Seq(3));
    engine.close();
    let report = archived(sale.path());
    assert_eq!(report.not_followed, [event(), id("matinee")]);
    assert_eq!((rows(sale.path()), report.archived), (before, vec![]));
    // It has followed past the end of one.
    let journal = Connection::open(sale.path().join("engine.db")).expect("a journal");
    let sql = "SELECT max(seq) FROM journal WHERE event = 'gala'";
    let end: i64 = journal.query_row(sql, [], |row| row.get(0)).expect("a row");
    drop(journal);
    let engine = sale.open();
    engine.set_ledger_followed(Seq(end.unsigned_abs()));
    engine.close();
    let report = archived(sale.path());
    assert_eq!((events(&report), &report.not_followed[..]), (vec!["gala"], &[id("matinee")][..]));
    let missing = archive(&sale.path().join("nowhere"), &mut |_| {}).expect_err("no journal");
    assert!(matches!(missing, ArchiveError::Open(OpenError::Missing { .. })), "{missing}");
}

#[tokio::test]
async fn somebody_elses_file_is_not_replaced() {
    let (sale, elsewhere) = (sold().await, sold().await);
    archived(elsewhere.path());
    fs::create_dir(sale.path().join("archive")).expect("made");
    let path = sale.path().join(FILE);
    let before = rows(sale.path());
    for there in [fs::read(elsewhere.path().join(FILE)).expect("a file"), b"notes".to_vec()] {
        fs::write(&path, &there).expect("written");
        let refused = archive(sale.path(), &mut |_| {}).expect_err("it is somebody's");
        assert!(refused.to_string().contains("move it away"), "{refused}");
        assert_eq!((fs::read(&path).expect("a file"), rows(sale.path())), (there, before));
    }
    fs::remove_file(&path).expect("removed");
    assert_eq!(events(&archived(sale.path())), ["gala", "matinee"]);
}

#[tokio::test]
async fn a_file_that_reads_back_otherwise_ends_it_before_anything_leaves_the_journal() {
    let sale = sold().await;
    let before = rows(sale.path());
    let draft = sale.path().join(FILE).with_extension("gz.new");
    let spoil = |how: u32| {
        let text = text(&draft);
        match how {
            0 => write_text(&draft, &text.replacen("\"u3\"", "\"u4\"", 1)),
            1 => write_text(&draft, text.rsplit_once("{\"end\"").expect("a trailer").0),
            2 => fs::write(&draft, b"").expect("written"),
            _ => fs::remove_file(&draft).expect("removed"),
        }
    };
    for how in 0..4 {
        let mut steps = Vec::new();
        let refused = archive(sale.path(), &mut |step| {
            spoil(how);
            steps.push(step);
        });
        let why = refused.expect_err("it is not what was written").to_string();
        assert!(why.contains(FILE), "{how}: {why}");
        assert_eq!(steps, [ArchiveStep::Drafted(event())], "{how}: {why}");
        assert_eq!(rows(sale.path()), before, "{how}");
        assert!(!sale.path().join(FILE).exists(), "{how}");
    }
    assert_eq!(events(&archived(sale.path())), ["gala", "matinee"]);
    is_clean(&audit_with_archive(sale.path()).expect("readable"));
}

#[tokio::test]
async fn changes_that_are_missing_and_in_no_file_are_damage() {
    let sale = sold().await;
    remove_snapshots(sale.path());
    let spoil = |dir: &Path, sql: &str| {
        Connection::open(dir.join("engine.db")).and_then(|it| it.execute_batch(sql)).expect("sql");
    };
    let blank = "UPDATE journal SET body = '[]' WHERE event = 'other' AND seq =
        (SELECT max(seq) - 1 FROM journal WHERE event = 'other')";
    let copy = sale.copy();
    spoil(copy.path(), "UPDATE journal SET body = '[]' WHERE seq = 9");
    let refused = copy.try_open().map(drop).expect_err("it is damaged");
    assert!(matches!(&refused, OpenError::Damaged(_)), "{refused}");
    assert!(refused.to_string().contains("no archive file has them"), "{refused}");
    assert_eq!(audit(copy.path()).expect("readable").violation_count, 1);
    // Nor does the memo of a file do, without the decision that archived the event.
    let copy = sale.copy();
    spoil(copy.path(), blank);
    spoil(copy.path(), "INSERT INTO meta VALUES ('archive/other.jsonl.gz', '{}')");
    spoil(copy.path(), "UPDATE journal SET body = '[]' WHERE event = 'other' AND seq > 7");
    let refused = copy.try_open().map(drop).expect_err("it is damaged");
    assert!(refused.to_string().contains("the one that archived it is missing"), "{refused}");
}

#[tokio::test]
async fn earlier_versions_refuse_a_journal_whose_changes_are_in_files() {
    let sale = sold().await;
    let format = |dir: &Path| -> i64 {
        let journal = Connection::open(dir.join("engine.db")).expect("a journal");
        journal.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a number")
    };
    assert_eq!(format(sale.path()), 1);
    archived(sale.path());
    assert_eq!(format(sale.path()), 2, "they know 1, and say that a newer onrush wrote it");
}

#[tokio::test]
async fn archive_file_is_as_documented() {
    let sale = sold().await;
    archived(sale.path());
    let text = text(&sale.path().join(FILE));
    let member = |name: &str| {
        let (_, rest) = text.split_once(&format!("\"{name}\":\"")).expect("a member");
        rest.split_once('"').expect("a text").0.to_owned()
    };
    let journal = Connection::open(sale.path().join("engine.db")).expect("a journal");
    let sql = "SELECT value FROM meta WHERE key = ?1";
    let memo: String = journal.query_row(sql, [FILE], |row| row.get(0)).expect("a memo");
    let (identity, sha256) = (member("journal"), member("sha256"));
    assert!(memo.contains(&sha256), "{memo}");
    // Both are of this journal alone.
    let text = text.replace(&identity, &"0".repeat(32)).replace(&sha256, &"0".repeat(64));
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/archive.jsonl");
    golden(&path, &text);
}

/// A year in small: each event is sold out, closed and archived, and nothing of it stays but its
/// decisions' numbers and times.
#[tokio::test]
async fn thirty_events_sold_out_and_archived_leave_the_state_of_the_first_day() {
    const EVENTS: u64 = 30;
    const UNITS: u32 = 50;
    let sale = Sale::new();
    let engine = sale.open();
    let mut first_day = None;
    for number in 0..EVENTS {
        let event = id(&format!("event-{number}"));
        begin(&engine, &event, UNITS).await;
        for unit in 0..u64::from(UNITS) {
            sell(&engine, &event, unit, 1).await;
        }
        let more = hold_command("more", units(1));
        assert!(engine.execute(event.clone(), more).await.is_err(), "it is sold out");
        end(&engine, &event).await;
        assert_eq!(engine.events().await.expect("a list").value, Vec::<EventId>::new());
        if number == 0 {
            let copy = sale.copy();
            first_day = Some(archived(copy.path()));
        }
    }
    engine.close();
    let first_day = first_day.expect("a first day");
    let before = audit(sale.path()).expect("readable");
    let report = archived(sale.path());
    let after = audit_with_archive(sale.path()).expect("readable");
    assert_eq!((&before.violations, &after.violations), (&vec![], &vec![]));
    assert_eq!((before.sold, after.sold), (EVENTS * u64::from(UNITS), before.sold));
    assert_eq!((before.changes, after.archive_files as u64), (after.changes, EVENTS));

    let decisions: u64 = report.archived.iter().map(|archived| archived.decisions).sum();
    let growth = report.journal_bytes - first_day.journal_bytes;
    let an_event = growth / (EVENTS - 1);
    let a_decision = growth * EVENTS / (EVENTS - 1) / decisions;
    println!(
        "journal: {} bytes before, {} after: {an_event} an event, {a_decision} a decision; files: {}",
        report.journal_bytes_before,
        report.journal_bytes,
        report.archived.iter().map(|archived| archived.file_bytes).sum::<u64>(),
    );
    assert!(a_decision < 50, "{a_decision} bytes a decision stay");
    assert!(report.journal_bytes * 3 < report.journal_bytes_before, "{report:?}");
    let snapshot = snapshot_bytes(sale.path());
    assert!(snapshot < 100 * EVENTS + 200, "{snapshot} bytes: a line or two an event");
    done_opening(&sale).await;
}

fn snapshot_bytes(dir: &Path) -> u64 {
    let names = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("a file"));
    let snapshots =
        names.filter(|entry| entry.file_name().to_string_lossy().starts_with("snapshot-"));
    snapshots.map(|entry| entry.metadata().expect("there").len()).max().expect("a snapshot")
}

/// It sells on.
async fn done_opening(sale: &Sale) {
    let engine = sale.opened().await;
    done(&engine, Command::Close).await;
    engine.close();
    assert_eq!(audit(sale.path()).expect("readable").violations, Vec::<String>::new());
}
