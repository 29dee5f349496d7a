//! Data directories as files: copied, compared, and made those of a version before.

use crate::chance::Chance;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Texts, each once.
pub(super) type Names = BTreeSet<String>;

/// Where files cost no time, if there is such a place; they are gone after the run.
pub(super) fn memory() -> PathBuf {
    let shared = PathBuf::from("/dev/shm");
    if shared.is_dir() { shared } else { std::env::temp_dir() }
}

fn connect(path: &Path) -> Result<Connection, String> {
    Connection::open(path).map_err(|error| error.to_string())
}

/// A copy of a directory; it is gone when this is dropped.
pub(super) fn copy(dir: &Path) -> TempDir {
    let copy = tempfile::Builder::new().prefix("onrush-sim-").tempdir_in(memory());
    let copy = copy.expect("a directory");
    copy_into(dir, copy.path());
    copy
}

/// Copies all files of a directory into another one.
pub(super) fn copy_into(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for file in fs::read_dir(from).expect("a directory can be read").flatten() {
        let (path, target) = (file.path(), to.join(file.file_name()));
        if path.is_dir() {
            copy_into(&path, &target);
        } else if !path.to_string_lossy().ends_with("-shm") {
            fs::copy(&path, &target).expect("a file can be copied");
        }
    }
}

/// Puts a database of a backup, with its log, in the place of the one that is there.
pub(super) fn put_back(dir: &Path, backup: &Path, name: &str) {
    for end in ["", "-wal"] {
        let name = format!("{name}{end}");
        remove(&dir.join(&name));
        if backup.join(&name).exists() {
            fs::copy(backup.join(&name), dir.join(&name)).expect("a file can be copied");
        }
    }
}

pub(super) fn remove(path: &Path) {
    if path.exists() {
        fs::remove_file(path).expect("a file can be removed");
    }
}

/// What the files of a directory say. Looking changes them: it is for copies.
#[derive(Default)]
pub(super) struct Facts {
    /// The rows of each table, in order.
    rows: BTreeMap<String, Vec<String>>,
    pub(super) decisions: u64,
    /// How far the witness had seen the journal, and the ledger.
    pub(super) witnessed: u64,
    pub(super) ledger_witnessed: u64,
    /// How far the ledger had followed.
    pub(super) followed: u64,
    /// The journal knows that there has been a witness; and keys.
    pub(super) is_witnessed: bool,
    pub(super) remembers_keys: bool,
    pub(super) bookings_in_journal: Names,
    pub(super) bookings_in_ledger: Names,
}

impl Facts {
    /// # Errors
    /// What SQLite says.
    pub(super) fn of(dir: &Path) -> Result<Self, String> {
        let mut facts = Self::default();
        if dir.join("engine.db").exists() {
            let journal = connect(&dir.join("engine.db"))?;
            facts.tables("engine.db", &journal).map_err(|error| format!("engine.db: {error}"))?;
            let one = |sql: &str| journal.query_row(sql, [], |row| row.get::<_, i64>(0));
            let has = |key: &str| {
                let sql = format!("SELECT count(*) FROM meta WHERE key = '{key}'");
                one(&sql).is_ok_and(|count| count > 0)
            };
            let last = one("SELECT coalesce(max(seq), 0) FROM journal").unwrap_or_default();
            facts.decisions = last.unsigned_abs();
            (facts.is_witnessed, facts.remembers_keys) = (has("witnessed"), has("keys"));
            facts.bookings_in_journal = names(
                &journal,
                "SELECT body ->> '$.terms.booking' FROM changes WHERE change = 'hold_placed'",
            )?;
        }
        if dir.join("ledger.db").exists() {
            let ledger = connect(&dir.join("ledger.db"))?;
            facts.tables("ledger.db", &ledger).map_err(|error| format!("ledger.db: {error}"))?;
            let followed = ledger.query_row("SELECT seq FROM feed_cursor", [], |row| row.get(0));
            facts.followed = followed.map_or(0, |seq: i64| seq.unsigned_abs());
            facts.bookings_in_ledger = names(&ledger, "SELECT booking_id FROM bookings")?;
        }
        let says = fs::read(dir.join("witness.json")).unwrap_or_default();
        let says: Value = serde_json::from_slice(&says).unwrap_or_default();
        facts.witnessed = says["seq"].as_u64().unwrap_or_default();
        facts.ledger_witnessed = says["ledger"].as_u64().unwrap_or_default();
        Ok(facts)
    }

