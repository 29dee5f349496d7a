//! A copy of what a connection sees, also beside whoever writes.
//!
//! SQLite keeps what a reader sees as long as it reads: the copy is of that moment, however long it
//! takes, and nobody who commits waits for it. What is committed meanwhile stays in the log.

use crate::create::make_empty;
use crate::error::FileError;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ffi};
use std::io;
use std::path::Path;

/// Pages copied, and brought to the disk, at a time: 1 MiB. A commit of the sale waits behind no more.
const PAGES_AT_ONCE: i32 = 256;

/// Copies what a connection sees into a new file, durably. `breathe` is called after each MiB; what
/// it has against going on ends the copy.
///
/// # Errors
/// See [`FileError`].
pub fn copy(
    from: &Connection,
    to: &Path,
    breathe: &mut dyn FnMut() -> io::Result<()>,
) -> Result<(), FileError> {
    let file = make_empty(to).map_err(FileError::io(to))?;
    let mut copy = Connection::open(to).map_err(FileError::sqlite(to))?;
    // A copy that is broken off is thrown away: it needs no journal of its own.
    copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        .map_err(FileError::sqlite(to))?;
    let backup = Backup::new(from, &mut copy).map_err(FileError::sqlite(to))?;
    loop {
        let step = backup.step(PAGES_AT_ONCE).map_err(FileError::sqlite(to))?;
        // Little by little: whoever syncs a log on the same disk waits for what was written before.
        file.sync_data().map_err(FileError::io(to))?;
        if step == StepResult::Done {
            break;
        }
        if step != StepResult::More {
            let why = "SQLite lets nobody copy it now; try again".to_owned();
            let busy = ffi::Error::new(ffi::SQLITE_BUSY);
            return Err(FileError::sqlite(to)(rusqlite::Error::SqliteFailure(busy, Some(why))));
        }
        breathe().map_err(FileError::io(to))?;
    }
    drop(backup);
    copy.close().map_err(|(_, error)| FileError::sqlite(to)(error))?;
    file.sync_all().map_err(FileError::io(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_ends_where_its_caller_has_something_against_going_on() {
        let dir = tempfile::tempdir().expect("a directory");
        let from = Connection::open(dir.path().join("from.db")).expect("opened");
        let fill = "CREATE TABLE t (x BLOB); INSERT INTO t VALUES (zeroblob(5 << 20));";
        from.execute_batch(fill).expect("written");
        let mut breaths = 0;
        let stopped = copy(&from, &dir.path().join("stopped.db"), &mut || {
            breaths += 1;
            if breaths == 2 { Err(io::Error::other("the disk is low")) } else { Ok(()) }
        });
        let why = match stopped {
            Err(FileError::Io { source, .. }) => source.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!((breaths, &*why), (2, "the disk is low"));
        copy(&from, &dir.path().join("whole.db"), &mut || Ok(())).expect("copied");
    }
}
