//! The audit of a cluster: the archive in PostgreSQL, the events in Redis, and the ledger.

use super::books::{Feed, PAGE, Rows};
use super::filed::Filed;
use onrush_base::config::Config;
use onrush_core::ids::{BookingId, EventId};
use onrush_ledger::booking::{Booking, BookingFilter};
use onrush_ledger::desk::{DeskEntry, DeskFilter};
use onrush_ledger::postgres::{ArchivedRow, HeldHistory, HistoryFile, Hold, PgLedger};
use onrush_ledger::projection::FeedPosition;
use onrush_ledger::receipt::{Receipt, ReceiptFilter};
use onrush_ledger::saga::{Saga, SagaRecord};
use onrush_ledger::{Ledger, Page};
use onrush_server::cluster::history::open_files;
use onrush_server::cluster::{audit_redis, open_ledger};
use onrush_store::archive_file::Files;
use onrush_store::embedded::{AuditReport, FeedAudit};
use onrush_store::{FeedEntry, Seq};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// The ledger in PostgreSQL, as it was when the audit began.
pub(super) struct SharedLedger {
    runtime: Arc<Runtime>,
    ledger: Arc<PgLedger>,
    records: BTreeMap<BookingId, SagaRecord>,
    bookings: Vec<Booking>,
    receipts: Vec<Receipt>,
}

impl SharedLedger {
    /// Connects to it. Writes nothing.
    pub(super) fn open(config: &Config) -> Result<Self, String> {
        let settings = config.postgres.as_ref().ok_or("postgres: it is not configured")?;
        let runtime = Arc::new(onrush_terminal::process::runtime()?);
        let ledger = runtime.block_on(open_ledger(settings));
        let ledger = ledger.map_err(|error| error.to_string())?;
        Ok(Self {
            runtime,
            ledger,
            records: BTreeMap::new(),
            bookings: Vec::new(),
            receipts: Vec::new(),
        })
    }

    /// All sagas with their payments and refunds, as they are now. By booking: in the order in which
    /// they change, one that a node changes meanwhile, whose clock is behind, could be left out.
    fn read_ledger(&self) -> Result<BTreeMap<BookingId, SagaRecord>, String> {
        let mut records = BTreeMap::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.runtime.block_on(self.ledger.all_sagas(after.as_deref(), PAGE));
            let page = page.map_err(|error| error.to_string())?;
            for saga in page.rows {
                let record = self.runtime.block_on(self.ledger.saga_record(&saga.booking));
                if let Some(record) = record.map_err(|error| error.to_string())? {
                    records.insert(saga.booking, record);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(records);
            }
        }
    }

    /// All bookings as the ledger has them now.
    fn read_bookings(&self) -> Result<Vec<Booking>, String> {
        let mut bookings = Vec::new();
        let mut after = None;
        loop {
            let filter = BookingFilter { after, ..BookingFilter::default() };
            let page = self.runtime.block_on(self.ledger.bookings(filter, PAGE));
            let page = page.map_err(|error| error.to_string())?;
            bookings.extend(page.rows.into_iter().map(|(booking, _)| booking));
            after = page.next;
            if after.is_none() {
                return Ok(bookings);
            }
        }
    }

    /// All receipts as the ledger has them now.
    fn read_receipts(&self) -> Result<Vec<Receipt>, String> {
        let mut receipts = Vec::new();
        let mut after = None;
        loop {
            let filter = ReceiptFilter { is_rising: true, after, ..ReceiptFilter::default() };
            let page = self.runtime.block_on(self.ledger.receipts(filter, PAGE));
            let page = page.map_err(|error| error.to_string())?;
            receipts.extend(page.rows);
            after = page.next;
            if after.is_none() {
                return Ok(receipts);
            }
        }
    }
}

