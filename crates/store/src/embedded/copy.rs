//! A copy of the journal as it was at one moment, also beside a running engine.

use super::damage;
use super::database;
use super::error::OpenError;
use super::reader::{JournalReader, ReadError};
use super::recovery::look_before_start;
use super::snapshot::{self, SnapshotFile};
use super::witness::{Testimony, Witness};
use crate::engine::Seq;
use onrush_core::Time;
use onrush_sqlite::Lock;
use std::io;
use std::path::Path;

/// Whether an engine runs on the journal in `dir`, or may.
#[must_use]
pub fn is_served(dir: &Path) -> bool {
    Lock::probe(&database::lock_in(dir)).is_err()
}

/// Where a journal ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEnd {
    /// The journal's identity.
    pub journal: String,
    /// Its last decision; 0 if there is none.
    pub seq: Seq,
    /// When that was made.
    pub at: Option<Time>,
}

/// A journal that can be held as it is at a moment, and copied as it was then.
///
/// While it is held, the log beside it does not begin anew: it grows by what is decided meanwhile.
/// The methods block.
pub struct HeldJournal {
    reader: JournalReader,
}

impl HeldJournal {
    /// Opens the journal in `dir`; an engine may be running there. Nothing is held yet.
    ///
    /// # Errors
    /// See [`OpenError`]; also where SQLite can keep nobody from writing, because this user may not
    /// write in `dir`.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        Ok(Self { reader: JournalReader::open_beside(dir)? })
    }

    /// Holds what is committed by now. Nothing must be held already.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn hold(&self) -> Result<(), OpenError> {
        // The first look at a table within the transaction fixes what is seen.
        self.run("BEGIN; SELECT max(seq) FROM journal;")
    }

    /// Holds nothing any more.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn let_go(&self) -> Result<(), OpenError> {
        self.run("ROLLBACK;")
    }

    fn run(&self, sql: &str) -> Result<(), OpenError> {
        self.reader.connection().execute_batch(sql).map_err(OpenError::sqlite(self.reader.path()))
    }

    /// Where the journal ends.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn end(&self) -> Result<JournalEnd, ReadError> {
        let seq = self.reader.last()?;
        let journal = self.reader.identity()?.unwrap_or_default();
        Ok(JournalEnd { journal, seq, at: self.reader.made_at(seq)? })
    }

    /// A time in milliseconds as people read it, in UTC: `2026-11-24T15:50:09Z`.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn utc(&self, at_ms: i64) -> Result<String, OpenError> {
        let sql = "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', ?1 / 1000, 'unixepoch')";
        let text = self.reader.connection().query_row(sql, [at_ms], |row| row.get(0));
        text.map_err(OpenError::sqlite(self.reader.path()))
    }

    /// The newest snapshot that has nothing beyond the journal's end.
    ///
    /// # Errors
    /// Whatever the file system or SQLite says.
    pub fn snapshot(&self) -> Result<Option<SnapshotFile>, OpenError> {
        let path = self.reader.path();
        let last = self
            .reader
            .last()
            .map_err(|error| OpenError::Sqlite { path: path.to_owned(), why: error.to_string() })?;
        let dir = path.parent().unwrap_or(Path::new("."));
        let files = snapshot::list(dir).map_err(OpenError::io(dir))?;
        Ok(files.into_iter().find(|file| file.seq <= last))
    }

    /// Writes the journal as it is held into the directory `to`, which has none, and a witness that
    /// has seen all of it, and a ledger that has followed as far as `followed`, if any did. Both are
    /// durable then. `breathe` is called after each MiB; what it has against going on ends it.
    ///
    /// # Errors
    /// Whatever cannot be read or written, and what `breathe` says.
    pub fn write_to(
        &self,
        to: &Path,
        followed: Option<u64>,
        breathe: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), OpenError> {
        let end = self.end().map_err(|error| OpenError::Sqlite {
            path: self.reader.path().to_owned(),
            why: error.to_string(),
        })?;
        onrush_sqlite::copy(self.reader.connection(), &database::path_in(to), breathe)?;
        let JournalEnd { journal, seq, at } = end;
        let says = Testimony { journal, seq, at, ledger: followed };
        Witness::open(to, says).map(drop).map_err(OpenError::io(to))
    }
}

/// Looks over a journal on which no engine runs, as a start does: that all of its pages are there and
/// whole, and that the witness has seen this one. Decisions are not replayed.
///
/// # Errors
/// What is wrong, as a start would say it.
pub fn look_over(dir: &Path) -> Result<JournalEnd, OpenError> {
    let reader = look_before_start(dir, false)?;
    let path = reader.path().to_owned();
    let unread =
        |error: ReadError| OpenError::Sqlite { path: path.clone(), why: error.to_string() };
    if let Some(gap) = reader.gap().map_err(unread)? {
        return Err(damage::report(&path, gap));
    }
    damage::look_at_pages(&path, reader.connection())?;
    let seq = reader.last().map_err(unread)?;
    let at = reader.made_at(seq).map_err(unread)?;
    let journal = reader.identity().map_err(unread)?.unwrap_or_default();
    Ok(JournalEnd { journal, seq, at })
}
