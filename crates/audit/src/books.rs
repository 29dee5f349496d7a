//! The books that an audit compares: the feed and the ledger, wherever they are.

use onrush_core::ids::BookingId;
use onrush_ledger::Page;
use onrush_ledger::booking::Booking;
use onrush_ledger::desk::{DeskEntry, DeskFilter};
use onrush_ledger::projection::FeedPosition;
use onrush_ledger::receipt::{Receipt, ReceiptFilter};
use onrush_ledger::saga::{Saga, SagaRecord};
use onrush_ledger::sqlite::LedgerReader;
use onrush_saga::pairing::older_ledger;
use onrush_store::embedded::JournalReader;
use onrush_store::{FeedEntry, Seq};
use std::path::{Path, PathBuf};

/// Rows and decisions read at a time.
pub(super) const PAGE: usize = 10_000;

/// The feed and the ledger of one deployment, read one after the other. Errors are sentences.
pub(super) trait Books {
    /// Begins with the ledger; says how far it has followed the feed.
    fn begin(&mut self) -> Result<FeedPosition, String>;

    /// What is wrong with the files themselves: pages that are damaged, or a ledger and a feed that
    /// do not belong together.
    fn faults(&mut self, followed: &FeedPosition) -> Result<Vec<String>, String>;

    /// A page of the bookings there were at the beginning, or later.
    fn bookings(&mut self, after: Option<String>) -> Result<Page<Booking>, String>;

    /// Every decision there is, in order; without changes where these are in a file that is not read.
    fn each_decision(&mut self, note: &mut dyn FnMut(&FeedEntry)) -> Result<(), String>;

    /// A page of the sagas there were at the beginning, or later.
    fn sagas(&mut self, after: Option<String>) -> Result<Page<Saga>, String>;

    /// Everything about one booking's money.
    fn saga_record(&mut self, booking: &BookingId) -> Result<Option<SagaRecord>, String>;

    /// A page of the receipts there were at the beginning, by number.
    fn receipts(&mut self, after: Option<String>) -> Result<Page<Receipt>, String>;

    /// A page of what the gateway's own desk did.
    fn desk(&mut self, after: Option<String>) -> Result<Page<DeskEntry>, String>;
}

/// The books of one process: two files in its data directory.
pub(super) struct FileBooks {
    data: PathBuf,
    ledger: LedgerReader,
    /// How far a ledger had followed the journal before this one was opened, as the journal remembers.
    followed_before: Option<Seq>,
    /// Whether archive files are read beside the journal.
    with_archive: bool,
}

impl FileBooks {
    /// The books in a directory; `None` if there is no ledger. One that should be there is a violation.
    pub(super) fn open(
        data: &Path,
        with_archive: bool,
        found: &mut Vec<String>,
    ) -> Result<Option<Self>, String> {
        // A journal that cannot be opened is reported by the audit of the feed.
        let journal = JournalReader::open(data).ok();
        let followed_before = journal.and_then(|journal| journal.ledger_followed());
        if !data.join("ledger.db").exists() {
            found.extend(followed_before.map(|Seq(known)| {
                format!("ledger.db is missing; one had followed the journal to decision {known}")
            }));
            return Ok(None);
        }
        let ledger = LedgerReader::open(data).map_err(|error| error.to_string())?;
        Ok(Some(Self { data: data.to_owned(), ledger, followed_before, with_archive }))
    }
}

impl Books for FileBooks {
    fn begin(&mut self) -> Result<FeedPosition, String> {
        self.ledger.position().map_err(|error| error.to_string())
    }

    fn faults(&mut self, followed: &FeedPosition) -> Result<Vec<String>, String> {
        let mut found = self.ledger.faults().map_err(|error| error.to_string())?;
        found.iter_mut().for_each(|fault| *fault = format!("ledger.db is damaged: {fault}"));
        let journal = JournalReader::open(&self.data).map_err(|error| error.to_string())?;
        let identity = journal.identity().map_err(|error| error.to_string())?;
        if followed.journal.is_some() && followed.journal != identity {
            found.push("the ledger is not of this journal: it has followed another one".into());
        }
        if let Some(Seq(known)) = self.followed_before.filter(|known| known.0 > followed.seq) {
            found.push(older_ledger(followed.seq, known));
        }
        Ok(found)
    }

    fn bookings(&mut self, after: Option<String>) -> Result<Page<Booking>, String> {
        self.ledger.bookings(after.as_deref(), PAGE).map_err(|error| error.to_string())
    }

    fn each_decision(&mut self, note: &mut dyn FnMut(&FeedEntry)) -> Result<(), String> {
        let mut reader = JournalReader::open(&self.data).map_err(|error| error.to_string())?;
        if self.with_archive {
            // What is wrong with files is reported by the audit of the feed.
            let read = reader.read_archive_files(&mut Vec::new());
            read.map_err(|error| error.to_string())?;
        }
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

    fn saga_record(&mut self, booking: &BookingId) -> Result<Option<SagaRecord>, String> {
        self.ledger.saga_record(booking).map_err(|error| error.to_string())
    }

    fn receipts(&mut self, after: Option<String>) -> Result<Page<Receipt>, String> {
        let filter = ReceiptFilter { is_rising: true, after, ..ReceiptFilter::default() };
        self.ledger.receipts(&filter, PAGE).map_err(|error| error.to_string())
    }

    fn desk(&mut self, after: Option<String>) -> Result<Page<DeskEntry>, String> {
        let filter = DeskFilter { after, ..DeskFilter::default() };
        self.ledger.desk(&filter, PAGE).map_err(|error| error.to_string())
    }
}
