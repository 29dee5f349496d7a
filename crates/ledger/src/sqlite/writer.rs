//! The writer thread: it does what has gathered in one transaction, and answers once that is durable.

use super::database;
use super::health::{Alive, Health};
use super::mailbox::{Job, Mailbox, Served};
use super::statements::Statements;
use onrush_sqlite::Checkpointer;
use rusqlite::{Connection, ErrorCode, ffi};
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

/// Why a transaction came to nothing.
enum Failure {
    /// One of its jobs could not be done.
    OfJob(rusqlite::Error),
    /// It did not begin, or could not be committed.
    OfDatabase(rusqlite::Error),
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
            let end = match opened.and_then(|connection| self.watched(connection)) {
                Ok(connection) => self.serve(&Statements::new(&connection)),
                Err(error) => self.excuse(&error),
            };
            match end {
                End::Closed => return,
                End::Lost => {}
            }
        }
    }

    /// Has the pages counted that are written with a connection, if somebody moves them.
    fn watched(&self, mut connection: Connection) -> rusqlite::Result<Connection> {
        if let Some(checkpointer) = &self.checkpointer {
            checkpointer.watch(&mut connection)?;
        }
        Ok(connection)
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
        let mut lost = false;
        let done = self.transact(db, batch);
        if let Err(failure) = &done {
            self.health.heard(failure.error());
        }
        #[cfg(feature = "testing")]
        let done = done.and_then(|()| self.faults.after().map_err(Failure::OfDatabase));
        match done {
            Ok(()) => answer(batch, None),
            // What one asker wants is impossible: it shall not spoil the others' chances.
            Err(failure) if batch.len() > 1 && failure.concerns_one() => {
                for job in batch.drain(..) {
                    let mut alone = vec![job];
                    let outcome = self.transact(db, &mut alone);
                    let error = outcome.as_ref().err().map(Failure::error);
                    if let Some(error) = error {
                        self.health.heard(error);
                        lost |= is_lost(db, error);
                    }
                    answer(&mut alone, error);
                }
            }
            Err(failure) => {
                lost = is_lost(db, failure.error());
                answer(batch, Some(failure.error()));
            }
        }
        if let Some(checkpointer) = self.checkpointer.as_ref().filter(|_| !lost) {
            checkpointer.committed(db.connection());
        }
        lost
    }

    /// Does all of the jobs in one transaction, or none of them.
    fn transact(&self, db: &Statements<'_>, batch: &mut [Box<dyn Job>]) -> Result<(), Failure> {
        let attempt = || {
            #[cfg(feature = "testing")]
            self.faults.before(db.connection()).map_err(Failure::OfDatabase)?;
            db.execute("BEGIN IMMEDIATE", []).map_err(Failure::OfDatabase)?;
            for job in batch {
                job.run(db).map_err(Failure::OfJob)?;
            }
            db.execute("COMMIT", []).map(drop).map_err(Failure::OfDatabase)
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

impl Failure {
    fn error(&self) -> &rusqlite::Error {
        match self {
            Self::OfJob(error) | Self::OfDatabase(error) => error,
        }
    }

    /// Whether the fault may lie with one job and not with the database: a row against the rules of
    /// the tables, one that cannot be read, or a statement that changes so much that SQLite wants a
    /// temporary file for it and gets none.
    fn concerns_one(&self) -> bool {
        let Some(error) = self.error().sqlite_error() else { return true };
        let of_rows = [ErrorCode::ConstraintViolation, ErrorCode::TooBig, ErrorCode::TypeMismatch];
        // The database is open already: what cannot be opened within a job is the job's own.
        let of_file = error.code == ErrorCode::CannotOpen && matches!(self, Self::OfJob(_));
        of_rows.contains(&error.code)
            || of_file
            || error.extended_code == ffi::SQLITE_IOERR_GETTEMPPATH
    }
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

#[cfg(test)]
mod tests {
    use super::super::mailbox::{Fault, Lane, job};
    use super::super::still::Still;
    use super::*;
    use crate::LedgerError;
    use onrush_testkit::interleavings::exhaust;

    /// One thread: that its locks are shuttle's changes nothing.
    #[test]
    fn job_without_a_temporary_file_does_not_spoil_the_others_of_its_batch() {
        exhaust(|| {
            for code in [ffi::SQLITE_CANTOPEN, ffi::SQLITE_IOERR_GETTEMPPATH] {
                let dir = tempfile::tempdir().expect("a directory");
                let Still { ledger: _ledger, mut writer, connection } =
                    Still::open(dir.path()).expect("it opens");
                connection.execute_batch("CREATE TABLE noted (n INTEGER)").expect("a table");
                let note = |n| job(move |db| Ok(db.execute("INSERT INTO noted VALUES (?1)", [n])?));
                let (first, first_answer) = note(1);
                let (large, large_answer) = job(move |db| -> Result<(), Fault> {
                    db.execute("INSERT INTO noted VALUES (2)", [])?;
                    Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into())
                });
                let (last, last_answer) = note(3);
                for job in [first, large, last] {
                    assert!(writer.mailbox.put(job, Lane::Bounded).is_ok(), "it is let in");
                }
                writer.step(&mut Some(connection));
                assert_eq!(first_answer.blocking_recv(), Ok(Ok(1)), "{code}");
                assert!(matches!(
                    large_answer.blocking_recv(),
                    Ok(Err(LedgerError::Unavailable(_)))
                ));
                assert_eq!(last_answer.blocking_recv(), Ok(Ok(1)), "{code}");
                let file = database::open_reader(&writer.path).expect("a ledger");
                let mut noted = file.prepare("SELECT n FROM noted").expect("a statement");
                let noted = noted.query_map([], |row| row.get::<_, u32>(0)).expect("rows");
                assert_eq!(noted.collect::<rusqlite::Result<Vec<_>>>(), Ok(vec![1, 3]), "{code}");
            }
        });
    }
}
