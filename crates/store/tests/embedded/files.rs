//! Files that are not what they should be are refused, and not touched.

use crate::sale::{Sale, hold, release, units};
use onrush_store::Seq;
use onrush_store::embedded::{Damage, Embedded, JournalReader, OpenError, Options, audit};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Every file, its length, and a checksum of what is in it.
fn contents(dir: &Path) -> BTreeMap<String, (usize, u32)> {
    fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("a file"))
        .map(|entry| {
            let name = entry.file_name().into_string().expect("a plain name");
            let bytes = fs::read(entry.path()).expect("a readable file");
            (name, (bytes.len(), crc32fast::hash(&bytes)))
        })
        .collect()
}

/// Whether there is a snapshot. The engine may be writing one: its file has another name meanwhile.
fn has_snapshot(dir: &Path) -> bool {
    let entries = fs::read_dir(dir).expect("a directory");
    entries.map(|entry| entry.expect("a file").file_name()).any(|name| {
        let name = name.to_string_lossy();
        name.starts_with("snapshot-") && name.ends_with(".jsonl")
    })
}

fn write_header_number(path: &Path, offset: usize, number: u32) {
    let mut bytes = fs::read(path).expect("the file");
    bytes[offset..offset + 4].copy_from_slice(&number.to_be_bytes());
    fs::write(path, bytes).expect("written");
}

/// A sale with so many holds, each given back, closed; and its last decision.
async fn closed_sale(holds: usize) -> (Sale, u64) {
    let sale = Sale::new();
    let engine = sale.opened().await;
    for n in 0..holds {
        hold(&engine, &format!("b{n}"), units(1)).await.expect("held");
        release(&engine, &format!("b{n}")).await.expect("released");
    }
    let last = onrush_store::Engine::committed(&engine).0;
    engine.close();
    (sale, last)
}

fn damage(result: Result<Embedded, OpenError>) -> Damage {
    match result {
        Err(OpenError::Damaged(damage)) => *damage,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a damaged file is opened"),
    }
}

#[tokio::test]
async fn newer_format_is_refused_and_left_alone() {
    let (sale, _) = closed_sale(1).await;
    write_header_number(&sale.path().join("engine.db"), 60, 3);
    let before = contents(sale.path());
    let error = sale.try_open().err().expect("refused");
    assert!(matches!(error, OpenError::Newer { format: 3, known: 2, .. }), "{error}");
    assert!(error.to_string().contains("newer"), "{error}");
    assert_eq!(contents(sale.path()), before);
}

#[tokio::test]
async fn what_a_newer_version_wrote_and_this_one_would_read_over_is_refused_by_name() {
    let (sale, _) = closed_sale(2).await;
    let journal = || rusqlite::Connection::open(sale.path().join("engine.db")).expect("opened");
    let noted = "SELECT value FROM meta WHERE key = 'vocabulary'";
    let noted: String = journal().query_row(noted, [], |row| row.get(0)).expect("it is noted");
    assert!(noted.lines().any(|line| line == "hold_placed.terms.created_at"), "{noted}");
    // A newer version ran here, and nobody used what is new in it.
    let newer =
        format!("{noted}\nhold_placed.terms.discount_minor\nhold_swapped\nhold_swapped.terms");
    let sql = "UPDATE meta SET value = ?1 WHERE key = 'vocabulary'";
    journal().execute(sql, [&newer]).expect("written");
    sale.open().close();
    let kept: String = journal()
        .query_row("SELECT value FROM meta WHERE key = 'vocabulary'", [], |row| row.get(0))
        .expect("it is noted");
    assert_eq!(kept.lines().count(), newer.lines().count(), "it is not forgotten");
    for (used, told) in [
        (
            "replace(body, '\"created_at\":', '\"discount_minor\":5,\"created_at\":')",
            "hold_placed.terms.discount_minor",
        ),
        ("replace(body, '{\"hold_placed\":', '{\"hold_swapped\":')", "hold_swapped"),
    ] {
        let copy = sale.copy();
        let journal = rusqlite::Connection::open(copy.path().join("engine.db")).expect("opened");
        let changed =
            journal.execute(&format!("UPDATE journal SET body = {used} WHERE body <> {used}"), []);
        assert_ne!(changed, Ok(0));
        journal.close().expect("closed");
        let before = contents(copy.path());
        let error = copy.try_open().err().expect("refused");
        assert_eq!(contents(copy.path()), before);
        for error in [error, audit(copy.path()).expect_err("refused")] {
            assert!(matches!(&error, OpenError::Unread { what, .. } if what == told), "{error}");
        }
    }
}

