//! What a test may let go wrong.

use rusqlite::Connection;
use rusqlite::ffi;
use std::sync::atomic::{AtomicBool, Ordering};

/// Faults that are on at present.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Nothing can be read or written.
    pub(super) broken: AtomicBool,
    /// The file cannot grow any more.
    pub(super) full: AtomicBool,
    /// What is committed is answered as if nobody knew whether it was.
    pub(super) unheard: AtomicBool,
}

impl Faults {
    /// To be called before a transaction of the writer.
    pub(super) fn before(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.before_report()?;
        let pages: u32 = if self.full.load(Ordering::Acquire) { 1 } else { u32::MAX - 1 };
        // SQLite takes the file's present size if the limit is below it.
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
    }

    /// To be called after a transaction that was committed.
    pub(super) fn after(&self) -> rusqlite::Result<()> {
        if self.unheard.load(Ordering::Acquire) {
            let error = ffi::Error::new(ffi::SQLITE_BUSY);
            return Err(rusqlite::Error::SqliteFailure(error, Some("unheard in a test".into())));
        }
        Ok(())
    }

    /// To be called before a report.
    pub(super) fn before_report(&self) -> rusqlite::Result<()> {
        if self.broken.load(Ordering::Acquire) {
            let error = ffi::Error::new(ffi::SQLITE_IOERR);
            return Err(rusqlite::Error::SqliteFailure(error, Some("broken by a test".into())));
        }
        Ok(())
    }
}
