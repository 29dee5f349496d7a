//! The ledger run step by step, on the thread of whoever steps: nothing happens by itself.

use super::database::LEDGER;
use super::reports::Reporter;
use super::still::Still;
use super::writer::Writer;
use super::{OpenError, SqliteLedger};
use rusqlite::Connection;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;

/// A ledger's steps. If this is dropped, what was asked and not done is lost, and those who asked
/// learn that the ledger has stopped: the process has died.
pub struct SteppedLedger {
    writer: Writer,
    connection: Option<Connection>,
    reporter: Reporter,
    reading: Option<Connection>,
}

impl SteppedLedger {
    /// Opens the ledger in the directory `dir`, as [`SqliteLedger::open`] does, without threads.
    ///
    /// # Errors
    /// As for [`SqliteLedger::open`].
    pub fn open(dir: &Path) -> Result<(Arc<SqliteLedger>, Self), OpenError> {
        let Still { ledger, writer, connection } = Still::open(dir)?;
        // Nobody moves pages beside the commits.
        connection
            .execute_batch("PRAGMA wal_autocheckpoint = 1000;")
            .map_err(OpenError::sqlite(&writer.path))?;
        let reporter = ledger.reporter(&writer.path);
        let steps = Self { writer, connection: Some(connection), reporter, reading: None };
        Ok((Arc::new(ledger), steps))
    }

    /// Waits until something is asked.
    pub fn asked(&self) -> impl Future<Output = ()> + Send + use<> {
        let (writing, reporting) = (self.writer.mailbox.clone(), self.reporter.mailbox.clone());
        async move {
            tokio::select! {
                biased;
                () = writing.asked() => {}
                () = reporting.asked() => {}
            }
        }
    }

    /// Does all that is asked, in one transaction, and answers once it is durable.
    pub fn step(&mut self) {
        self.writer.step(&mut self.connection);
        self.reporter.step(&mut self.reading);
    }

    /// Moves what is in the ledger's log into its file, as a thread of its own does elsewhere.
    pub fn move_pages(&self) {
        if let Some(connection) = &self.connection {
            LEDGER.move_pages(connection);
        }
    }
}

impl Drop for SteppedLedger {
    fn drop(&mut self) {
        // Those who wait, and those who come, learn that nobody answers any more.
        self.writer.mailbox.abandon();
        self.reporter.mailbox.abandon();
    }
}
