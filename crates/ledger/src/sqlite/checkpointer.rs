//! The thread that moves committed pages from SQLite's write-ahead log into its file, beside the commits.
//!
//! It is the journal's way as well: SQLite would do this within a commit, and the answers of that
//! batch would wait for it. Here a thread of its own does the bulk. What came in meanwhile is
//! little, and the writer moves it between two commits, so that the log begins anew and never grows
//! without end.

use super::database;
use super::error::OpenError;
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Rows changed between two rounds. A row that lies alone takes a page of 4 KiB or two in the log.
const EVERY_ROWS: u64 = 8_192;
/// The rest is little enough once a pass takes no longer than this.
const SHORT: Duration = Duration::from_millis(5);
/// Passes in one round at most.
const MAX_PASSES: usize = 4;

/// Tells the thread when there is something to move; the thread ends when this is dropped.
pub(super) struct Checkpointer {
    requests: SyncSender<()>,
    done: Arc<AtomicBool>,
    changed: u64,
}

impl Checkpointer {
    /// Starts the thread. The writer's own connection must not move pages by itself.
    pub(super) fn start(path: &Path) -> Result<(Self, JoinHandle<()>), OpenError> {
        let connection = database::open_writer(path).map_err(OpenError::sqlite(path))?;
        let (requests, inbox) = mpsc::sync_channel(0);
        let done = Arc::new(AtomicBool::new(false));
        let finished = done.clone();
        let thread = thread::Builder::new()
            .name("onrush-ledger-pages".into())
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
        Ok((Self { requests, done, changed: 0 }, thread))
    }

    /// To be called after a commit that changed so many rows, by the thread that commits, with its
    /// connection.
    pub(super) fn committed(&mut self, rows: u64, connection: &Connection) {
        if self.done.swap(false, Ordering::Acquire) {
            pass(connection);
            self.changed = 0;
        }
        self.changed += rows;
        if self.changed >= EVERY_ROWS && self.requests.try_send(()).is_ok() {
            self.changed = 0;
        }
    }
}

/// Moves what can be moved without making anybody wait.
pub(super) fn pass(connection: &Connection) {
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        // The pages are safe in the log, and the next round tries again.
        tracing::warn!(%error, "the ledger's log cannot be moved into its file");
    }
}
