//! The SQLite file: its stamp, its versions, and how it is opened.

use super::error::OpenError;
use super::migrations;
use onrush_sqlite::{Checkpointer, FileKind, Header, Lock, ROUND_PAGES};
use rusqlite::{Connection, ErrorCode};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// What the ledger's file is.
pub(super) static LEDGER: FileKind = FileKind {
    name: "ledger",
    // "OnrL".
    application_id: 0x4f6e_724c,
    // What is deleted is overwritten where that costs no further pages; whoever erases names has it
    // overwritten everywhere. Its own memory for pages stays small (2 MiB), as SQLite walks all of it at
    // commits; the system keeps the file's pages anyway.
    writer_pragmas: "PRAGMA foreign_keys = ON; PRAGMA secure_delete = FAST; PRAGMA cache_size = -2048;",
    first_look: "PRAGMA user_version",
};

pub(super) fn path_in(dir: &Path) -> PathBuf {
    dir.join("ledger.db")
}

/// Says whether the file exists and is ours, by its beginning alone. An empty file is as good as none.
pub(super) fn exists(path: &Path) -> Result<bool, OpenError> {
    let Some(header) = Header::read(path).map_err(OpenError::io(path))? else { return Ok(false) };
    if header.file_bytes() == 0 {
        return Ok(false);
    }
    let cut_off = || (!header.is_whole()).then(|| "it is not an SQLite file".to_owned());
    if let Some(what) = LEDGER.foreign(&header).or_else(cut_off) {
        return Err(OpenError::Foreign { path: path.to_owned(), what });
    }
    known(path, header.user_version())?;
    Ok(true)
}

fn known(path: &Path, version: u32) -> Result<(), OpenError> {
    if version > migrations::NEWEST {
        return Err(OpenError::Newer { path: path.to_owned(), version, known: migrations::NEWEST });
    }
    Ok(())
}

/// Whether the error says that the file is not what it was when it was written.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Locks the ledger for this process. Two writers would not corrupt it, but each would take the
/// other's unfinished requests for those of a run that is over.
pub(super) fn lock(dir: &Path) -> Result<Lock, OpenError> {
    Ok(Lock::take(&dir.join("ledger.lock"))?)
}

/// Makes the file.
pub(super) fn create(path: &Path) -> Result<(), OpenError> {
    Ok(LEDGER.create(path, migrations::run)?)
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

/// Opens the file for writing.
pub(super) fn open_writer(path: &Path) -> rusqlite::Result<Connection> {
    LEDGER.open_writer(path)
}

/// Starts the thread that moves pages beside the writer.
pub(super) fn start_checkpointer(path: &Path) -> Result<(Checkpointer, JoinHandle<()>), OpenError> {
    let connection = open_writer(path).map_err(OpenError::sqlite(path))?;
    Checkpointer::start(&LEDGER, connection, ROUND_PAGES).map_err(OpenError::io(path))
}

/// Opens the file for reading beside the writer.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    LEDGER.open_reader(path)
}

/// Opens the file for a reader of its own, which may run without a writer, also where nothing can be written.
pub(super) fn open_alone(path: &Path) -> Result<Connection, OpenError> {
    if !exists(path)? {
        return Err(OpenError::Missing { path: path.to_owned() });
    }
    let connection = LEDGER.open_reader_anywhere(path).map_err(OpenError::sqlite(path))?;
    of_this_version(&connection, path)?;
    Ok(connection)
}

/// Says whether the tables are of the version that is known here.
pub(super) fn of_this_version(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let version = known_version(connection, path)?;
    if version < migrations::NEWEST {
        return Err(OpenError::Older { path: path.to_owned(), version, known: migrations::NEWEST });
    }
    Ok(())
}

/// Opens the file for reading before anything is changed in it, and says which version wrote it.
pub(super) fn open_as_it_is(path: &Path) -> Result<(Connection, u32), OpenError> {
    let connection = LEDGER.open_still(path).map_err(OpenError::sqlite(path))?;
    let version = known_version(&connection, path)?;
    Ok((connection, version))
}

/// The version of the tables, which the header does not show while it is only in the log.
fn known_version(connection: &Connection, path: &Path) -> Result<u32, OpenError> {
    let version = migrations::version(connection).map_err(OpenError::sqlite(path))?;
    known(path, version).map(|()| version)
}
