//! The threads that read what may take long, beside the writer.

use super::database;
use super::health::Health;
use super::mailbox::{Job, Mailbox, Served};
use super::statements::Statements;
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "testing")]
use super::faults::Faults;

/// What a reporting thread works with.
pub(super) struct Reporter {
    pub(super) path: PathBuf,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) health: Health,
    #[cfg(feature = "testing")]
    pub(super) faults: Arc<Faults>,
}

impl Reporter {
    /// Serves the mailbox until it is closed and empty.
    pub(super) fn run(self) {
        let _served = Served(&self.mailbox);
        let mut connection = None;
        let mut taken = Vec::new();
        loop {
            self.mailbox.take(1, &mut taken);
            let Some(job) = taken.pop() else { return };
            self.settle(&mut connection, job);
        }
    }

    /// Does what is asked without waiting for anything, and answers.
    pub(super) fn step(&self, connection: &mut Option<Connection>) {
        let mut taken = Vec::new();
        self.mailbox.take_now(usize::MAX, &mut taken);
        for job in taken {
            self.settle(connection, job);
        }
    }

    /// Does one job and answers it; the connection is gone afterwards if it failed.
    fn settle(&self, connection: &mut Option<Connection>, mut job: Box<dyn Job>) {
        let outcome = self.report(connection, job.as_mut());
        if let Err(error) = &outcome {
            tracing::error!(%error, "the ledger cannot be read");
            self.health.heard(error);
            *connection = None;
        }
        job.answer(outcome.err().map(|error| error.to_string()).as_deref());
    }

    /// Does one job in one view of the ledger.
    fn report(
        &self,
        connection: &mut Option<Connection>,
        job: &mut dyn Job,
    ) -> rusqlite::Result<()> {
        #[cfg(feature = "testing")]
        self.faults.before_report()?;
        let connection = match connection {
            Some(connection) => connection,
            None => connection.insert(database::open_reader(&self.path)?),
        };
        let view = connection.unchecked_transaction()?;
        // A report is rare: its statements need not be kept.
        job.run(&Statements::new(&view))
    }
}