    fn tables(&mut self, file: &str, connection: &Connection) -> rusqlite::Result<()> {
        let mut select = connection.prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        )?;
        let tables = select.query_map([], |row| row.get::<_, String>(0))?;
        for table in tables.collect::<Result<Vec<_>, _>>()? {
            let mut select = connection.prepare(&format!("SELECT * FROM \"{table}\""))?;
            let columns = select.column_count();
            let mut rows = select.query([])?;
            let mut texts = Vec::new();
            while let Some(row) = rows.next()? {
                let values = (0..columns).map(|column| row.get_ref(column).map(text));
                texts.push(values.collect::<Result<Vec<_>, _>>()?.join("|"));
            }
            texts.sort_unstable();
            self.rows.insert(format!("{file} {table}"), texts);
        }
        Ok(())
    }

    /// The tables that differ, each with the number of rows that only one side has.
    pub(super) fn differs_from(&self, other: &Self) -> Vec<String> {
        let tables: Names = self.rows.keys().chain(other.rows.keys()).cloned().collect();
        let none = Vec::new();
        let of = |facts: &Self, table: &str| -> Names {
            facts.rows.get(table).unwrap_or(&none).iter().cloned().collect()
        };
        tables
            .into_iter()
            .filter_map(|table| {
                let (one, two) = (of(self, &table), of(other, &table));
                let (gone, new) = (one.difference(&two).count(), two.difference(&one).count());
                (gone + new > 0).then(|| format!("{table}: {gone} gone, {new} new"))
            })
            .collect()
    }

    /// Whether others of the directory that has `whole` know of something that is not here.
    pub(super) fn is_behind_others(&self, whole: &Self) -> bool {
        whole.witnessed.max(self.followed) > self.decisions
            || whole.ledger_witnessed > self.followed
    }

    /// Whether both have as many rows of each kind, and differ in one at most.
    pub(super) fn has_rows_of(&self, other: &Self) -> bool {
        let counts = |facts: &Self| -> Vec<usize> { facts.rows.values().map(Vec::len).collect() };
        counts(self) == counts(other)
    }

    /// Whether there is a snapshot of a decision that the journal has not.
    pub(super) fn has_later_snapshot(&self, dir: &Path) -> bool {
        let files = fs::read_dir(dir).into_iter().flatten().flatten();
        files.filter_map(|file| file.file_name().into_string().ok()).any(|name| {
            let seq = name.strip_prefix("snapshot-").and_then(|name| name.strip_suffix(".jsonl"));
            seq.and_then(|seq| seq.parse::<u64>().ok()).is_some_and(|seq| seq > self.decisions)
        })
    }
}

/// A value of a row, of which no two that differ are written alike.
fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => format!("{number:?}"),
        ValueRef::Text(text) => format!("'{}'", text.escape_ascii()),
        ValueRef::Blob(bytes) => format!("x'{}'", bytes.escape_ascii()),
    }
}

fn names(connection: &Connection, sql: &str) -> Result<Names, String> {
    let read = || -> rusqlite::Result<Names> {
        let mut select = connection.prepare(sql)?;
        let rows = select.query_map([], |row| row.get::<_, Option<String>>(0))?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    };
    read().map_err(|error| error.to_string())
}

/// What takes a ledger's tables back by one version, newest first, with that version's number.
const LEDGER_BEFORE: [(u32, &str); 17] = [
    (20, "ALTER TABLE bookings DROP COLUMN confirmed_at; PRAGMA user_version = 20;"),
    // Entries of then did not say which of the gateway's payments they were about, and count for nothing
    // until they are told once more.
    // The cause of refunds that tables of then did not know keeps a ledger from being made older.
    (19, "ALTER TABLE desk_entries DROP COLUMN paid_as; PRAGMA user_version = 19;"),
    (18, "DROP INDEX sagas_by_time; PRAGMA user_version = 18;"),
    (17, "DROP INDEX requests_left_behind; PRAGMA user_version = 17;"),
    (
        16,
        "DROP INDEX buyers_by_owner; ALTER TABLE buyers DROP COLUMN owner_id; PRAGMA user_version = 16;",
    ),
    (15, "DROP INDEX messages_by_booking; DROP INDEX sagas_by_event; PRAGMA user_version = 15;"),
    (14, "DROP INDEX receipts_named; PRAGMA user_version = 14;"),
    (
        13,
        "DROP INDEX receipts_by_email; ALTER TABLE receipts DROP COLUMN buyer_email_lower; \
         PRAGMA user_version = 13;",
    ),
    (12, "DROP TABLE events_over; PRAGMA user_version = 12;"),
    (11, "DROP TABLE actions; DROP TABLE browser_sessions; PRAGMA user_version = 11;"),
    (
        10,
        "ALTER TABLE payments DROP COLUMN capture; ALTER TABLE payments RENAME COLUMN stage TO newer;
         ALTER TABLE payments ADD COLUMN stage TEXT NOT NULL DEFAULT 'open' CHECK (stage IN ('creating',
         'open', 'closing', 'closed', 'void', 'captured', 'refunding', 'returned', 'refunded'));
         UPDATE payments SET stage = newer; ALTER TABLE payments DROP COLUMN newer;
         PRAGMA user_version = 10;",
    ),
    (9, "DROP TABLE receipts; PRAGMA user_version = 9;"),
    (8, "ALTER TABLE bookings DROP COLUMN types; PRAGMA user_version = 8;"),
    (7, "ALTER TABLE bookings DROP COLUMN prices_minor; PRAGMA user_version = 7;"),
    (
        6,
        "ALTER TABLE refunds DROP COLUMN cause; ALTER TABLE refunds DROP COLUMN decided_by;
         PRAGMA user_version = 6;",
    ),
    (5, "DROP TABLE mailed; PRAGMA user_version = 5;"),
    (
        4,
        "ALTER TABLE feed_cursor DROP COLUMN journal; ALTER TABLE feed_cursor DROP COLUMN at;
         PRAGMA user_version = 4;",
    ),
];

