//! The ledger opened, and not running.

use super::error::OpenError;
#[cfg(feature = "testing")]
use super::faults::Faults;
use super::health::{self, Health};
use super::mailbox::Mailbox;
use super::writer::Writer;
use super::{CAPACITY, REPORT_CAPACITY, REPORT_THREADS, SqliteLedger, database, sync};
use rusqlite::Connection;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A ledger that is open, and that nobody runs yet.
pub(super) struct Still {
    pub(super) ledger: SqliteLedger,
    pub(super) writer: Writer,
    pub(super) connection: Connection,
}

impl Still {
    pub(super) fn open(dir: &Path) -> Result<Self, OpenError> {
        let path = database::path_in(dir);
        // A file that is not ours is left alone, also by the lock below.
        database::exists(&path)?;
        onrush_sqlite::make_dir(dir).map_err(OpenError::io(dir))?;
        let lock = database::lock(dir)?;
        let health = Health::of(&path);
        let mut check = None;
        if database::exists(&path)? {
            check = health::check(&path, &health)?;
            onrush_sqlite::close_files(&path).map_err(OpenError::io(&path))?;
        } else {
            database::create(&path)?;
        }
        database::migrate(&path)?;
        let connection = database::open_writer(&path).map_err(OpenError::sqlite(&path))?;
        // Before anybody acts on what it says.
        database::LEDGER.sync_log(&connection).map_err(OpenError::sqlite(&path))?;
        #[cfg(feature = "testing")]
        let faults = Arc::new(Faults::default());
        let ledger = SqliteLedger {
            writing: Arc::new(Mailbox::new(CAPACITY)),
            reporting: Arc::new(Mailbox::new(REPORT_CAPACITY)),
            threads: Vec::new(),
            checkpointer: None,
            health: health.clone(),
            _check: check,
            #[cfg(feature = "testing")]
            faults: faults.clone(),
            _lock: lock,
        };
        let writer = Writer {
            path,
            mailbox: ledger.writing.clone(),
            checkpointer: None,
            health,
            #[cfg(feature = "testing")]
            faults,
        };
        Ok(Self { ledger, writer, connection })
    }

    /// Starts the threads that write and report.
    pub(super) fn run(self) -> io::Result<SqliteLedger> {
        let Self { mut ledger, writer, connection } = self;
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            sync::Builder::new().name(name.into()).spawn(run)
        };
        let reporters = [(); REPORT_THREADS].map(|()| ledger.reporter(&writer.path));
        ledger.threads.push(spawn("onrush-ledger", Box::new(move || writer.run(connection)))?);
        for reporter in reporters {
            ledger.threads.push(spawn("onrush-reports", Box::new(move || reporter.run()))?);
        }
        Ok(ledger)
    }
}