impl Rows for SharedLedger {
    fn begin(&mut self) -> Result<FeedPosition, String> {
        let followed = self.runtime.block_on(self.ledger.position());
        let followed = followed.map_err(|error| error.to_string())?;
        // What was issued by now is explained by money that is read later.
        self.receipts = self.read_receipts()?;
        self.bookings = self.read_bookings()?;
        // A saga that comes to its end while the feed is read would be missed there.
        self.records = self.read_ledger()?;
        Ok(followed)
    }

    fn faults(&mut self) -> Result<Vec<String>, String> {
        // The database sees to its pages itself.
        Ok(Vec::new())
    }

    fn bookings(&mut self, _after: Option<String>) -> Result<Page<Booking>, String> {
        Ok(Page { rows: std::mem::take(&mut self.bookings), next: None })
    }

    fn sagas(&mut self, _after: Option<String>) -> Result<Page<Saga>, String> {
        let rows = self.records.values().map(|record| record.saga.clone()).collect();
        Ok(Page { rows, next: None })
    }

    fn saga_record(&mut self, booking: &BookingId) -> Result<Option<SagaRecord>, String> {
        Ok(self.records.remove(booking))
    }

    fn receipts(&mut self, _after: Option<String>) -> Result<Page<Receipt>, String> {
        Ok(Page { rows: std::mem::take(&mut self.receipts), next: None })
    }

    fn desk(&mut self, after: Option<String>) -> Result<Page<DeskEntry>, String> {
        let filter = DeskFilter { after, ..DeskFilter::default() };
        let page = self.runtime.block_on(self.ledger.desk(filter, PAGE));
        page.map_err(|error| error.to_string())
    }
}

/// The archive of a cluster, and the files that history was moved to.
pub(super) struct Archive {
    runtime: Arc<Runtime>,
    ledger: Arc<PgLedger>,
    /// What has left the archive has done so before, and nothing does until the end.
    history: HeldHistory,
    filed: Vec<HistoryFile>,
    /// The files, if they are read.
    files: Option<Files>,
    /// Decisions that are missing or blank, as far as the archive was read last; a sentence each.
    gaps: Vec<String>,
}

impl Archive {
    /// Looks at the archive, and at the files in `dir`; what is wrong with these is added to `found`.
    pub(super) fn open(
        ledger: &SharedLedger,
        dir: Option<&Path>,
        found: &mut Vec<String>,
    ) -> Result<Self, String> {
        let SharedLedger { runtime, ledger, .. } = ledger;
        let history = runtime.block_on(ledger.hold_history(Hold::Reading));
        let history = history.map_err(|error| error.to_string())?.ok_or(
            "`onrush archive` is moving history into files: wait until it has ended, then try again",
        )?;
        let filed = runtime.block_on(ledger.history_files()).map_err(|error| error.to_string())?;
        let files = dir.map(|dir| runtime.block_on(open_files(ledger, dir, found))).transpose()?;
        let (runtime, ledger, gaps) = (runtime.clone(), ledger.clone(), Vec::new());
        Ok(Self { runtime, ledger, history, filed, files, gaps })
    }

    fn page(&self, after: u64) -> Result<Vec<ArchivedRow>, String> {
        let rows = self.runtime.block_on(self.ledger.read_feed(after, PAGE));
        rows.map_err(|error| error.to_string())
    }

    /// Ends the audit; says how many files were read.
    ///
    /// # Errors
    /// If history may have left the archive while it was read.
    fn end(self) -> Result<usize, String> {
        let Self { runtime, history, files, .. } = self;
        if !history.is_held() {
            return Err("the connection to PostgreSQL broke: try again".into());
        }
        runtime.block_on(history.end());
        Ok(files.map_or(0, |files| files.count()))
    }
}

impl Feed for Archive {
    fn faults(&mut self, _followed: &FeedPosition) -> Result<Vec<String>, String> {
        // Archive and ledger are in one database.
        Ok(Vec::new())
    }

    fn filed(&self) -> Result<HashSet<EventId>, String> {
        // For the same reason: what is put back has both as they were.
        Ok(HashSet::new())
    }