#[tokio::test]
async fn foreign_files_are_refused_and_left_alone() {
    let sqlite = |dir: &Path| {
        let db = rusqlite::Connection::open(dir.join("engine.db")).expect("opened");
        db.execute_batch("CREATE TABLE theirs (x); PRAGMA journal_mode = WAL;").expect("created");
    };
    let text =
        |dir: &Path| fs::write(dir.join("engine.db"), "not a database at all").expect("written");
    let makers: [&dyn Fn(&Path); 2] = [&sqlite, &text];
    for make in makers {
        let sale = Sale::new();
        make(sale.path());
        let before = contents(sale.path());
        let error = sale.try_open().err().expect("refused");
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
        let error = audit(sale.path()).expect_err("refused");
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
        assert_eq!(contents(sale.path()), before, "not even a lock file");
    }
}

#[tokio::test]
async fn second_engine_on_the_same_directory_is_refused() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    let error = sale.try_open().err().expect("refused");
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    hold(&engine, "b1", units(1)).await.expect("the first one goes on");
    engine.close();
    sale.open().close();
}

#[tokio::test]
async fn truncated_journal_is_reported_with_what_is_readable() {
    let (sale, last) = closed_sale(500).await;
    let whole = fs::read(sale.path().join("engine.db")).expect("the file");
    for keep in [0, 50, 4_096, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        let cut = sale.copy();
        fs::write(cut.path().join("engine.db"), &whole[..keep]).expect("written");
        let before = contents(cut.path());
        let damage = damage(cut.try_open());
        assert_eq!(contents(cut.path()), before);
        assert!(damage.readable < last, "{damage}");
        assert_eq!(damage.last_readable, Seq(damage.readable), "{damage}");
        if keep >= whole.len() / 3 {
            assert!(damage.readable > 0, "{keep} bytes of {}: {damage}", whole.len());
        }
    }
}

#[tokio::test]
async fn truncated_file_is_noticed_beside_its_log() {
    let (sale, _) = closed_sale(500).await;
    let engine = sale.open();
    hold(&engine, "late", units(1)).await.expect("held");
    let image = sale.copy();
    engine.close();
    // With its log the copy is whole, though its last pages may be in the log alone.
    let whole = image.copy();
    whole.open().close();

    let path = image.path().join("engine.db");
    let bytes = fs::read(&path).expect("the file");
    fs::write(&path, &bytes[..bytes.len() - 3 * 4_096]).expect("written");
    let damage = damage(image.try_open());
    assert!(damage.what.contains("neither in the file nor in its log"), "{damage}");
    assert!(damage.readable > 0, "{damage}");
}

#[tokio::test]
async fn corrupt_page_is_reported_and_not_skipped() {
    let (sale, last) = closed_sale(500).await;
    let path = sale.path().join("engine.db");
    let mut bytes = fs::read(&path).expect("the file");
    let middle = bytes.len() / 2 / 4_096 * 4_096;
    bytes[middle..middle + 4_096].fill(0xa5);
    fs::write(&path, bytes).expect("written");
    let before = contents(sale.path());
    let damage = damage(sale.try_open());
    assert!((1..last).contains(&damage.readable), "{damage}");
    assert!(damage.last_seen >= damage.last_readable, "{damage}");
    assert_eq!(contents(sale.path()), before);
}

#[tokio::test]
async fn missing_or_unreadable_decision_is_reported() {
    let changes = [
        "DELETE FROM journal WHERE seq = 20",
        "UPDATE journal SET body = '[{\"hold_' WHERE seq = 20",
        "UPDATE journal SET body = '[{\"sold_to_a_friend\":{}}]' WHERE seq = 20",
        "UPDATE journal SET event = 'no such id!' WHERE seq = 20",
    ];
    let (sale, _) = closed_sale(30).await;
    for change in changes {
        let copy = sale.copy();
        let db = rusqlite::Connection::open(copy.path().join("engine.db")).expect("opened");
        db.execute_batch(change).expect("changed");
        drop(db);
        let damage = damage(copy.try_open());
        assert!(damage.what.contains("decision 20"), "{change}: {damage}");
        if !change.contains("event") {
            assert_eq!(damage.readable, 19, "{change}: {damage}");
        }
    }
}

#[tokio::test]
async fn journal_that_contradicts_itself_is_not_recovered() {
    let (sale, last) = closed_sale(3).await;
    let db = rusqlite::Connection::open(sale.path().join("engine.db")).expect("opened");
    db.execute(
        "INSERT INTO journal SELECT ?1 + 1, at, event, body FROM journal WHERE seq = ?1",
        [last as i64],
    )
    .expect("planted");
    drop(db);
    let damage = damage(sale.try_open());
    assert!(damage.what.contains(&format!("decision {}", last + 1)), "{damage}");
}

