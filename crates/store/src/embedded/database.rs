//! The SQLite file: its stamp, its tables, and how they are opened.

use super::damage;
use super::error::OpenError;
use super::log;
use onrush_core::Time;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// "Onrs", SQLite's `application_id`.
pub(super) const APPLICATION_ID: u32 = 0x4f6e_7273;
/// The format of the journal, SQLite's `user_version`.
pub(super) const FORMAT: u32 = 1;
/// The same once changes of it are in archive files, which earlier versions take for damage.
pub(super) const FORMAT_WITH_FILES: u32 = 2;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// How long to wait for another connection to this file. The only other ones are readers, which
/// never hold a lock long.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn path_in(dir: &Path) -> PathBuf {
    dir.join("engine.db")
}

/// Says whether the file exists and is ours, by its first hundred bytes alone.
///
/// SQLite is not asked, because it may create files beside the one it looks at.
pub(super) fn exists(path: &Path) -> Result<bool, OpenError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(OpenError::Io { path: path.to_owned(), source }),
    };
    let mut header = Vec::with_capacity(100);
    file.by_ref().take(100).read_to_end(&mut header).map_err(OpenError::io(path))?;
    let foreign = |what: String| Err(OpenError::Foreign { path: path.to_owned(), what });
    if !header.is_empty() && !MAGIC.starts_with(&header[..header.len().min(MAGIC.len())]) {
        return foreign("it is not an SQLite file".into());
    }
    if header.len() < 100 {
        let what = format!("the file is cut off after {} bytes", header.len());
        return Err(damage::report(path, what));
    }
    let number =
        |offset: usize| u32::from_be_bytes([0, 1, 2, 3].map(|byte: usize| header[offset + byte]));
    if number(68) != APPLICATION_ID {
        return foreign(format!("an SQLite file with application_id {:#x}", number(68)));
    }
    match number(60) {
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
    let page_bytes = match u64::from(number(16) >> 16) {
        1 => 65_536,
        bytes => bytes,
    };
    let expected = page_bytes * u64::from(number(28));
    let there = file.metadata().map_err(OpenError::io(path))?.len();
    // What is missing at the end may still be in the write-ahead log.
    if there < expected && !has_log(path) {
        let what = format!("the file has {there} bytes and should have {expected}");
        return Err(damage::report(path, what));
    }
    Ok(true)
}

/// Whether there is a write-ahead log with something in it.
pub(super) fn has_log(path: &Path) -> bool {
    fs::metadata(log::path_of(path)).is_ok_and(|log| log.len() > 0)
}

/// Creates the file under another name and moves it into place, so that there is never half of one.
pub(super) fn create(path: &Path, now: Time) -> Result<(), OpenError> {
    let draft = path.with_extension("db.new");
    match fs::remove_file(&draft) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(source) => return Err(OpenError::Io { path: draft, source }),
    }
    // SQLite fills an empty file and leaves its mode as it is.
    let mut empty = OpenOptions::new();
    empty.write(true).create_new(true).mode(0o600).open(&draft).map_err(OpenError::io(&draft))?;
    let build = || -> rusqlite::Result<()> {
        let connection = Connection::open(&draft)?;
        connection.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}; BEGIN;"
        ))?;
        connection.execute_batch(include_str!("schema.sql"))?;
        set_alive(&connection, now)?;
        identify(&connection)?;
        connection.execute_batch("COMMIT; PRAGMA journal_mode = WAL;")?;
        connection.close().map_err(|(_, error)| error)
    };
    build().map_err(OpenError::sqlite(&draft))?;
    let sync = |path: &Path| File::open(path)?.sync_all();
    sync(&draft).map_err(OpenError::io(&draft))?;
    fs::rename(&draft, path).map_err(OpenError::io(path))?;
    let dir = path.parent().unwrap_or(Path::new("."));
    sync(dir).map_err(OpenError::io(dir))
}

/// Makes the data directory if there is none, for its owner alone.
pub(super) fn make_dir(dir: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// The file and its log are for their owner alone from now on, if everybody could read them; an
/// owner who let a group in knows why. SQLite gives new logs the file's own mode.
pub(super) fn close_files(path: &Path) -> std::io::Result<()> {
    let mut shm = path.as_os_str().to_owned();
    shm.push("-shm");
    for file in [path.to_owned(), log::path_of(path), shm.into()] {
        match fs::metadata(&file) {
            Ok(found) if found.permissions().mode() & 0o007 != 0 => {
                fs::set_permissions(&file, Permissions::from_mode(0o600))?;
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What the log keeps of the disk when it begins anew. It grows beyond that only while somebody
/// reads for long, an audit for instance, and gives back the rest afterwards.
const LOG_KEEPS_BYTES: u32 = 64 << 20;

/// Opens the file for the journal thread.
pub(super) fn open_writer(path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(LOCK_PATIENCE)?;
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; \
             PRAGMA journal_size_limit = {LOG_KEEPS_BYTES};"
        ))?;
        first_look(&connection)?;
        Ok(connection)
    };
    open().map_err(|error| not_opened(path, &error))
}

/// Opens the file for reading beside whoever may write it.
pub(super) fn open_reader_beside(path: &Path) -> Result<Connection, OpenError> {
    open_locked(path).map_err(|error| not_opened(path, &error))
}

/// Opens the file for reading, also beside a running engine.
pub(super) fn open_reader(path: &Path) -> Result<Connection, OpenError> {
    open_locked(path)
        // Where nothing can be written and nobody writes, the file can be taken as it is.
        .or_else(|error| if has_log(path) { Err(error) } else { open_unlocked(path) })
        .map_err(|error| not_opened(path, &error))
}

fn open_locked(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(LOCK_PATIENCE)?;
    first_look(&connection)?;
    Ok(connection)
}

/// Opens the file for reading while nobody else uses it.
pub(super) fn open_reader_alone(path: &Path) -> Result<Connection, OpenError> {
    if has_log(path) {
        open_reader(path)
    } else {
        open_unlocked(path).map_err(|error| not_opened(path, &error))
    }
}

/// Opens the file for reading as if nobody could ever write it; SQLite then leaves no files beside it.
fn open_unlocked(path: &Path) -> rusqlite::Result<Connection> {
    let connection = open_raw(path)?;
    first_look(&connection)?;
    Ok(connection)
}

/// The same, without a look at the file.
pub(super) fn open_raw(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02x}"));
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(&uri, flags)
}

/// Makes SQLite read the file, so that what is wrong with it shows.
fn first_look(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("SELECT count(*) FROM meta", [], |_| Ok(()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::checkpointer::pass;

    #[test]
    fn a_log_that_waited_for_a_reader_gives_its_space_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        create(&path, Time(0)).unwrap();
        let writer = open_writer(&path).unwrap();
        writer.execute_batch("PRAGMA synchronous = OFF; CREATE TABLE filler (bytes BLOB)").unwrap();
        let length = || fs::metadata(dir.path().join("a.db-wal")).unwrap().len();
        let limit = u64::from(LOG_KEEPS_BYTES);
        let fill = |bytes: u32| {
            writer.execute("INSERT INTO filler VALUES (zeroblob(?1))", [bytes]).unwrap();
        };
        let reader = open_reader(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM filler").unwrap();
        for _ in 0..5 {
            fill(LOG_KEEPS_BYTES / 4);
            pass(&writer);
        }
        assert!(length() > limit, "it waits for the reader");
        reader.execute_batch("COMMIT").unwrap();
        pass(&writer);
        fill(1);
        assert!(length() <= limit, "{} bytes", length());
    }
}
