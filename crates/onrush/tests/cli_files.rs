//! Accidents of operators: files that do not belong together or are not whole, and a process that
//! stands still. The program refuses to start on such files and says what to do.

mod cli_support;

use cli_support::{ADMIN_KEY, Served, exchange, onrush, run_json};
use onrush_store::embedded::{Options, Stepped};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long files may take to show what the server did.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bookings of a small sale.
const BOOKINGS: usize = 12;

/// A server with a sale whose bookings are confirmed without a payment.
struct Shop {
    dir: TempDir,
    served: Option<Served>,
    visitor: String,
    bookings: Vec<String>,
}

impl Shop {
    fn open() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let served = Served::start(dir.path());
        served.create_flash_sale("flash", 1_000);
        let visitor = served.visitor();
        Self { dir, served: Some(served), visitor, bookings: Vec::new() }
    }

    /// A shop that has sold something.
    fn sold() -> Self {
        let mut shop = Self::open();
        shop.sell(BOOKINGS);
        shop
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn sell(&mut self, count: usize) {
        let served = self.served.as_ref().expect("it runs");
        for _ in 0..count {
            let mut connection = TcpStream::connect(served.address).expect("it listens");
            let key = format!("key-{}", self.bookings.len());
            let path = "/api/v1/events/flash/bookings";
            let body = r#"{"pools":{"ga":1}}"#;
            let answer = exchange(&mut connection, "POST", path, &self.visitor, &key, body);
            let (status, booking) = answer.expect("it answers");
            assert_eq!(status, 201, "{booking}");
            let id = booking["booking"].as_str().expect("an id").to_owned();
            let confirm = format!("/api/v1/bookings/{id}/confirm");
            served.ask("POST", &confirm, &self.visitor, "");
            self.bookings.push(id);
        }
        self.wait_for_ledger();
    }

    /// Waits until the ledger has followed the journal to its end, and the journal knows that it has.
    fn wait_for_ledger(&self) {
        let last = number(&self.path().join("engine.db"), "SELECT max(seq) FROM journal");
        let begin = Instant::now();
        let followed = || {
            let cursor = "SELECT seq FROM feed_cursor";
            let witness = fs::read(self.path().join("witness.json")).unwrap_or_default();
            let says: Value = serde_json::from_slice(&witness).unwrap_or_default();
            number(&self.path().join("ledger.db"), cursor) == last
                && says["ledger"] == last
                && says["seq"] == last
        };
        while !followed() {
            assert!(begin.elapsed() < PATIENCE, "the two files do not know each other");
            std::thread::yield_now();
        }
    }

    /// Ends the server as a power cut would.
    fn kill(&mut self) {
        self.served.take().expect("it runs").kill();
    }

    fn stop(&mut self) {
        assert_eq!(self.served.take().expect("it runs").stop(), Some(0));
    }

    /// A copy of all files as they are now.
    fn copy(&self) -> TempDir {
        let copy = tempfile::tempdir().expect("a directory");
        copy_all(self.path(), copy.path());
        copy
    }
}

fn copy_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("a file");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&target).expect("a directory");
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

fn number(file: &Path, sql: &str) -> i64 {
    let read = || -> rusqlite::Result<i64> {
        let db = Connection::open(file)?;
        db.busy_timeout(PATIENCE)?;
        db.query_row(sql, [], |row| {
            let value: rusqlite::types::Value = row.get(0)?;
            Ok(match value {
                rusqlite::types::Value::Integer(number) => number,
                rusqlite::types::Value::Text(text) => text.parse().expect("a number"),
                other => panic!("{sql}: {other:?}"),
            })
        })
    };
    read().expect("a number")
}

fn change(file: &Path, sql: &str) {
    Connection::open(file).and_then(|db| db.execute_batch(sql)).expect("changed");
}