/// The version of ledgers that servers of now write.
const LEDGER_NOW: u32 = 21;

/// Makes the files those of a version before; false if they are not those of now.
pub(super) fn age(dir: &Path, chance: &mut Chance) -> bool {
    let (journal, ledger) = (dir.join("engine.db"), dir.join("ledger.db"));
    if !journal.exists() || !ledger.exists() {
        return false;
    }
    let version = |path: &Path| -> rusqlite::Result<u32> {
        Connection::open(path)?.query_row("PRAGMA user_version", [], |row| row.get(0))
    };
    // The power may have gone before what is old was brought up to date.
    if version(&ledger).expect("a ledger has a version") != LEDGER_NOW {
        return false;
    }
    let to = *chance.pick(&[12, 11, 10, 9, 8, 7, 6, 5, 4]);
    let has = |what: &str| -> bool {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {what})");
        let found =
            Connection::open(&ledger).and_then(|it| it.query_row(&sql, [], |row| row.get(0)));
        found.expect("a ledger can be asked")
    };
    // What no ledger of before can have: refunds that its desk had made, money set aside, receipts, ticket
    // types, later prices; and operators' refunds were known by words of their own.
    let is_newer = has("refunds WHERE cause = 'at_desk'")
        || has("payments WHERE capture = 'later'")
        || to < 10 && has("receipts")
        || to < 9 && has("bookings WHERE types IS NOT NULL")
        || to < 8 && has("bookings WHERE prices_minor <> '[]'")
        || to < 7 && has("refunds WHERE decided_by IS NOT NULL");
    if is_newer {
        return false;
    }
    let change = |path: &Path, sql: &str| {
        let connection = Connection::open(path).expect("a file can be opened");
        connection.execute_batch(sql).expect("tables can be changed");
    };
    for (version, sql) in LEDGER_BEFORE {
        if version >= to {
            change(&ledger, sql);
        }
    }
    if to == 4 {
        // Journals of that time had no identity, remembered no keys and had no witness.
        change(&journal, "DELETE FROM meta WHERE key IN ('journal', 'witnessed', 'keys')");
        remove(&dir.join("witness.json"));
    }
    true
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::opening;
    use super::*;
    use onrush_core::Time;
    use onrush_store::embedded::{Clock, ManualClock, Options};
    use tokio::runtime::Builder;

    /// Opens what a server opens in a directory, and closes it.
    pub(in crate::whole) fn open(dir: &Path) {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        let clock = Clock::Manual(ManualClock::new(Time(1_796_119_200_000)));
        let options = Options { clock, ..Options::default() };
        let opened = runtime.block_on(opening::open(dir, options));
        drop(opened.expect("files that are in order"));
    }

    /// Tables of before had no word for it: what they were made of would not be what comes back.
    #[test]
    fn ledgers_of_before_have_no_refunds_that_a_desk_had_made() {
        let dir = tempfile::tempdir().expect("a directory");
        open(dir.path());
        let change = |sql: &str| {
            let ledger = connect(&dir.path().join("ledger.db")).expect("the ledger can be opened");
            ledger.execute_batch(sql).expect("the ledger can be changed");
        };
        // Nothing here is of a booking that there is.
        change(
            "PRAGMA foreign_keys = OFF; INSERT INTO refunds (booking_id, refund_id, payment_id, \
             amount_minor, currency, status, why, created_at, updated_at, cause) VALUES ('sale.1', \
             'refund:sale.1:1', 'sale.1.1', 5, 'EUR', 'done', '', 1, 1, 'at_desk')",
        );
        for seed in 1..20 {
            assert!(!age(dir.path(), &mut Chance::of(seed, "files", 0)));
        }
        change("DELETE FROM refunds");
        assert!(age(dir.path(), &mut Chance::of(1, "files", 0)));
        open(dir.path());
    }

    /// The power went before a ledger was brought up to date, and it was to be made older again.
    #[test]
    fn ledger_is_made_older_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut chance = Chance::of(1, "files", 0);
        assert!(!age(dir.path(), &mut chance));
        open(dir.path());
        assert!(age(dir.path(), &mut chance));
        assert!(!age(dir.path(), &mut chance));
        open(dir.path());
        assert!(age(dir.path(), &mut chance));
    }
}
