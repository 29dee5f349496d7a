//! The thread that moves committed pages from SQLite's write-ahead log into its file, beside the commits.
//!
//! SQLite would do so by itself within a commit, and the answers of that batch would wait for it.
//! Here a thread of its own does the bulk. What came in meanwhile is little, and the journal thread
//! moves it between two commits, so that the log begins anew and never grows without end.

use super::database;
use super::error::OpenError;
use rusqlite::Connection;
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Bytes written to the journal between two rounds.
const EVERY_BYTES: u64 = 32 << 20;
/// The rest is little enough once a pass takes no longer than this.
const SHORT: Duration = Duration::from_millis(5);
/// Passes in one round at most.
const MAX_PASSES: usize = 4;

/// Tells the thread when there is something to move; the thread ends when this is dropped.
pub(super) struct Checkpointer {
    requests: SyncSender<()>,
    done: Arc<AtomicBool>,
    written: Cell<u64>,
}

impl Checkpointer {
    /// Starts the thread. The journal's own connection must not move pages by itself from now on.
    pub(super) fn start(path: &Path) -> Result<(Self, JoinHandle<()>), OpenError> {
        let connection = database::open_writer(path)?;
        let (requests, inbox) = mpsc::sync_channel(0);
        let done = Arc::new(AtomicBool::new(false));
        let finished = done.clone();
        let thread = thread::Builder::new()
            .name("onrush-pages".into())
            .spawn(move || {
                for () in inbox {
                    for _ in 0..MAX_PASSES {
                        let begin = Instant::now();
                        pass(&connection);
                        if begin.elapsed() <= SHORT {
                            break;
                        }
                    }
                    finished.store(true, Ordering::Release);
                }
            })
            .map_err(OpenError::io(path))?;
        Ok((Self { requests, done, written: Cell::new(0) }, thread))
    }

    /// To be called after a commit of so many bytes, by the thread that commits, with its connection.
    pub(super) fn committed(&self, bytes: u64, connection: &Connection) {
        if self.done.swap(false, Ordering::Acquire) {
            pass(connection);
            self.written.set(0);
        }
        self.written.set(self.written.get() + bytes);
        if self.written.get() >= EVERY_BYTES && self.requests.try_send(()).is_ok() {
            self.written.set(0);
        }
    }
}

/// Moves what can be moved without making anybody wait.
pub(super) fn pass(connection: &Connection) {
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        // The pages are safe in the log, and the next round tries again.
        tracing::warn!(%error, "the journal's log cannot be moved into its file");
    }
}
