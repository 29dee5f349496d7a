//! The books that an audit compares: the feed and the ledger, wherever they are.

use onrush_core::ids::{BookingId, EventId};
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
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Rows and decisions read at a time.
pub(super) const PAGE: usize = 10_000;

/// The decisions of one deployment, wherever they are. Errors are sentences.
pub(super) trait Feed {
    /// What is wrong with where they are kept: pages that are damaged, or a ledger that has followed
    /// another feed.
    fn faults(&mut self, followed: &FeedPosition) -> Result<Vec<String>, String>;

    /// Events of which a ledger that was put back from before may never learn what it lacks: their
    /// history is in files, which are read.
    fn filed(&self) -> Result<HashSet<EventId>, String>;

    /// Every decision there is, in order; without changes where these are in a file that is not read.
    fn each_decision(&mut self, note: &mut dyn FnMut(&FeedEntry)) -> Result<(), String>;
}

/// The ledger of one deployment, wherever it is. Errors are sentences.
pub(super) trait Rows {
    /// Begins; says how far the ledger has followed the feed.
    fn begin(&mut self) -> Result<FeedPosition, String>;

    /// Pages that are damaged.
    fn faults(&mut self) -> Result<Vec<String>, String>;

    /// A page of the bookings there were at the beginning, or later.
    fn bookings(&mut self, after: Option<String>) -> Result<Page<Booking>, String>;

    /// A page of the sagas there were at the beginning, or later.
    fn sagas(&mut self, after: Option<String>) -> Result<Page<Saga>, String>;

    /// Everything about one booking's money.
    fn saga_record(&mut self, booking: &BookingId) -> Result<Option<SagaRecord>, String>;

    /// A page of the receipts there were at the beginning, by number.
    fn receipts(&mut self, after: Option<String>) -> Result<Page<Receipt>, String>;

    /// A page of what the gateway's own desk did.
    fn desk(&mut self, after: Option<String>) -> Result<Page<DeskEntry>, String>;
}

/// The journal of one process.
pub(super) struct Journal {
    data: PathBuf,
    /// How far a ledger had followed it before this one was opened, as it remembers.
    followed_before: Option<Seq>,
    /// Whether archive files are read beside it.
    with_archive: bool,
}

impl Journal {
    /// The journal in a directory. One that cannot be opened is reported by the audit of the feed.
    pub(super) fn in_dir(data: &Path, with_archive: bool) -> Self {
        let journal = JournalReader::open(data).ok();
        let followed_before = journal.and_then(|journal| journal.ledger_followed());
        Self { data: data.to_owned(), followed_before, with_archive }
    }

    /// The ledger beside it; `None` if there is none. One that should be there is a violation.
    pub(super) fn ledger_beside(
        &self,
        found: &mut Vec<String>,
    ) -> Result<Option<LedgerReader>, String> {
        if !self.data.join("ledger.db").exists() {
            found.extend(self.followed_before.map(|Seq(known)| {
                format!(
                    "ledger.db is missing; one had followed the journal to decision {known} (if it \
                     is in PostgreSQL, give --config)"
                )
            }));
            return Ok(None);
        }
        LedgerReader::open(&self.data).map(Some).map_err(|error| error.to_string())
    }
}

impl Feed for Journal {
    fn faults(&mut self, followed: &FeedPosition) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
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

    fn filed(&self) -> Result<HashSet<EventId>, String> {
        if !self.with_archive {
            return Ok(HashSet::new());
        }
        let reader = JournalReader::open(&self.data).map_err(|error| error.to_string())?;
        let events = reader.archived_events().map_err(|error| error.to_string())?;
        Ok(events.into_iter().collect())
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
}

impl Rows for LedgerReader {
    fn begin(&mut self) -> Result<FeedPosition, String> {
        self.position().map_err(|error| error.to_string())
    }

    fn faults(&mut self) -> Result<Vec<String>, String> {
        let found = Self::faults(self).map_err(|error| error.to_string())?;
        Ok(found.into_iter().map(|fault| format!("ledger.db is damaged: {fault}")).collect())
    }

    fn bookings(&mut self, after: Option<String>) -> Result<Page<Booking>, String> {
        Self::bookings(self, after.as_deref(), PAGE).map_err(|error| error.to_string())
    }

    fn sagas(&mut self, after: Option<String>) -> Result<Page<Saga>, String> {
        Self::sagas(self, after.as_deref(), PAGE).map_err(|error| error.to_string())
    }

    fn saga_record(&mut self, booking: &BookingId) -> Result<Option<SagaRecord>, String> {
        Self::saga_record(self, booking).map_err(|error| error.to_string())
    }

    fn receipts(&mut self, after: Option<String>) -> Result<Page<Receipt>, String> {
        let filter = ReceiptFilter { is_rising: true, after, ..ReceiptFilter::default() };
        Self::receipts(self, &filter, PAGE).map_err(|error| error.to_string())
    }

    fn desk(&mut self, after: Option<String>) -> Result<Page<DeskEntry>, String> {
        let filter = DeskFilter { after, ..DeskFilter::default() };
        Self::desk(self, &filter, PAGE).map_err(|error| error.to_string())
    }
}
