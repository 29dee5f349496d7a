//! A kind of file, and how it is opened.

use crate::header::Header;
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another connection to the file. The only other ones are readers, which
/// never hold a lock long.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// What the log keeps of the disk when it begins anew. It grows beyond that only while somebody
/// reads for long, an audit for instance, and gives back the rest afterwards.
const LOG_KEEPS_BYTES: u32 = 64 << 20;

/// A kind of file: its stamp, and what its connections begin with.
#[derive(Debug)]
pub struct FileKind {
    /// What people call it.
    pub name: &'static str,
    /// SQLite's `application_id`.
    pub application_id: u32,
    /// What a writer's connection is set to beside what all are, each `PRAGMA` with its semicolon.
    pub writer_pragmas: &'static str,
    /// A question that makes SQLite read the file, so that what is wrong with it shows.
    pub first_look: &'static str,
}

impl FileKind {
    /// What a file is instead of one of these, as far as its beginning is there.
    #[must_use]
    pub fn foreign(&self, header: &Header) -> Option<String> {
        if !header.is_sqlite() {
            return Some("it is not an SQLite file".into());
        }
        if header.is_whole() && header.application_id() != self.application_id {
            let id = header.application_id();
            return Some(format!("an SQLite file with application_id {id:#x}"));
        }
        None
    }

    /// Opens the file for writing. Commits do not move pages out of the log: see
    /// [`Checkpointer`](crate::Checkpointer).
    ///
    /// # Errors
    /// What SQLite says, here and below.
    pub fn open_writer(&self, path: &Path) -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        connection.busy_timeout(LOCK_PATIENCE)?;
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; \
             PRAGMA journal_size_limit = {LOG_KEEPS_BYTES}; {}",
            self.writer_pragmas
        ))?;
        self.looked_at(connection)
    }

    /// Makes durable what the log has, with a connection that [`FileKind::open_writer`] opened. A
    /// process that was killed may have written a commit there and not synced it, and whoever opens
    /// the file next reads it all the same. Nothing changes; but a commit syncs the log up to its own
    /// page, however long that is, and whoever reads meanwhile.
    pub fn sync_log(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(&format!("PRAGMA application_id = {};", self.application_id))
    }

    /// Opens the file for reading beside whoever may write it.
    pub fn open_reader(&self, path: &Path) -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        connection.busy_timeout(LOCK_PATIENCE)?;
        self.looked_at(connection)
    }

    /// The same, also where nothing can be written and nobody writes: then it is taken as it is.
    pub fn open_reader_anywhere(&self, path: &Path) -> rusqlite::Result<Connection> {
        self.open_reader(path)
            .or_else(|error| if has_log(path) { Err(error) } else { self.open_still(path) })
    }

    /// Opens the file for reading while nobody writes it; SQLite leaves no files beside it then.
    pub fn open_still(&self, path: &Path) -> rusqlite::Result<Connection> {
        if has_log(path) { self.open_reader(path) } else { self.looked_at(open_unlocked(path)?) }
    }

    fn looked_at(&self, connection: Connection) -> rusqlite::Result<Connection> {
        connection.query_row(self.first_look, [], |_| Ok(()))?;
        Ok(connection)
    }
}

/// Opens the file for reading as if nobody could ever write it, without a look at it; SQLite leaves
/// no files beside it.
///
/// # Errors
/// What SQLite says.
pub fn open_unlocked(path: &Path) -> rusqlite::Result<Connection> {
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

/// What is wrong with the file's pages, a few lines, as a check of SQLite's says: `quick_check(5)`
/// for instance. Nothing if they are whole.
///
/// # Errors
/// What SQLite says if it cannot look.
pub fn faults(connection: &Connection, check: &str) -> rusqlite::Result<Vec<String>> {
    let mut check = connection.prepare(&format!("PRAGMA {check}"))?;
    let texts = check.query_map([], |row| row.get::<_, String>(0))?;
    let texts = texts.collect::<rusqlite::Result<Vec<_>>>()?;
    let lines = texts.iter().flat_map(|text| text.lines());
    Ok(lines.filter(|line| *line != "ok").map(str::to_owned).collect())
}

/// Where the write-ahead log of a file is.
#[must_use]
pub fn log_of(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// Whether there is a write-ahead log with something in it.
#[must_use]
pub fn has_log(path: &Path) -> bool {
    fs::metadata(log_of(path)).is_ok_and(|log| log.len() > 0)
}

pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    static KIND: FileKind = FileKind {
        name: "test",
        application_id: 1,
        writer_pragmas: "",
        first_look: "PRAGMA user_version",
    };

    #[test]
    fn a_log_that_waited_for_a_reader_gives_its_space_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        KIND.create(&path, |_| Ok(())).unwrap();
        let writer = KIND.open_writer(&path).unwrap();
        writer.execute_batch("PRAGMA synchronous = OFF; CREATE TABLE filler (bytes BLOB)").unwrap();
        let length = || fs::metadata(log_of(&path)).unwrap().len();
        let limit = u64::from(LOG_KEEPS_BYTES);
        let fill = |bytes: u32| {
            writer.execute("INSERT INTO filler VALUES (zeroblob(?1))", [bytes]).unwrap();
        };
        let reader = KIND.open_reader(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM filler").unwrap();
        for _ in 0..5 {
            fill(LOG_KEEPS_BYTES / 4);
            KIND.move_pages(&writer);
        }
        assert!(length() > limit, "it waits for the reader");
        reader.execute_batch("COMMIT").unwrap();
        KIND.move_pages(&writer);
        fill(1);
        assert!(length() <= limit, "{} bytes", length());
    }
}
