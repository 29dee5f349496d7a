//! The SQLite file: its stamp, its tables, and how they are opened.

use super::damage;
use super::error::OpenError;
use onrush_core::Time;
use onrush_sqlite::{Checkpointer, FileKind, Header, has_log};
use rusqlite::{Connection, ErrorCode, OptionalExtension};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// The format of the journal, SQLite's `user_version`.
pub(super) const FORMAT: u32 = 1;
/// The same once changes of it are in archive files, which earlier versions take for damage.
pub(super) const FORMAT_WITH_FILES: u32 = 2;

/// What the journal's file is.
pub(super) static JOURNAL: FileKind = FileKind {
    name: "journal",
    // "Onrs".
    application_id: 0x4f6e_7273,
    writer_pragmas: "",
    first_look: "SELECT count(*) FROM meta",
};

pub(super) fn path_in(dir: &Path) -> PathBuf {
    dir.join("engine.db")
}

/// The file that a directory's one process has locked.
pub(super) fn lock_in(dir: &Path) -> PathBuf {
    dir.join("engine.lock")
}

/// Says whether the file exists and is ours, by its beginning alone.
pub(super) fn exists(path: &Path) -> Result<bool, OpenError> {
    let Some(header) = Header::read(path).map_err(OpenError::io(path))? else { return Ok(false) };
    let foreign = |what: String| Err(OpenError::Foreign { path: path.to_owned(), what });
    if let Some(what) = JOURNAL.foreign(&header) {
        return foreign(what);
    }
    let there = header.file_bytes();
    if !header.is_whole() {
        return Err(damage::report(path, format!("the file is cut off after {there} bytes")));
    }
    match header.user_version() {
        FORMAT | FORMAT_WITH_FILES => {}
        0 => return foreign("it has no format number".into()),
        format => {
            return Err(OpenError::Newer {
                path: path.to_owned(),
                format,
                known: FORMAT_WITH_FILES,
            });
        }
    }
    let expected = header.expected_bytes();
    // What is missing at the end may still be in the write-ahead log.
    if there < expected && !has_log(path) {
        let what = format!("the file has {there} bytes and should have {expected}");
        return Err(damage::report(path, what));
    }
    Ok(true)
}

/// Makes the file.
pub(super) fn create(path: &Path, now: Time) -> Result<(), OpenError> {
    Ok(JOURNAL.create(path, |connection| {
        connection.execute_batch(&format!("PRAGMA user_version = {FORMAT}; BEGIN;"))?;
        connection.execute_batch(include_str!("schema.sql"))?;
        set_alive(connection, now)?;
        identify(connection)?;
        connection.execute_batch("COMMIT;")
    })?)
}

/// Opens the file for the journal thread.
pub(super) fn open_writer(path: &Path) -> Result<Connection, OpenError> {
    JOURNAL.open_writer(path).map_err(|error| not_opened(path, &error))
}

/// The same for whoever goes on from what is in the file: that is durable from here on.
pub(super) fn open_writer_synced(path: &Path) -> Result<Connection, OpenError> {
    let connection = open_writer(path)?;
    JOURNAL.sync_log(&connection).map_err(|error| not_opened(path, &error))?;
    Ok(connection)
}

/// Starts the thread that moves pages beside the journal thread, which commits with `committing`.
pub(super) fn start_checkpointer(
    path: &Path,
    every_pages: u64,
    committing: &mut Connection,
) -> Result<(Checkpointer, JoinHandle<()>), OpenError> {
    let connection = open_writer(path)?;
    let started = Checkpointer::start(&JOURNAL, connection, every_pages);
    let (checkpointer, thread) = started.map_err(OpenError::io(path))?;
    checkpointer.watch(committing).map_err(OpenError::sqlite(path))?;
    Ok((checkpointer, thread))
}

/// Opens the file for reading beside whoever may write it.
pub(super) fn open_reader_beside(path: &Path) -> Result<Connection, OpenError> {
    JOURNAL.open_reader(path).map_err(|error| not_opened(path, &error))
}

/// Opens the file for reading, also beside a running engine.
pub(super) fn open_reader(path: &Path) -> Result<Connection, OpenError> {
    JOURNAL.open_reader_anywhere(path).map_err(|error| not_opened(path, &error))
}

/// Opens the file for reading while nobody else uses it.
pub(super) fn open_reader_alone(path: &Path) -> Result<Connection, OpenError> {
    JOURNAL.open_still(path).map_err(|error| not_opened(path, &error))
}

fn not_opened(path: &Path, error: &rusqlite::Error) -> OpenError {
    if is_damage(error) {
        damage::report(path, error.to_string())
    } else {
        OpenError::Sqlite { path: path.to_owned(), why: error.to_string() }
    }
}

/// Whether the error says that the file is not what it was when it was written.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "SQLite has many errors, and these few tell of damage"
)]
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, message) => match failure.code {
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => true,
            // A table is gone.
            ErrorCode::Unknown => message.as_deref().is_some_and(|m| m.contains("no such")),
            _ => false,
        },
        rusqlite::Error::SqlInputError { .. }
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::InvalidColumnName(_)
        | rusqlite::Error::QueryReturnedNoRows => true,
        _ => false,
    }
}

/// What the file remembers under a key, beside the decisions.
pub(super) fn memo(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    connection.query_row(sql, [key], |row| row.get(0)).optional()
}

pub(super) fn set_memo(connection: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
    connection.execute(sql, [key, value]).map(drop)
}

/// When the engine was last known to run.
pub(super) fn alive(connection: &Connection) -> rusqlite::Result<Option<Time>> {
    let text = memo(connection, "alive_at")?;
    Ok(text.and_then(|text| text.parse().ok()).map(Time))
}

pub(super) fn set_alive(connection: &Connection, now: Time) -> rusqlite::Result<()> {
    set_memo(connection, "alive_at", &now.0.to_string())
}

/// The journal's identity: drawn once, so that no other journal is taken for this one. Earlier
/// versions drew none.
pub(super) fn identify(connection: &Connection) -> rusqlite::Result<String> {
    connection.execute_batch(
        "INSERT OR IGNORE INTO meta (key, value) VALUES ('journal', lower(hex(randomblob(16))))",
    )?;
    Ok(memo(connection, "journal")?.unwrap_or_default())
}