/// Starts the program on a directory and has it stop at once: how it ended, and what it said.
fn start(data: &Path, flags: &[&str]) -> (Option<i32>, String) {
    let output = onrush()
        .args(["serve", "--json", "--log", "warn", "--listen", "127.0.0.1:0"])
        .args(["--operator-listen", "off", "--stop-with-input", "--data"])
        .arg(data)
        .args(flags)
        .env("ONRUSH_ADMIN_KEY", ADMIN_KEY)
        .stdin(Stdio::null())
        .output()
        .expect("the program can be started");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The program refuses to start on this directory, in a sentence with these words.
#[track_caller]
fn refused(data: &Path, words: &[&str]) {
    let (code, said) = start(data, &[]);
    assert_eq!(code, Some(4), "it starts, or ends otherwise: {said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not said: {said}");
    }
}

fn remove(data: &Path, names: &[&str]) {
    for name in names {
        fs::remove_file(data.join(name)).expect("it is there");
    }
}

fn damage(path: &Path, at: usize, bytes: usize) {
    let mut file = fs::read(path).expect("a file");
    for byte in &mut file[at..at + bytes] {
        *byte ^= 0xa5;
    }
    fs::write(path, file).expect("written");
}

/// A name, and what is done to a data directory.
type Damage<'a> = (&'a str, &'a dyn Fn(&Path));

#[test]
fn a_journal_that_lost_its_tail_does_not_start() {
    let mut shop = Shop::sold();
    shop.kill();
    let cases: [Damage<'_>; 5] = [
        ("the log is gone", &|data| remove(data, &["engine.db-wal", "engine.db-shm"])),
        ("the log is empty", &|data| {
            fs::write(data.join("engine.db-wal"), "").expect("written");
        }),
        ("the log is cut", &|data| {
            let path = data.join("engine.db-wal");
            let bytes = fs::read(&path).expect("a log");
            fs::write(path, &bytes[..bytes.len() / 2]).expect("written");
        }),
        ("the log is damaged", &|data| {
            let path = data.join("engine.db-wal");
            let middle = fs::metadata(&path).expect("a log").len() as usize / 2;
            damage(&path, middle, 64);
        }),
        ("rows are deleted", &|data| {
            change(&data.join("engine.db"), "DELETE FROM journal WHERE seq > 10");
        }),
    ];
    for (name, spoil) in cases {
        let copy = shop.copy();
        spoil(copy.path());
        println!("{name}");
        refused(copy.path(), &["--accept-restored"]);
    }
    // As it was, it starts.
    assert_eq!(start(shop.path(), &[]).0, Some(0));
}