#[tokio::test]
async fn journal_that_ends_before_its_snapshot_is_reported() {
    let (sale, last) = closed_sale(3).await;
    let name = format!("snapshot-{}.jsonl", last + 1);
    fs::write(sale.path().join(name), "").expect("written");
    let error = sale.try_open().err().expect("refused");
    assert!(matches!(error, OpenError::Restored { .. }), "{error}");
    assert!(error.to_string().contains("ends at decision"), "{error}");
    // Accepted once, it is not in the way of the next start.
    let accepting = Options { accept_restored: true, ..sale.options() };
    Embedded::open(sale.path(), accepting).expect("accepted").close();
    sale.open().close();
}

/// Why an engine refuses to go on with files that are not those that were here.
fn restored(sale: &Sale) -> String {
    let before = contents(sale.path());
    match sale.try_open().err().expect("refused") {
        error @ OpenError::Restored { .. } => {
            assert_eq!(contents(sale.path()), before, "nothing is changed");
            error.to_string()
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn journal_that_lost_its_end_is_not_sold_from() {
    let (sale, last) = closed_sale(10).await;
    let db = rusqlite::Connection::open(sale.path().join("engine.db")).expect("opened");
    db.execute("DELETE FROM journal WHERE seq > ?1", [last as i64 - 1]).expect("deleted");
    drop(db);
    let why = restored(&sale);
    assert!(why.contains(&format!("the journal ends at decision {}", last - 1)), "{why}");
    assert!(why.contains("--accept-restored"), "{why}");
    let accepting = || Options { accept_restored: true, ..sale.options() };
    Embedded::open(sale.path(), accepting()).expect("accepted").close();
    sale.open().close();
}

#[tokio::test]
async fn journal_with_another_past_is_not_sold_from() {
    let (sale, last) = closed_sale(10).await;
    let db = rusqlite::Connection::open(sale.path().join("engine.db")).expect("opened");
    db.execute("UPDATE journal SET at = at + 1 WHERE seq >= ?1", [last as i64]).expect("changed");
    drop(db);
    let why = restored(&sale);
    assert!(why.contains("another past"), "{why}");
}

#[tokio::test]
async fn snapshot_of_another_past_is_not_taken_for_one_of_this_journal() {
    let sale = Sale::new();
    let options = || Options { snapshot_every: 4, ..sale.options() };
    let engine = Embedded::open(sale.path(), options()).expect("opened");
    crate::sale::open_flash_sale(&engine).await;
    for n in 0..50 {
        hold(&engine, &format!("b{n}"), units(1)).await.expect("held");
    }
    crate::sale::until("a snapshot", || has_snapshot(sale.path())).await;
    engine.close();
    let db = rusqlite::Connection::open(sale.path().join("engine.db")).expect("opened");
    db.execute_batch("UPDATE journal SET at = at + 1; DELETE FROM meta WHERE key = 'witnessed'")
        .expect("changed");
    drop(db);
    fs::remove_file(sale.path().join("witness.json")).expect("removed");
    let why = restored(&sale);
    assert!(why.contains("another past"), "{why}");
    let accepting = Options { accept_restored: true, ..sale.options() };
    Embedded::open(sale.path(), accepting).expect("accepted").close();
    assert!(!has_snapshot(sale.path()), "it is never used again");
}

#[tokio::test]
async fn directory_without_its_witness_or_journal_is_not_whole() {
    let (sale, _) = closed_sale(3).await;
    let copy = sale.copy();
    fs::remove_file(copy.path().join("witness.json")).expect("removed");
    let why = restored(&copy);
    assert!(why.contains("witness.json is missing"), "{why}");

    fs::write(copy.path().join("witness.json"), "{").expect("written");
    let why = restored(&copy);
    assert!(why.contains("cannot be understood"), "{why}");

    let copy = sale.copy();
    fs::remove_file(copy.path().join("engine.db")).expect("removed");
    let Err(error) = copy.try_open() else { panic!("a new journal is made in its place") };
    assert!(matches!(error, OpenError::Restored { .. }), "{error}");
    assert!(!copy.path().join("engine.db").exists());
}

#[tokio::test]
async fn journal_of_an_earlier_version_is_taken_over_without_a_word() {
    let (sale, _) = closed_sale(3).await;
    fs::remove_file(sale.path().join("witness.json")).expect("removed");
    let db = rusqlite::Connection::open(sale.path().join("engine.db")).expect("opened");
    db.execute_batch("DELETE FROM meta WHERE key <> 'alive_at'").expect("changed");
    drop(db);
    let engine = sale.open();
    assert_eq!(engine.identity().len(), 32);
    let identity = engine.identity().to_owned();
    engine.close();
    assert_eq!(sale.open().identity(), identity, "and keeps its identity from then on");
}

#[tokio::test]
async fn decisions_that_vanish_while_the_engine_runs_stop_it() {
    let sale = Sale::new();
    // Readers find nothing in memory.
    let options = Options { tail_capacity: 1, ..sale.options() };
    let engine = Embedded::open(sale.path(), options).expect("opened");
    crate::sale::open_flash_sale(&engine).await;
    hold(&engine, "b1", units(1)).await.expect("held");
    let db = rusqlite::Connection::open(sale.path().join("engine.db")).expect("opened");
    db.busy_timeout(std::time::Duration::from_secs(10)).expect("set");
    db.execute_batch("DELETE FROM journal WHERE seq = 2").expect("deleted");
    let mut feed = onrush_store::Engine::subscribe(&engine, Seq(0));
    while let Ok(Some(_)) = feed.next().await {}
    engine.stopped().await;
    let why = engine.failure().expect("it has stopped by itself");
    assert!(why.contains("damaged"), "{why}");
    assert_eq!(engine.damage().as_ref(), Some(&why));
    let noted = fs::read_to_string(sale.path().join("engine.damaged")).expect("it is noted");
    assert_eq!(noted.trim_end(), why);
}

/// What a snapshot has is not read at a start, unless something was found wrong with it.
#[tokio::test]
async fn journal_that_was_found_damaged_is_looked_through_before_the_next_start_goes_on() {
    let sale = Sale::new();
    let options = Options { snapshot_every: 4, ..sale.options() };
    let engine = Embedded::open(sale.path(), options).expect("opened");
    crate::sale::open_flash_sale(&engine).await;
    for n in 0..50 {
        hold(&engine, &format!("b{n}"), units(1)).await.expect("held");
    }
    crate::sale::until("a snapshot", || has_snapshot(sale.path())).await;
    engine.close();
    let change = |sql: &str| {
        let db = rusqlite::Connection::open(sale.path().join("engine.db")).expect("opened");
        db.execute_batch(sql).expect("changed");
    };
    change("UPDATE journal SET body = 'x' || body WHERE seq = 2");
    let engine = sale.open();
    let mut feed = onrush_store::Engine::subscribe(&engine, Seq(0));
    feed.next().await.expect_err("it cannot be read");
    engine.stopped().await;
    assert!(engine.damage().is_some());
    drop(engine);
    let mark = sale.path().join("engine.damaged");
    for _ in 0..2 {
        let before = contents(sale.path());
        let damage = damage(sale.try_open());
        assert!(damage.what.contains("decision 2"), "{damage}");
        assert!(mark.exists());
        assert_eq!(contents(sale.path()), before);
    }
    change("UPDATE journal SET body = substr(body, 2) WHERE seq = 2");
    sale.open().close();
    assert!(!mark.exists());
}

#[tokio::test]
async fn journal_without_events_opens_again() {
    let sale = Sale::new();
    sale.open().close();
    let engine = sale.open();
    assert_eq!(onrush_store::Engine::committed(&engine), Seq(0));
    let events = onrush_store::Engine::events(&engine).await.expect("an answer");
    assert!(events.value.is_empty());
}

#[test]
fn engine_needs_a_runtime() {
    let sale = Sale::new();
    assert!(matches!(sale.try_open(), Err(OpenError::NoRuntime)));
    assert!(contents(sale.path()).is_empty());
}

#[test]
fn directory_without_a_journal_cannot_be_audited() {
    let sale = Sale::new();
    assert!(matches!(audit(sale.path()), Err(OpenError::Missing { .. })));
    assert!(matches!(JournalReader::open(sale.path()), Err(OpenError::Missing { .. })));
    assert!(contents(sale.path()).is_empty());
}

#[tokio::test]
async fn journal_is_readable_by_plain_sql() {
    let (sale, _) = closed_sale(3).await;
    let db = rusqlite::Connection::open(sale.path().join("engine.db")).expect("opened");
    let held: i64 = db
        .query_row(
            "SELECT sum(body ->> '$.terms.lines.pools.ga') FROM changes WHERE change = 'hold_placed'",
            [],
            |row| row.get(0),
        )
        .expect("an answer");
    assert_eq!(held, 3);
    let opened: i64 = db
        .query_row("SELECT count(*) FROM changes WHERE change = 'sale_opened'", [], |row| {
            row.get(0)
        })
        .expect("an answer");
    assert_eq!(opened, 1);
}

#[tokio::test]
async fn engine_opens_where_the_directory_does_not_exist_yet() {
    let sale = Sale::new();
    let dir = sale.path().join("a/b");
    Embedded::open(&dir, Options::default()).expect("opened").close();
    assert!(dir.join("engine.db").exists());
}
