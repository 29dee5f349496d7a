//! The engine run step by step, on the thread of whoever steps: nothing happens by itself.
//!
//! The rules, the journal, the files, recovery and the way of answers are those of the engine that
//! runs by itself; only the threads are missing. So everything between two steps can be seen, and
//! every moment can be the last one.

use super::database::JOURNAL;
use super::disk::Watch;
use super::executor::Executor;
use super::journal::{Journal, Written};
use super::snapshotter;
use super::still::Still;
use super::{Embedded, OpenError, Options};
use onrush_core::Time;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// An engine's steps. If this is dropped, what was decided and not committed is lost, and those who
/// asked learn only that the engine has stopped: the process has died. [`Stepped::close`] ends it well.
pub struct Stepped {
    dir: PathBuf,
    executor: Executor,
    journal: Journal,
    written: Written,
}

impl Stepped {
    /// Opens the engine on the directory `dir`, as [`Embedded::open`] does, without threads. The disk
    /// is not watched, and no snapshot is made by itself.
    ///
    /// # Errors
    /// As for [`Embedded::open`].
    pub fn open(dir: &Path, options: Options) -> Result<(Arc<Embedded>, Self), OpenError> {
        let low_disk_bytes = options.low_disk_bytes;
        let Still { engine, executor, journal } =
            Still::open(dir, options, |_| Ok(Watch::blind(low_disk_bytes)), true)?;
        // Nobody moves pages beside the commits.
        journal.move_pages_within_commits().map_err(OpenError::sqlite(dir))?;
        let written = Written::new(journal.last_at);
        Ok((Arc::new(engine), Self { dir: dir.to_owned(), executor, journal, written }))
    }

    /// Waits until something is asked, or the clock was moved.
    pub fn asked(&self) -> impl Future<Output = ()> + Send + use<> {
        let mailbox = self.executor.shared.mailbox.clone();
        async move { mailbox.asked().await }
    }

    /// Decides all that is asked, and what is due. Nothing of it is durable, and nobody has an
    /// answer. False if the engine has stopped.
    pub fn decide(&mut self) -> bool {
        let (asks, _) = self.executor.shared.mailbox.take(Some(Duration::ZERO));
        self.executor.decide(asks)
    }

    /// Makes durable what was decided, and has everybody answered. False if the engine has stopped.
    pub fn commit(&mut self) -> bool {
        self.journal.step(&mut self.written)
    }

    /// Moves what is in the journal's log into its file, as a thread of its own does elsewhere.
    pub fn move_pages(&self) {
        JOURNAL.move_pages(&self.journal.connection);
    }

    /// Why the engine has stopped by itself, if it has.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.executor.shared.failure.get().cloned()
    }

    /// When something is due by itself.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.executor.shared.state().events.next_deadline().map(|(deadline, _)| deadline)
    }

    /// Makes a snapshot of what is committed.
    ///
    /// # Errors
    /// What stands in the way of it, as a sentence.
    pub fn snapshot(&self) -> Result<(), String> {
        let shared = &self.executor.shared;
        let committed = shared.committed();
        if snapshotter::make(&self.dir, committed, shared)? {
            shared.snapshot.store(committed.0, Ordering::Release);
        }
        Ok(())
    }

    /// Says how much space the disk has.
    pub fn set_free_bytes(&self, free: u64) {
        self.executor.shared.space.set_free_bytes(free);
    }

    /// Lets nothing more in, commits and answers everything that was asked, and ends well.
    pub fn close(mut self) {
        self.executor.shared.mailbox.close();
        if self.decide() && self.commit() {
            self.journal.close(&self.written);
        }
    }
}

impl Drop for Stepped {
    fn drop(&mut self) {
        // Those who wait, and those who come, learn that nobody answers any more.
        self.executor.shared.mailbox.abandon();
        self.executor.shared.outbox.abandon();
    }
}