#[test]
fn a_journal_older_than_the_ledger_does_not_start_and_the_audit_names_what_is_missing() {
    let mut shop = Shop::sold();
    let older = shop.copy();
    shop.sell(3);
    shop.kill();
    let data = shop.path();
    for name in ["engine.db", "engine.db-wal", "engine.db-shm"] {
        fs::copy(older.path().join(name), data.join(name)).expect("a copy");
    }
    refused(data, &["the journal ends at decision", "--accept-restored"]);
    let path = data.display().to_string();
    let (code, report) = run_json(&["audit", "--json", "--data", &path]);
    assert_eq!(code, Some(1), "{report}");
    let found = report["found"].to_string();
    assert!(found.contains("the journal ends at decision"), "{found}");
    for booking in &shop.bookings[BOOKINGS..] {
        assert!(found.contains(booking.as_str()), "{booking}: {found}");
    }

    // Accepted, it goes on from what there is; the audit still names what was lost.
    let (code, said) = start(data, &["--accept-restored"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("older"), "it says what it does: {said}");
    assert!(
        said.contains("paused"),
        "units that were sold are free, and nobody takes them: {said}"
    );
    assert_eq!(start(data, &[]).0, Some(0), "once is enough");
    let (code, report) = run_json(&["audit", "--json", "--data", &path]);
    assert_eq!(code, Some(1), "{report}");
    let found = report["found"].to_string();
    for booking in &shop.bookings[BOOKINGS..] {
        assert!(found.contains(booking.as_str()), "{booking}: {found}");
    }
}

#[test]
fn a_start_that_accepts_and_ends_early_leaves_the_pausing_to_the_next_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let served = Served::start(dir.path());
    // Without its seed it does not open while the other one is sold.
    let create = r#"{"event":"drawn","title":"Test","currency":"EUR","room":{"order":"draw"}}"#;
    served.ask("POST", "/api/v1/admin/events", ADMIN_KEY, create);
    let (seed, aside) = (dir.path().join("keys/seed-drawn"), dir.path().join("seed-aside"));
    fs::rename(&seed, &aside).expect("it was drawn");
    served.ask("POST", "/api/v1/admin/events/drawn/prequeue", ADMIN_KEY, "{}");
    let opens_at = served.ask("GET", "/api/v1/events/drawn", "", "")["at"].clone();
    let change = json!({ "opens_at": opens_at }).to_string();
    served.ask("PATCH", "/api/v1/admin/events/drawn", ADMIN_KEY, &change);
    served.create_flash_sale("flash", 1_000);
    let visitor = served.visitor();
    let mut shop = Shop { dir, served: Some(served), visitor, bookings: Vec::new() };
    shop.sell(1);
    let older = shop.copy();
    shop.sell(1);
    shop.kill();
    for name in ["engine.db", "engine.db-wal", "engine.db-shm"] {
        fs::copy(older.path().join(name), shop.path().join(name)).expect("a copy");
    }
    refused(shop.path(), &["--accept-restored"]);
    let note = shop.path().join("accepted.json");
    assert!(!note.exists(), "a start that is refused writes nothing");
    // The sandbox is opened after journal and ledger, and somebody else has its port.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let settings = older.path().join("taken.toml");
    let lines = format!("gateway = \"sandbox\"\n[sandbox]\nlisten = \"{address}\"\n");
    fs::write(&settings, lines).expect("written");
    let config = settings.to_str().expect("a plain path");
    let (code, said) = start(shop.path(), &["--config", config, "--accept-restored"]);
    assert!(code == Some(3) && said.contains(&address), "{code:?} {said}");
    assert!(note.exists());

    // The files fit by now; what was sold of the open event is free all the same.
    fs::rename(&aside, &seed).expect("put back");
    let phase = |served: &Served, event: &str| {
        served.ask("GET", &format!("/api/v1/events/{event}"), "", "")["phase"].clone()
    };
    let served = Served::start(shop.path());
    for event in ["drawn", "flash"] {
        assert_eq!(phase(&served, event), "paused", "{event}");
    }
    assert!(!note.exists(), "it is a directory like any other");
    served.ask("POST", "/api/v1/admin/events/flash/resume", ADMIN_KEY, "{}");
    assert_eq!(served.stop(), Some(0));
    let served = Served::start(shop.path());
    assert_eq!(phase(&served, "flash"), "open", "once is enough");
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn a_journal_that_grew_again_beyond_the_ledger_is_not_taken_for_the_old_one() {
    let mut shop = Shop::sold();
    let older = shop.copy();
    shop.sell(2);
    shop.kill();
    // The older copy is sold from, by a ledger of its own, until it is longer than the one that was lost.
    let other = Served::start(older.path());
    let mut again = Shop {
        dir: older,
        served: Some(other),
        visitor: shop.visitor.clone(),
        bookings: vec![String::new(); 100],
    };
    again.sell(6);
    again.stop();
    for name in ["engine.db", "engine.db-wal", "engine.db-shm"] {
        let (from, to) = (again.path().join(name), shop.path().join(name));
        if from.exists() {
            fs::copy(from, to).expect("a copy");
        } else {
            drop(fs::remove_file(to));
        }
    }
    refused(shop.path(), &["another past", "--accept-restored"]);
}

#[test]
fn a_journal_of_another_sale_does_not_start() {
    let (mut shop, mut other) = (Shop::sold(), Shop::sold());
    shop.stop();
    other.stop();
    fs::copy(other.path().join("engine.db"), shop.path().join("engine.db")).expect("a copy");
    refused(shop.path(), &["--accept-restored"]);
    fs::remove_dir_all(shop.path().join("keys")).expect("removed");
    fs::create_dir(shop.path().join("keys")).expect("made");
    copy_all(&other.path().join("keys"), &shop.path().join("keys"));
    refused(shop.path(), &["witness.json is of another journal", "--accept-restored"]);
    fs::copy(other.path().join("witness.json"), shop.path().join("witness.json")).expect("a copy");
    refused(shop.path(), &["not of this journal", "--accept-restored"]);
}

#[test]
fn a_missing_or_older_ledger_does_not_start() {
    let mut shop = Shop::sold();
    let older = shop.copy();
    shop.sell(3);
    shop.kill();
    let ledger = ["ledger.db", "ledger.db-wal", "ledger.db-shm"];

    let copy = shop.copy();
    remove(copy.path(), &ledger);
    refused(copy.path(), &["ledger.db", "missing", "--accept-restored"]);
    assert!(!copy.path().join("ledger.db").exists(), "none is made in its place");
    let (code, said) = start(copy.path(), &["--accept-restored"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(start(copy.path(), &[]).0, Some(0), "once is enough");

    let copy = shop.copy();
    remove(copy.path(), &["ledger.db-wal", "ledger.db-shm"]);
    refused(copy.path(), &["ledger", "--accept-restored"]);

    let copy = shop.copy();
    for name in ledger {
        fs::copy(older.path().join(name), copy.path().join(name)).expect("a copy");
    }
    refused(copy.path(), &["the ledger", "older", "--accept-restored"]);
}

/// Seed 872112751742 of the simulator: the tables were brought up to date, and then the start was refused.
#[test]
fn a_start_that_is_refused_leaves_the_tables_of_a_version_before() {
    let mut shop = Shop::sold();
    let older = shop.copy();
    shop.sell(3);
    shop.stop();
    // A server that ends in order leaves no log.
    for name in ["engine.db", "engine.db-wal", "witness.json"] {
        fs::copy(older.path().join(name), shop.path().join(name)).expect("a copy");
    }
    let ledger = shop.path().join("ledger.db");
    let sold_at = "SELECT sum(confirmed_at) FROM bookings WHERE confirmed_at >= created_at";
    let told = number(&ledger, sold_at);
    let before = Connection::open(&ledger).expect("a ledger");
    before
        .execute_batch(
            "DROP INDEX receipts_named; DROP TABLE events_over; DROP INDEX receipts_by_email; \
             ALTER TABLE receipts DROP COLUMN buyer_email_lower; DROP INDEX messages_by_booking; \
             DROP INDEX sagas_by_event; DROP INDEX buyers_by_owner; DROP INDEX requests_left_behind; \
             DROP INDEX sagas_by_time; ALTER TABLE buyers DROP COLUMN owner_id; \
             ALTER TABLE desk_entries DROP COLUMN paid_as; \
             ALTER TABLE bookings DROP COLUMN confirmed_at; PRAGMA user_version = 12",
        )
        .expect("as a version before had it");
    drop(before);
    refused(shop.path(), &["the journal is an older copy", "--accept-restored"]);
    assert_eq!(number(&ledger, "PRAGMA user_version"), 12);
    let (code, said) = start(shop.path(), &["--accept-restored"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(number(&ledger, "PRAGMA user_version") > 12);
    assert_eq!(number(&ledger, sold_at), told, "nothing has happened to them since");
}

#[test]
fn databases_copied_without_their_logs_do_not_start() {
    let mut shop = Shop::sold();
    let copy = shop.copy();
    shop.kill();
    for name in ["engine.db-wal", "engine.db-shm", "ledger.db-wal", "ledger.db-shm"] {
        fs::remove_file(copy.path().join(name)).expect("it is there");
    }
    refused(copy.path(), &["engine.db-wal", "--accept-restored"]);
    remove(copy.path(), &["witness.json"]);
    refused(copy.path(), &["--accept-restored"]);
}

#[test]
fn a_damaged_page_of_the_ledger_does_not_start() {
    let mut shop = Shop::sold();
    shop.stop();
    let path = shop.path().join("ledger.db");
    // What the log still had would be read from there, and not from the damaged page.
    let ledger = Connection::open(&path).expect("a ledger");
    let is_busy = ledger.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    assert_eq!(is_busy, Ok(0));
    drop(ledger);
    let pages = fs::metadata(&path).expect("a file").len() as usize / 4_096;
    let mut served = Vec::new();
    // The first page has the stamp, without which it is no ledger at all.
    for page in 1..pages {
        let copy = shop.copy();
        damage(&copy.path().join("ledger.db"), page * 4_096, 4_096);
        let (code, said) = start(copy.path(), &[]);
        if code != Some(4) || !said.contains("damaged") {
            served.push((page, code, said));
        }
    }
    assert!(served.is_empty(), "{} of {pages}: {served:?}", served.len());
}

#[test]
fn a_damaged_row_that_a_start_does_not_read_ends_the_server_and_is_found_by_the_next_start() {
    let mut shop = Shop::sold();
    shop.stop();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let options = Options { runtime: Some(runtime.handle().clone()), ..Options::default() };
    let (engine, steps) = Stepped::open(shop.path(), options).expect("it opens");
    steps.snapshot().expect("it is written");
    steps.close();
    drop(engine);
    let journal = shop.path().join("engine.db");
    change(&journal, "UPDATE journal SET body = 'x' || body WHERE seq = 2");
    let served = Served::start(shop.path());
    let mut connection = TcpStream::connect(served.address).expect("it listens");
    // It may end before it answers.
    drop(exchange(&mut connection, "GET", "/api/v1/admin/feed?after=0", ADMIN_KEY, "", ""));
    assert_eq!(served.ended(), Some(4));
    refused(shop.path(), &["the journal is damaged", "decision 2"]);
    change(&journal, "UPDATE journal SET body = substr(body, 2) WHERE seq = 2");
    assert_eq!(start(shop.path(), &[]).0, Some(0));
    assert!(!shop.path().join("engine.damaged").exists());
}

#[test]
fn missing_keys_beside_a_full_journal_do_not_start() {
    let mut shop = Shop::sold();
    shop.stop();
    let copy = shop.copy();
    fs::remove_dir_all(copy.path().join("keys")).expect("removed");
    refused(copy.path(), &["keys", "missing", "--accept-restored"]);
    assert!(!copy.path().join("keys").exists(), "none are drawn in their place");
    for key in ["token.key", "ids.key"] {
        let copy = shop.copy();
        remove(copy.path(), &[&format!("keys/{key}")]);
        refused(copy.path(), &[key, "--accept-restored"]);
    }
    // Keys of another directory are no better than none.
    let mut other = Shop::open();
    other.stop();
    let keys = shop.path().join("keys");
    fs::remove_dir_all(&keys).expect("removed");
    fs::create_dir(&keys).expect("made");
    copy_all(&other.path().join("keys"), &keys);
    refused(shop.path(), &["key", "--accept-restored"]);
    assert_eq!(start(shop.path(), &["--accept-restored"]).0, Some(0));
    assert_eq!(start(shop.path(), &[]).0, Some(0), "once is enough");
}

#[test]
fn a_directory_of_an_earlier_version_is_taken_over_once_and_then_watched() {
    let mut shop = Shop::sold();
    shop.stop();
    change(&shop.path().join("engine.db"), "DELETE FROM meta WHERE key <> 'alive_at'");
    change(&shop.path().join("ledger.db"), "UPDATE feed_cursor SET journal = NULL, at = NULL");
    remove(shop.path(), &["witness.json"]);
    let (code, said) = start(shop.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    for word in ["journal", "ledger", "witness", "keys"] {
        assert!(!said.contains(word), "not a word of it: {said}");
    }
    change(&shop.path().join("engine.db"), "DELETE FROM journal WHERE seq > 10");
    refused(shop.path(), &["--accept-restored"]);
}

#[test]
fn what_is_in_the_directory_is_for_its_owner_alone() {
    let parent = tempfile::tempdir().expect("a directory");
    let data = parent.path().join("data");
    let served = Served::start(&data);
    served.create_flash_sale("flash", 10);
    let mode =
        |path: PathBuf| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(data.clone()), 0o700);
    for name in ["engine.db", "engine.db-wal", "ledger.db", "ledger.db-wal"] {
        assert_eq!(mode(data.join(name)), 0o600, "{name}");
    }
    assert_eq!(served.stop(), Some(0));

    // A directory of an earlier version is closed as well.
    fs::set_permissions(data.join("ledger.db"), fs::Permissions::from_mode(0o644)).expect("set");
    fs::set_permissions(data.join("engine.db"), fs::Permissions::from_mode(0o644)).expect("set");
    assert_eq!(start(&data, &[]).0, Some(0));
    for name in ["engine.db", "ledger.db"] {
        assert_eq!(mode(data.join(name)), 0o600, "{name}");
    }
}

#[test]
fn a_clean_audit_has_nothing_to_say_about_files_that_belong_together() {
    let mut shop = Shop::sold();
    shop.kill();
    let path = shop.path().display().to_string();
    let (code, report) = run_json(&["audit", "--json", "--data", &path]);
    assert_eq!((code, &report["found"]), (Some(0), &json!([])), "{report}");
    assert_eq!(report["sold"], Value::from(BOOKINGS));
}

#[test]
fn whoever_looks_into_the_journal_of_a_running_server_takes_nothing_from_it() {
    let mut shop = Shop::sold();
    // In order: the next one begins with a snapshot, and has nothing of the sale in memory.
    assert_eq!(shop.served.take().expect("it runs").stop(), Some(0));
    shop.served = Some(Served::start(shop.path()));
    let (journal, log) = (shop.path().join("engine.db"), shop.path().join("engine.db-wal"));
    let inode = || fs::metadata(&log).map(|file| file.ino()).ok();
    let before = inode();
    assert!(before.is_some(), "the server writes to a log");
    // What is no longer in memory the server reads in its own journal.
    let served = shop.served.as_ref().expect("it runs");
    let feed = served.ask("GET", "/api/v1/admin/feed", ADMIN_KEY, "");
    assert!(feed.to_string().contains("hold_confirmed"), "{feed}");
    // Recent versions of SQLite notice a lock that is gone; older tools, such as Python's, do not.
    let file = fs::metadata(&journal).expect("it is there").ino();
    let locks = fs::read_to_string("/proc/locks").expect("Linux tells them");
    assert!(locks.contains(&format!(":{file} ")), "its lock on the journal is gone:\n{locks}");
    // As any tool of SQLite does: whoever is the last to close a file moves its log into it.
    let rows = number(&journal, "SELECT count(*) FROM journal");
    assert_eq!(inode(), before, "the log was taken from under the server");
    shop.sell(1);
    let last = number(&journal, "SELECT max(seq) FROM journal");
    assert!(last > rows);
    shop.kill();
    assert_eq!(number(&journal, "SELECT max(seq) FROM journal"), last, "what was sold is gone");
}

#[test]
fn a_process_that_stood_still_takes_no_hold_from_anybody() {
    let dir = tempfile::tempdir().expect("a directory");
    let served = Served::start(dir.path());
    let create =
        r#"{"event":"short","title":"Test","currency":"EUR","room":null,"hold_ttl_ms":3000}"#;
    served.ask("POST", "/api/v1/admin/events", ADMIN_KEY, create);
    let pool = r#"{"pool":"ga","capacity":10,"price_minor":0}"#;
    served.ask("POST", "/api/v1/admin/events/short/pools", ADMIN_KEY, pool);
    served.ask("POST", "/api/v1/admin/events/short/open", ADMIN_KEY, "{}");
    let visitor = served.visitor();
    let mut connection = TcpStream::connect(served.address).expect("it listens");
    let path = "/api/v1/events/short/bookings";
    let held = exchange(&mut connection, "POST", path, &visitor, "k", r#"{"pools":{"ga":1}}"#);
    let (status, held) = held.expect("it answers");
    assert_eq!(status, 201, "{held}");
    served.signal(rustix::process::Signal::STOP);
    let stopped = Instant::now();
    // Longer than the hold lives: nothing but time can bring this about.
    while stopped.elapsed() < Duration::from_secs(4) {
        std::thread::park_timeout(Duration::from_millis(100));
    }
    served.signal(rustix::process::Signal::CONT);
    let path = format!("/api/v1/bookings/{}", held["booking"].as_str().expect("an id"));
    let booking = served.ask("GET", &path, &visitor, "");
    assert_eq!(booking["status"], "held", "{booking}");
    // A busy machine may have let it stand still more than once.
    let sql = "SELECT count(*) FROM changes WHERE change = 'resumed'";
    assert!(number(&dir.path().join("engine.db"), sql) >= 1);
    assert_eq!(served.stop(), Some(0));
}
