//! The writer thread: it does what has gathered in one transaction, and answers once that is durable.

use super::database;
use super::health::{Alive, Health};
use super::mailbox::{Job, Mailbox, Served};
use super::statements::Statements;
use onrush_sqlite::Checkpointer;
use rusqlite::{Connection, ErrorCode};
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "testing")]
use super::faults::Faults;

/// Jobs in one transaction at most, so that the first of many answers does not wait for the last.
const MAX_BATCH: usize = 1_024;

/// What the writer thread works with.
pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) health: Health,
    /// Moves pages beside the commits; without one, SQLite does within them.
    pub(super) checkpointer: Option<Checkpointer>,
    #[cfg(feature = "testing")]
    pub(super) faults: Arc<Faults>,
}

/// Why one connection is not used any more.
enum End {
    /// There is nothing more to do.
    Closed,
    /// It is in a state that it may not get out of.
    Lost,
}

impl Writer {
    /// Serves the mailbox until it is closed and empty. A database that fails is tried again with
    /// every batch.
    pub(super) fn run(mut self, connection: Connection) {
        let mailbox = self.mailbox.clone();
        let health = self.health.clone();
        let _alive = Alive(&health);
        let _served = Served(&mailbox);
        let mut connection = Some(connection);
        loop {
            let opened = connection.take().map_or_else(|| database::open_writer(&self.path), Ok);
            let end = match opened {
                Ok(connection) => self.serve(&Statements::new(&connection)),
                Err(error) => self.excuse(&error),
            };
            match end {
                End::Closed => return,
                End::Lost => {}
            }
        }
    }

    fn serve(&mut self, db: &Statements<'_>) -> End {
        let mut batch = Vec::new();
        loop {
            self.mailbox.take(MAX_BATCH, &mut batch);
            if batch.is_empty() {
                return End::Closed;
            }
            if self.settle(db, &mut batch) {
                return End::Lost;
            }
        }
    }

    /// Does what is asked without waiting for anything, and answers. A connection is opened if there
    /// is none, and gone afterwards if it is not to be used any more.
    pub(super) fn step(&mut self, connection: &mut Option<Connection>) {
        let mut batch = Vec::new();
        self.mailbox.take_now(MAX_BATCH, &mut batch);
        if batch.is_empty() {
            return;
        }
        let opened = connection.take().map_or_else(|| database::open_writer(&self.path), Ok);
        match opened {
            Ok(opened) => {
                let lost = self.settle(&Statements::new(&opened), &mut batch);
                *connection = (!lost).then_some(opened);
            }
            Err(error) => {
                self.health.heard(&error);
                answer(&mut batch, Some(&error));
            }
        }
    }

    /// Does all of a batch and answers it. True if the connection should be opened anew.
    fn settle(&mut self, db: &Statements<'_>, batch: &mut Vec<Box<dyn Job>>) -> bool {
        let before = db.connection().total_changes();
        let mut lost = false;
        let done = self.transact(db, batch);
        if let Err(error) = &done {
            self.health.heard(error);
        }
        match done {
            Ok(()) => answer(batch, None),
            // What one asker wants is impossible: it shall not spoil the others' chances.
            Err(error) if batch.len() > 1 && concerns_one(&error) => {
                for job in batch.drain(..) {
                    let mut alone = vec![job];
                    let outcome = self.transact(db, &mut alone);
                    if let Err(error) = &outcome {
                        self.health.heard(error);
                    }
                    lost |= outcome.as_ref().is_err_and(|error| is_lost(db, error));
                    answer(&mut alone, outcome.err().as_ref());
                }
            }
            Err(error) => {
                lost = is_lost(db, &error);
                answer(batch, Some(&error));
            }
        }
        let rows = db.connection().total_changes().saturating_sub(before);
        if let Some(checkpointer) = self.checkpointer.as_mut().filter(|_| !lost) {
            checkpointer.committed(rows, db.connection());
        }
        lost
    }

    /// Does all of the jobs in one transaction, or none of them.
    fn transact(&self, db: &Statements<'_>, batch: &mut [Box<dyn Job>]) -> rusqlite::Result<()> {
        let attempt = || {
            #[cfg(feature = "testing")]
            self.faults.before(db.connection())?;
            db.execute("BEGIN IMMEDIATE", [])?;
            for job in batch {
                job.run(db)?;
            }
            db.execute("COMMIT", []).map(drop)
        };
        attempt().inspect_err(|_| {
            if !db.connection().is_autocommit()
                && let Err(error) = db.execute("ROLLBACK", [])
            {
                tracing::warn!(%error, "the ledger cannot take a transaction back");
            }
        })
    }

    /// Answers one batch without a database.
    fn excuse(&self, error: &rusqlite::Error) -> End {
        self.health.heard(error);
        let mut batch = Vec::new();
        self.mailbox.take(MAX_BATCH, &mut batch);
        let end = if batch.is_empty() { End::Closed } else { End::Lost };
        answer(&mut batch, Some(error));
        end
    }
}

fn answer(batch: &mut Vec<Box<dyn Job>>, error: Option<&rusqlite::Error>) {
    let why = error.map(ToString::to_string);
    if let Some(why) = &why {
        tracing::error!(why, askers = batch.len(), "the ledger does not do what it was asked to");
    }
    for job in batch.drain(..) {
        job.answer(why.as_deref());
    }
}

/// Whether the fault lies with one job and not with the database: a row against the rules of the
/// tables, or one that cannot be read.
fn concerns_one(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code().is_none_or(|code| {
        matches!(code, ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch)
    })
}

/// Whether the connection should be opened anew after this.
fn is_lost(db: &Statements<'_>, error: &rusqlite::Error) -> bool {
    !db.connection().is_autocommit()
        || error.sqlite_error_code().is_some_and(|code| {
            matches!(
                code,
                ErrorCode::SystemIoFailure
                    | ErrorCode::CannotOpen
                    | ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::ReadOnly
            )
        })
}
