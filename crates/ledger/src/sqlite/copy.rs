//! A copy of the ledger as it was at one moment, also beside a running server.

use super::database;
use super::error::OpenError;
use super::money;
use super::projection;
use super::statements::Statements;
use crate::LedgerError;
use crate::money::Totals;
use crate::projection::FeedPosition;
use rusqlite::Connection;
use std::io;
use std::path::{Path, PathBuf};

/// A ledger that can be held as it is at a moment, and copied as it was then.
///
/// While it is held, the log beside it does not begin anew: it grows by what is written meanwhile.
/// The methods block.
pub struct HeldLedger {
    path: PathBuf,
    held: Connection,
    /// Holds nothing, and so sees whether anybody committed.
    watch: Connection,
}

impl HeldLedger {
    /// Opens the ledger in `dir`; a server may be running there. Nothing is held yet.
    ///
    /// # Errors
    /// See [`OpenError`]; also where SQLite can keep nobody from writing, because this user may not
    /// write in `dir`.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let path = database::path_in(dir);
        if !database::exists(&path)? {
            return Err(OpenError::Missing { path });
        }
        let open = || database::open_reader(&path).map_err(OpenError::sqlite(&path));
        let (held, watch) = (open()?, open()?);
        database::of_this_version(&held, &path)?;
        Ok(Self { path, held, watch })
    }

    /// A number that is another one once anybody has committed since it was last asked for.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn commits(&self) -> Result<i64, OpenError> {
        self.watch
            .query_row("PRAGMA data_version", [], |row| row.get(0))
            .map_err(OpenError::sqlite(&self.path))
    }

    /// Holds what is committed by now. Nothing must be held already.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn hold(&self) -> Result<(), OpenError> {
        // The first look at a table within the transaction fixes what is seen.
        self.run("BEGIN; SELECT seq FROM feed_cursor;")
    }

    /// Holds nothing any more.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn let_go(&self) -> Result<(), OpenError> {
        self.run("ROLLBACK;")
    }

    fn run(&self, sql: &str) -> Result<(), OpenError> {
        self.held.execute_batch(sql).map_err(OpenError::sqlite(&self.path))
    }

    /// How far which journal was followed.
    ///
    /// # Errors
    /// [`LedgerError::Unavailable`] if the file cannot be read.
    pub fn position(&self) -> Result<FeedPosition, LedgerError> {
        projection::position(&Statements::new(&self.held))
            .map_err(|error| LedgerError::Unavailable(error.to_string()))
    }

    /// Writes the ledger as it is held into the directory `to`, which has none, durably. `breathe`
    /// is called after each MiB; what it has against going on ends it.
    ///
    /// # Errors
    /// Whatever cannot be read or written, and what `breathe` says.
    pub fn write_to(
        &self,
        to: &Path,
        breathe: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), OpenError> {
        Ok(onrush_sqlite::copy(&self.held, &database::path_in(to), breathe)?)
    }
}

/// Looks over a ledger on which no server runs, as a start does: that it is of this version and that
/// its pages and indexes are whole. Leaves no files beside it.
///
/// # Errors
/// What is wrong, as a start would say it.
pub fn look_over(dir: &Path) -> Result<(FeedPosition, Totals), OpenError> {
    let path = database::path_in(dir);
    if !database::exists(&path)? {
        return Err(OpenError::Missing { path });
    }
    let connection = database::LEDGER.open_still(&path).map_err(OpenError::sqlite(&path))?;
    let db = Statements::new(&connection);
    let look = || -> rusqlite::Result<_> {
        let found = onrush_sqlite::faults(&connection, "integrity_check(5)")?;
        Ok((found, projection::position(&db)?, money::totals(&db)?))
    };
    let (found, position, totals) = look().map_err(OpenError::sqlite(&path))?;
    if found.is_empty() { Ok((position, totals)) } else { Err(OpenError::Damaged { path, found }) }
}
