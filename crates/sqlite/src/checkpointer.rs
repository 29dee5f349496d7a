//! The thread that moves committed pages from SQLite's write-ahead log into its file, beside the commits.
//!
//! SQLite would do so by itself within a commit, and the answers of that batch would wait for it.
//! Here a thread of its own does the bulk. What came in meanwhile is little, and the thread that
//! commits moves it between two commits, so that the log begins anew and never grows without end.

use crate::kind::FileKind;
use rusqlite::Connection;
use rusqlite::hooks::Wal;
use std::ffi::c_int;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Pages written to a log between two rounds: 32 MiB.
pub const ROUND_PAGES: u64 = 8_192;
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
    /// Pages written between two rounds.
    every_pages: u64,
    /// Pages written since the last round began.
    written_pages: Arc<AtomicU64>,
}

impl Checkpointer {
    /// Starts the thread with a writer's connection of its own, which is not the one that commits:
    /// see [`Checkpointer::watch`].
    ///
    /// # Errors
    /// What the system says.
    pub fn start(
        kind: &'static FileKind,
        connection: Connection,
        every_pages: u64,
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
        let written_pages = Arc::default();
        Ok((Self { kind, requests, done, every_pages, written_pages }, thread))
    }

    /// Counts the pages that are written with the connection that commits, from now on: a commit of
    /// a few bytes writes one at least, and often more.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn watch(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let written_pages = self.written_pages.clone();
        let mut length = 0;
        connection.wal_hook(Some(move |_: &mut Wal, pages: c_int| {
            let pages = u64::try_from(pages).unwrap_or_default();
            // A log that did not grow by a commit has begun anew with it.
            let new = if pages > length { pages - length } else { pages };
            length = pages;
            written_pages.fetch_add(new, Ordering::Relaxed);
            Ok(())
        }))
    }

    /// To be called after each commit, by the thread that commits, with its connection.
    pub fn committed(&self, connection: &Connection) {
        if self.done.swap(false, Ordering::Acquire) {
            self.kind.move_pages(connection);
            self.written_pages.store(0, Ordering::Relaxed);
        }
        let written_pages = self.written_pages.load(Ordering::Relaxed);
        if written_pages >= self.every_pages && self.requests.try_send(()).is_ok() {
            self.written_pages.store(0, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::log_of;
    use std::fs;

    static KIND: FileKind = FileKind {
        name: "test",
        application_id: 1,
        writer_pragmas: "",
        first_look: "PRAGMA user_version",
    };

    #[test]
    fn pages_that_are_counted_are_those_in_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let table = "CREATE TABLE facts (number INTEGER)";
        KIND.create(&path, |connection| connection.execute_batch(table)).unwrap();
        let mut writer = KIND.open_writer(&path).unwrap();
        let connection = KIND.open_writer(&path).unwrap();
        let (checkpointer, thread) = Checkpointer::start(&KIND, connection, u64::MAX).unwrap();
        checkpointer.watch(&mut writer).unwrap();
        let insert = || writer.execute("INSERT INTO facts VALUES (1)", []).unwrap();
        for _ in 0..50 {
            insert();
        }
        // A header, and each page with a header of its own.
        let in_log = (fs::metadata(log_of(&path)).unwrap().len() - 32) / (24 + 4_096);
        assert!(in_log >= 50, "{in_log} pages");
        let counted = || checkpointer.written_pages.load(Ordering::Relaxed);
        assert_eq!(counted(), in_log);
        KIND.move_pages(&writer);
        insert();
        assert_eq!(counted(), in_log + 1, "in a log that has begun anew");
        drop(checkpointer);
        thread.join().unwrap();
    }
}
