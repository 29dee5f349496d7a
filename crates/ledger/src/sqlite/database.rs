//! The SQLite file: its stamp, and how it is created and opened.

use super::error::OpenError;
use super::migrations;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// "OnrL", SQLite's `application_id`.
const APPLICATION_ID: u32 = 0x4f6e_724c;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// How long to wait for another connection to this file. The others are readers, which never hold a
/// lock long.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// Pages that the writer keeps in memory, in KiB: those of the bookings that people make now.
const CACHE_KIB: u32 = 64 << 10;

pub(super) fn path_in(dir: &Path) -> PathBuf {
    dir.join("ledger.db")
}

/// Says whether the file exists and is ours, by its first hundred bytes alone: SQLite might create
/// files beside it. An empty file is as good as none.
pub(super) fn exists(path: &Path) -> Result<bool, OpenError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(OpenError::Io { path: path.to_owned(), source }),
    };
    let mut header = Vec::with_capacity(100);
    file.by_ref().take(100).read_to_end(&mut header).map_err(OpenError::io(path))?;
    if header.is_empty() {
        return Ok(false);
    }
    let foreign = |what: String| Err(OpenError::Foreign { path: path.to_owned(), what });
    if header.len() < 100 || !header.starts_with(MAGIC) {
        return foreign("it is not an SQLite file".into());
    }
    let number =
        |offset: usize| u32::from_be_bytes([0, 1, 2, 3].map(|byte: usize| header[offset + byte]));
    if number(68) != APPLICATION_ID {
        return foreign(format!("an SQLite file with application_id {:#x}", number(68)));
    }
    known(path, number(60))?;
    Ok(true)
}

fn known(path: &Path, version: u32) -> Result<(), OpenError> {
    if version > migrations::NEWEST {
        return Err(OpenError::Newer { path: path.to_owned(), version, known: migrations::NEWEST });
    }
    Ok(())
}

/// Makes the data directory if there is none, for its owner alone.
pub(super) fn make_dir(dir: &Path) -> Result<(), OpenError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(dir).map_err(OpenError::io(dir))
}

/// Takes a file from everybody but its owner, if everybody may read it; an owner who let a group in
/// knows why.
fn close_to_all(path: &Path) -> Result<(), OpenError> {
    let file = fs::metadata(path).map_err(OpenError::io(path))?;
    if file.permissions().mode() & 0o007 != 0 {
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(OpenError::io(path))?;
    }
    Ok(())
}

/// The file and its log are for their owner alone from now on. SQLite gives new logs the file's own mode.
pub(super) fn close_files(path: &Path) -> Result<(), OpenError> {
    let beside = ["-wal", "-shm"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    });
    for file in std::iter::once(path).chain(beside.iter().map(PathBuf::as_path)) {
        if file.exists() {
            close_to_all(file)?;
        }
    }
    Ok(())
}

/// Whether the error says that the file is not what it was when it was written.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// The ledger is this process's as long as this is kept.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file alone would leave the lock to a process that was forked a moment ago and
        // has not begun its own program yet. If this fails, closing is what is left.
        drop(self.0.unlock());
    }
}

/// Locks the ledger for this process. Two writers would not corrupt it, but each would take the
/// other's unfinished requests for those of a run that is over.
pub(super) fn lock(dir: &Path) -> Result<Lock, OpenError> {
    let path = dir.join("ledger.lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(OpenError::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path }),
        Err(TryLockError::Error(source)) => Err(OpenError::Io { path, source }),
    }
}

/// Creates the file under another name and moves it into place, so that there is never half of one.
pub(super) fn create(path: &Path) -> Result<(), OpenError> {
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
        connection.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID};"))?;
        migrations::run(&connection)?;
        connection.execute_batch("PRAGMA journal_mode = WAL;")?;
        connection.close().map_err(|(_, error)| error)
    };
    build().map_err(OpenError::sqlite(&draft))?;
    let sync = |path: &Path| File::open(path)?.sync_all();
    sync(&draft).map_err(OpenError::io(&draft))?;
    fs::rename(&draft, path).map_err(OpenError::io(path))?;
    let dir = path.parent().unwrap_or(Path::new("."));
    sync(dir).map_err(OpenError::io(dir))
}

/// Brings the tables up to date.
pub(super) fn migrate(path: &Path) -> Result<(), OpenError> {
    let connection = open_writer(path).map_err(OpenError::sqlite(path))?;
    let version = known_version(&connection, path)?;
    if version < migrations::NEWEST {
        tracing::info!(version, newest = migrations::NEWEST, "bringing the ledger up to date");
        migrations::run(&connection).map_err(OpenError::sqlite(path))?;
    }
    Ok(())
}

/// What the log keeps of the disk when it begins anew, as the journal's does.
const LOG_KEEPS_BYTES: u32 = 64 << 20;

/// Opens the file for writing.
pub(super) fn open_writer(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(LOCK_PATIENCE)?;
    // Erased names are overwritten where that costs no further pages.
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; \
         PRAGMA journal_size_limit = {LOG_KEEPS_BYTES}; PRAGMA foreign_keys = ON; \
         PRAGMA secure_delete = FAST; PRAGMA cache_size = -{CACHE_KIB};"
    ))?;
    Ok(connection)
}

/// Opens the file for reading beside the writer.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(LOCK_PATIENCE)?;
    migrations::version(&connection)?;
    Ok(connection)
}

/// Opens the file for a reader of its own, which may run without a writer, also where nothing can be written.
pub(super) fn open_alone(path: &Path) -> Result<Connection, OpenError> {
    if !exists(path)? {
        return Err(OpenError::Missing { path: path.to_owned() });
    }
    let connection = open_reader(path)
        .or_else(|error| if has_log(path) { Err(error) } else { open_unlocked(path) })
        .map_err(OpenError::sqlite(path))?;
    let version = known_version(&connection, path)?;
    if version < migrations::NEWEST {
        return Err(OpenError::Older { path: path.to_owned(), version, known: migrations::NEWEST });
    }
    Ok(connection)
}

/// Opens the file for reading before anything is changed in it, and says which version wrote it.
pub(super) fn open_as_it_is(path: &Path) -> Result<(Connection, u32), OpenError> {
    let connection = open_still(path).map_err(OpenError::sqlite(path))?;
    let version = known_version(&connection, path)?;
    Ok((connection, version))
}

/// The version of the tables, which the header does not show while it is only in the log.
fn known_version(connection: &Connection, path: &Path) -> Result<u32, OpenError> {
    let version = migrations::version(connection).map_err(OpenError::sqlite(path))?;
    known(path, version).map(|()| version)
}

/// Opens the file for reading while nobody writes it.
pub(super) fn open_still(path: &Path) -> rusqlite::Result<Connection> {
    if has_log(path) { open_reader(path) } else { open_unlocked(path) }
}

fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// Opens the file for reading as if nobody could ever write it; SQLite then leaves no files beside it.
fn open_unlocked(path: &Path) -> rusqlite::Result<Connection> {
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
    let connection = Connection::open_with_flags(&uri, flags)?;
    migrations::version(&connection)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::checkpointer::pass;

    #[test]
    fn a_log_that_waited_for_a_reader_gives_its_space_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        create(&path).unwrap();
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
