//! A ledger on SQLite to try.

use onrush_ledger::Ledger;
use onrush_ledger::sqlite::SqliteLedger;
use std::path::Path;
use tempfile::TempDir;

/// The ledger that the suite is run against.
pub(super) fn open(dir: &Path) -> Box<dyn Ledger> {
    Box::new(SqliteLedger::open(dir).expect("opened"))
}

/// A ledger in a directory of its own.
pub(super) struct Books {
    pub(super) dir: TempDir,
    ledger: Option<Box<dyn Ledger>>,
}

impl Books {
    /// There is always one.
    pub(super) async fn new() -> Option<Self> {
        let dir = TempDir::new().expect("a directory");
        let ledger = Some(open(dir.path()));
        Some(Self { dir, ledger })
    }

    /// Closes the ledger and opens it again.
    pub(super) async fn reopen(&mut self) {
        drop(self.ledger.take());
        self.ledger = Some(open(self.dir.path()));
    }
}

impl std::ops::Deref for Books {
    type Target = dyn Ledger;

    fn deref(&self) -> &Self::Target {
        self.ledger.as_deref().expect("it is open")
    }
}
