//! The books that an audit compares: the feed and the ledger, wherever they are.

use onrush_core::ids::BookingId;
use onrush_ledger::Page;
use onrush_ledger::desk::{DeskEntry, DeskFilter};
use onrush_ledger::saga::{File, Saga};
use onrush_ledger::sqlite::LedgerReader;
use onrush_store::embedded::JournalReader;
use onrush_store::{FeedEntry, Seq};
use std::path::{Path, PathBuf};

/// Rows and decisions read at a time.
pub(super) const PAGE: usize = 10_000;

/// The feed and the ledger of one deployment, read one after the other. Errors are sentences.
pub(super) trait Books {
    /// Begins with the ledger; says how far it has followed the feed.
    fn begin(&mut self) -> Result<u64, String>;

    /// Every decision there is, in order.
    fn each_decision(&mut self, note: &mut dyn FnMut(&FeedEntry)) -> Result<(), String>;

    /// A page of the sagas there were at the beginning, or later.
    fn sagas(&mut self, after: Option<String>) -> Result<Page<Saga>, String>;

    /// Everything about one booking's money.
    fn file(&mut self, booking: &BookingId) -> Result<Option<File>, String>;

    /// A page of what the gateway's own desk did.
    fn desk(&mut self, after: Option<String>) -> Result<Page<DeskEntry>, String>;
}

/// The books of one process: two files in its data directory.
pub(super) struct FileBooks {
    data: PathBuf,
    ledger: LedgerReader,
}

impl FileBooks {
    /// The books in a directory; `None` if there is no ledger.
    pub(super) fn open(data: &Path) -> Result<Option<Self>, String> {
        if !data.join("ledger.db").exists() {
            return Ok(None);
        }
        let ledger = LedgerReader::open(data).map_err(|error| error.to_string())?;
        Ok(Some(Self { data: data.to_owned(), ledger }))
    }
}

impl Books for FileBooks {
    fn begin(&mut self) -> Result<u64, String> {
        self.ledger.cursor().map_err(|error| error.to_string())
    }

    fn each_decision(&mut self, note: &mut dyn FnMut(&FeedEntry)) -> Result<(), String> {
        let mut reader = JournalReader::open(&self.data).map_err(|error| error.to_string())?;
        let mut after = Seq::default();
        loop {
            let page = reader.page(after, PAGE).map_err(|error| error.to_string())?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            page.iter().for_each(&mut *note);
        }
    }

    fn sagas(&mut self, after: Option<String>) -> Result<Page<Saga>, String> {
        self.ledger.sagas(after.as_deref(), PAGE).map_err(|error| error.to_string())
    }

    fn file(&mut self, booking: &BookingId) -> Result<Option<File>, String> {
        self.ledger.file(booking).map_err(|error| error.to_string())
    }

    fn desk(&mut self, after: Option<String>) -> Result<Page<DeskEntry>, String> {
        let filter = DeskFilter { after, ..DeskFilter::default() };
        self.ledger.desk(&filter, PAGE).map_err(|error| error.to_string())
    }
}
