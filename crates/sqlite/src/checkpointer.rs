//! The thread that moves committed pages from SQLite's write-ahead log into its file, beside the commits.
//!
//! SQLite would do so by itself within a commit, and the answers of that batch would wait for it.
//! Here a thread of its own does the bulk. What came in meanwhile is little, and the thread that
//! commits moves it between two commits, so that the log begins anew and never grows without end.

use crate::kind::FileKind;
use rusqlite::Connection;
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The rest is little enough once a pass takes no longer than this.
const SHORT: Duration = Duration::from_millis(5);
/// Passes in one round at most.
const MAX_PASSES: usize = 4;

/// Tells the thread when there is something to move; the thread ends when this is dropped.
#[derive(Debug)]
pub struct Checkpointer {
    kind: &'static FileKind,
    requests: SyncSender<()>,
    done: Arc<AtomicBool>,
    /// What is written between two rounds, in the unit of those who commit.
    every: u64,
    written: Cell<u64>,
}

impl Checkpointer {
    /// Starts the thread with a writer's connection of its own, which is not the one that commits.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(
        kind: &'static FileKind,
        connection: Connection,
        every: u64,
    ) -> io::Result<(Self, JoinHandle<()>)> {
        let (requests, inbox) = mpsc::sync_channel(0);
        let done = Arc::new(AtomicBool::new(false));
        let finished = done.clone();
        let name = format!("{}-pages", kind.name);
        let thread = thread::Builder::new().name(name).spawn(move || {
            for () in inbox {
                for _ in 0..MAX_PASSES {
                    let begin = Instant::now();
                    kind.move_pages(&connection);
                    if begin.elapsed() <= SHORT {
                        break;
                    }
                }
                finished.store(true, Ordering::Release);
            }
        })?;
        Ok((Self { kind, requests, done, every, written: Cell::new(0) }, thread))
    }

    /// To be called after a commit of so much, by the thread that commits, with its connection.
    pub fn committed(&self, amount: u64, connection: &Connection) {
        if self.done.swap(false, Ordering::Acquire) {
            self.kind.move_pages(connection);
            self.written.set(0);
        }
        self.written.set(self.written.get() + amount);
        if self.written.get() >= self.every && self.requests.try_send(()).is_ok() {
            self.written.set(0);
        }
    }
}

impl FileKind {
    /// Moves what can be moved from the log into the file without making anybody wait.
    pub fn move_pages(&self, connection: &Connection) {
        if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            // The pages are safe in the log, and the next round tries again.
            tracing::warn!(%error, "the {}'s log cannot be moved into its file", self.name);
        }
    }
}
