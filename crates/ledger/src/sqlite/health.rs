//! Whether the file is whole: a look at every page when it is opened, and a word to everyone who
//! has to stop if it is not.

use super::database;
use super::error::OpenError;
use onrush_sqlite::Mark;
use rusqlite::{Connection, InterruptHandle};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::watch;

/// How long a start waits for the look, unless damage was found before. A ledger of some gigabytes
/// takes longer; what is found then stops the process.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is asked of SQLite: five faults are enough.
const CHECK: &str = "quick_check(5)";

/// What is wrong with the file, once anything is; everyone who has it may say so and hears of it.
#[derive(Clone, Debug)]
pub(super) struct Health {
    told: Arc<watch::Sender<Option<String>>>,
    mark: Arc<Mark>,
}

impl Health {
    /// That of the ledger in this file.
    pub(super) fn of(path: &Path) -> Self {
        Self { told: Arc::new(watch::Sender::new(None)), mark: Arc::new(Mark::beside(path)) }
    }

    /// Says that the file is not what was written. Only the first word counts: it brings the others about.
    pub(super) fn is_lost(&self, why: &str) {
        let why = format!("the ledger is damaged: {why}");
        let noted = self.mark.set(&why);
        self.end(why);
        if let Err(error) = noted {
            tracing::warn!(%error, "it could not be noted that the ledger is damaged");
        }
    }

    fn end(&self, why: String) {
        self.told.send_if_modified(|known| {
            let first = known.is_none();
            if first {
                *known = Some(why);
            }
            first
        });
    }

    /// The same if SQLite says so.
    pub(super) fn heard(&self, error: &rusqlite::Error) {
        if database::is_damage(error) {
            self.is_lost(&error.to_string());
        }
    }

    pub(super) fn watch(&self) -> watch::Receiver<Option<String>> {
        self.told.subscribe()
    }
}

/// Says so if the thread it belongs to panics: without a writer nothing can be paid, and nobody
/// would notice.
pub(super) struct Alive<'a>(pub(super) &'a Health);

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end("the ledger's writer has panicked".into());
        }
    }
}

/// The thread that looks at every page; it ends early when this is dropped.
pub(super) struct Check {
    thread: Option<JoinHandle<()>>,
    interrupt: InterruptHandle,
}

impl Drop for Check {
    fn drop(&mut self) {
        self.interrupt.interrupt();
        // A check that panicked has found nothing out.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Looks at every page, and waits for the outcome for a while: `None` if everything is whole by
/// then. Else the look begins anew beside the server, and what it finds stops the process. Where
/// damage was found before, it is waited for to the end.
///
/// # Errors
/// [`OpenError::Damaged`] if something is wrong, and is found in time.
pub(super) fn check(path: &Path, health: &Health) -> Result<Option<Check>, OpenError> {
    check_within(path, health, PATIENCE)
}

fn check_within(
    path: &Path,
    health: &Health,
    patience: Duration,
) -> Result<Option<Check>, OpenError> {
    // As long as nobody writes, SQLite need not make files beside it.
    let connection = database::LEDGER.open_still(path).map_err(OpenError::sqlite(path))?;
    let (done, wait) = mpsc::sync_channel(1);
    let look = Check::start(path, connection, move |found| drop(done.send(found)))?;
    let damaged = |found| OpenError::Damaged { path: path.to_owned(), found };
    let waited = if health.mark.is_set() {
        tracing::info!(
            "the ledger was found damaged before: it is looked through before anything else"
        );
        wait.recv().map_err(RecvTimeoutError::from)
    } else {
        wait.recv_timeout(patience)
    };
    match waited {
        Ok(Ok(found)) if found.is_empty() => {
            health.mark.take_away().map_err(OpenError::io(path))?;
            return Ok(None);
        }
        Ok(Ok(found)) => return Err(damaged(found)),
        Ok(Err(error)) => return Err(OpenError::sqlite(path)(error)),
        Err(RecvTimeoutError::Disconnected) => {
            return Err(damaged(vec!["the check panicked".into()]));
        }
        Err(RecvTimeoutError::Timeout) => drop(look),
    }
    tracing::info!("the ledger is large: it is looked through while the server runs");
    let connection = database::open_reader(path).map_err(OpenError::sqlite(path))?;
    let health = health.clone();
    let look = Check::start(path, connection, move |found| match found {
        Ok(found) if found.is_empty() => tracing::info!("the ledger is whole"),
        Ok(found) => health.is_lost(&found.join("; ")),
        // A file that cannot be read just now is not a damaged one.
        Err(error) if !database::is_damage(&error) => {
            tracing::warn!(%error, "the ledger could not be looked through");
        }
        Err(error) => health.heard(&error),
    })?;
    Ok(Some(look))
}

impl Check {
    fn start(
        path: &Path,
        connection: Connection,
        tell: impl FnOnce(rusqlite::Result<Vec<String>>) + Send + 'static,
    ) -> Result<Self, OpenError> {
        let interrupt = connection.get_interrupt_handle();
        let thread = thread::Builder::new()
            .name("onrush-ledger-check".into())
            .spawn(move || {
                if let Some(found) = faults(&connection) {
                    tell(found);
                }
            })
            .map_err(OpenError::io(path))?;
        Ok(Self { thread: Some(thread), interrupt })
    }
}

/// What is wrong with the file, or why that cannot be found out; `None` if the look was ended.
fn faults(connection: &Connection) -> Option<rusqlite::Result<Vec<String>>> {
    match onrush_sqlite::faults(connection, CHECK) {
        Ok(found) => Some(Ok(found)),
        Err(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) =>
        {
            None
        }
        Err(error) => Some(Err(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn ledger_that_was_found_damaged_is_looked_through_before_the_next_start_goes_on() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = database::path_in(dir.path());
        database::create(&path).expect("made");
        let health = Health::of(&path);
        health.is_lost("a page is not what it was");
        let whole = fs::read(&path).expect("a file");
        let mut spoilt = whole.clone();
        spoilt[4_096..8_192].fill(0xa5);
        fs::write(&path, spoilt).expect("written");
        for _ in 0..2 {
            let found = check_within(&path, &health, Duration::ZERO).err();
            assert!(matches!(found, Some(OpenError::Damaged { .. })), "{found:?}");
            assert!(health.mark.is_set());
        }
        fs::write(&path, whole).expect("written");
        let look = check_within(&path, &health, Duration::ZERO).expect("it is whole again");
        assert!(look.is_none(), "it was waited for");
        assert!(!health.mark.is_set());
    }
}