    fn each_decision(&mut self, note: &mut dyn FnMut(&FeedEntry)) -> Result<(), String> {
        self.gaps.clear();
        let mut numbers = Numbers::new(&self.filed);
        let mut filed = Filed::new(self.files.as_ref(), &self.filed);
        let mut after = 0;
        loop {
            let rows = self.page(after)?;
            let Some(last) = rows.last() else { return filed.tell_before(Seq(u64::MAX), note) };
            after = last.number;
            for row in rows {
                self.gaps.extend(numbers.gap_before(&row));
                filed.tell(&entry(row)?, note)?;
            }
        }
    }
}

/// The own numbers of events' decisions, as far as they were read: 1, 2, 3 … without gaps.
struct Numbers<'a> {
    reached: HashMap<EventId, u64>,
    /// Events of which the archive keeps the first and the last decision alone, with its number.
    filed: HashMap<&'a EventId, u64>,
}

impl<'a> Numbers<'a> {
    fn new(filed: &'a [HistoryFile]) -> Self {
        let filed = filed.iter().map(|file| (&file.event, file.decisions)).collect();
        Self { reached: HashMap::new(), filed }
    }

    /// What is missing before this row, or of it.
    fn gap_before(&mut self, row: &ArchivedRow) -> Option<String> {
        let ArchivedRow { number, event, seq, changes, .. } = row;
        let before = self.reached.insert(event.clone(), *seq).unwrap_or_default();
        let expected = match self.filed.get(event) {
            Some(last) if before > 0 => *last,
            Some(_) | None => before + 1,
        };
        if *seq != expected {
            return Some(format!(
                "decision {number} is the event's {seq}, and {expected} was to come ({event}): the \
                 archive lacks what is between"
            ));
        }
        (changes.trim() == "[]").then(|| {
            format!("decision {number} ({event}): it has no changes, and no archive file has them")
        })
    }
}

fn entry(row: ArchivedRow) -> Result<FeedEntry, String> {
    let ArchivedRow { number, event, seq: _, epoch: _, at, changes, mark: _ } = row;
    let changes = serde_json::from_str(&changes)
        .map_err(|error| format!("decision {number} cannot be understood: {error}"))?;
    Ok(FeedEntry { seq: Seq(number), at, event, changes })
}

/// Adds up the archive with the rules and without them, and compares what it comes to with what Redis has.
pub(super) fn audit_feed(mut archive: Archive, config: &Config) -> Result<AuditReport, String> {
    let mut audit = FeedAudit::default();
    archive.each_decision(&mut |entry| audit.note(entry))?;
    std::mem::take(&mut archive.gaps).into_iter().for_each(|gap| audit.violation(gap));
    if let Some(redis) = &config.redis {
        let found = archive.runtime.block_on(audit_redis(redis, &archive.ledger))?;
        found.into_iter().for_each(|what| audit.violation(what));
    }
    let archive_files = archive.end()?;
    Ok(AuditReport { archive_files, ..audit.finish() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::Time;

    fn row(number: u64, seq: u64, changes: &str) -> ArchivedRow {
        let event = "gala".parse().expect("an id");
        let changes = changes.to_owned();
        ArchivedRow { number, event, seq, epoch: 1, at: Time(0), changes, mark: None }
    }

    #[test]
    fn missing_and_blank_decisions_of_an_event_are_named() {
        let mut numbers = Numbers::new(&[]);
        let mut gap = |number, seq, changes| numbers.gap_before(&row(number, seq, changes));
        assert_eq!(gap(7, 1, "[1]"), None);
        assert_eq!(gap(9, 2, "[1]"), None);
        let missing = gap(12, 4, "[1]").expect("3 is missing");
        assert!(missing.contains("decision 12 is the event's 4, and 3 was to come"), "{missing}");
        let blank = gap(13, 5, "[]").expect("it has no changes");
        assert!(blank.contains("decision 13"), "{blank}");
    }
}
