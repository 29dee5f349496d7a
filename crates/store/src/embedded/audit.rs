//! An audit: everything recomputed from the journal, and compared with what else there is.

use super::auditor::{Auditor, Findings};
use super::error::OpenError;
use super::events::{Events, guarded};
use super::reader::{JournalReader, ReadError};
use super::recovery::{self, ReplayError, replay};
use super::snapshot::{self, SnapshotFile};
use super::witness;
use crate::engine::{FeedEntry, Seq};
use onrush_core::Event;
use onrush_core::ids::EventId;
use onrush_core::snapshot::agree;
use serde::Serialize;
use std::collections::HashSet;
use std::path::Path;

/// Violations listed at most; all are counted.
const MAX_LISTED: usize = 1_000;
/// Decisions between two checks of all invariants at least. The further the journal goes on, the
/// more it takes, so that checking a large state does not take longer than building it.
const CHECK_EVERY: u64 = 1_000;

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// The last decision that was looked at.
    pub seq: Seq,
    /// Changes in all decisions.
    pub changes: u64,
    /// Events.
    pub events: usize,
    /// Snapshots that could be read and compared.
    pub snapshots: usize,
    /// Units confirmed or claimed in the end.
    pub sold: u64,
    /// How often a seat went to a second booking while the first one had it.
    pub seats_sold_twice: u64,
    /// Units that were taken from a pool beyond its capacity.
    pub oversold: u64,
    /// Admissions out of turn, in events without a draw.
    pub fifo_violations: u64,
    /// How many violations there are.
    pub violation_count: u64,
    /// The first thousand of them, one sentence each.
    pub violations: Vec<String>,
    /// Archive files that were read beside the journal.
    pub archive_files: usize,
    /// Events whose history is in archive files, and was not read.
    pub unread: Vec<EventId>,
}

/// Audits the data directory `dir`, also beside a running engine; writes nothing.
///
/// The journal is replayed by the rules, with all invariants checked now and then and in the end;
/// it is added up a second time without the rules; and every snapshot is compared with the state at
/// its decision.
///
/// Of events whose history is in archive files, that is not read: they are named in the report.
///
/// # Errors
/// See [`OpenError`]. What is wrong inside a journal that can be opened is a violation, not an error.
pub fn audit(dir: &Path) -> Result<AuditReport, OpenError> {
    audit_of(dir, false)
}

/// The same with all archive files: history is judged as if it were in the journal. A file that is
/// missing, or is not the one that the journal remembers, is a violation.
///
/// # Errors
/// As [`audit`].
pub fn audit_with_archive(dir: &Path) -> Result<AuditReport, OpenError> {
    audit_of(dir, true)
}

fn audit_of(dir: &Path, with_archive: bool) -> Result<AuditReport, OpenError> {
    // Read before the end of the journal is: it never says more than that.
    let witness = witness::read(dir);
    let mut reader = JournalReader::open(dir)?;
    let path = reader.path().to_owned();
    let unread =
        |error: ReadError| OpenError::Sqlite { path: path.clone(), why: error.to_string() };
    let last = reader.last().map_err(unread)?;
    let lost = match witness {
        Ok(Some(says)) => recovery::contradicts(&reader, last, &says).map_err(unread)?,
        Ok(None) => None,
        Err(why) => Some(why),
    };
    // Listed after the end was read: a snapshot that is newer than that is left for the next audit.
    let mut snapshots = snapshot::list(dir).map_err(OpenError::io(dir))?;
    snapshots.retain(|file| file.seq <= last);
    let mut audit = FeedAudit { snapshots, ..FeedAudit::default() };
    if with_archive {
        let mut found = Vec::new();
        audit.report.archive_files = reader.read_archive_files(&mut found).map_err(unread)?;
        found.into_iter().for_each(|what| audit.violation(what));
    }
    if let Some(why) = lost {
        audit.violation(why);
    }
    if let Some(why) = reader.complaint_about_view() {
        audit.violation(format!("the view changes cannot be read: {why}"));
    }
    let replayed = replay(reader, Seq::default(), last, |entry| {
        audit.note(&entry);
        Ok(())
    });
    match replayed {
        Ok(()) => {}
        Err(ReplayError::Read(error)) => audit.violation(error.to_string()),
        Err(ReplayError::Rules(seq, why)) => audit.violation(format!("decision {}: {why}", seq.0)),
    }
    Ok(audit.finish())
}

/// An audit of a feed, wherever it is read from: told of every decision in order, it says in the
/// end what is wrong.
#[derive(Default)]
pub struct FeedAudit {
    report: AuditReport,
    auditor: Auditor,
    events: Events,
    /// Events whose journal contradicts itself: the rules cannot go on with them.
    broken: HashSet<EventId>,
    /// Events of which decisions were passed over, because their changes are in files.
    passed_over: HashSet<EventId>,
    /// Newest first.
    snapshots: Vec<SnapshotFile>,
    /// The decision at the last check.
    checked: u64,
}

impl FeedAudit {
    /// Adds something that is wrong, as a sentence.
    pub fn violation(&mut self, what: String) {
        self.report.violation_count += 1;
        if self.report.violations.len() < MAX_LISTED {
            self.report.violations.push(what);
        }
    }

    /// An event as its decisions so far add up; `None` if there is none, or they contradict each other.
    #[must_use]
    pub fn event(&self, id: &EventId) -> Option<&Event> {
        let found = self.events.find(id).filter(|_| !self.broken.contains(id));
        found.map(|index| self.events.get(index))
    }

    /// Looks at the next decision.
    pub fn note(&mut self, entry: &FeedEntry) {
        let FeedEntry { seq, event, changes, .. } = entry;
        self.report.seq = *seq;
        if changes.is_empty() && self.passed_over.insert(event.clone()) {
            self.report.unread.push(event.clone());
        }
        self.report.changes += changes.len() as u64;
        for change in changes {
            self.auditor.note(event, change);
        }
        for what in std::mem::take(&mut self.auditor.findings.violations) {
            self.violation(format!("decision {}, event {event}: {what}", seq.0));
        }
        if !self.broken.contains(event)
            && let Err(why) = self.events.replay(entry)
        {
            self.violation(format!("decision {}, event {event}: {why}", seq.0));
            self.broken.insert(event.clone());
        }
        if seq.0 - self.checked >= CHECK_EVERY.max(self.checked / 4) {
            self.check();
        }
        while let Some(file) = self.snapshots.pop_if(|file| file.seq <= *seq) {
            self.compare(&file);
        }
    }

    fn check(&mut self) {
        self.checked = self.report.seq.0;
        let mut found = Vec::new();
        for event in self.events.iter().filter(|event| !self.broken.contains(event.id())) {
            let broken = guarded(|| event.check())
                .and_then(|checked| checked.map_err(|broken| broken.join("; ")));
            if let Err(broken) = broken {
                found.push(format!("decision {}, event {}: {broken}", self.checked, event.id()));
            }
        }
        found.into_iter().for_each(|what| self.violation(what));
    }

    /// Compares a snapshot with the state that the journal leads to at the same decision.
    fn compare(&mut self, file: &SnapshotFile) {
        let name = file.path.display();
        let snapshot = match snapshot::read(file) {
            Ok(snapshot) => snapshot,
            // Recovery skips it as well; the files of an engine that runs may also just be gone.
            Err(_) if !file.path.exists() => return,
            Err(why) => {
                let what = format!("{name}: {why}");
                return self.violation(what);
            }
        };
        self.report.snapshots += 1;
        let mut found = Vec::new();
        if snapshot.events.ids() != self.events.ids() {
            found.push(format!("{name}: its events are not those of the journal"));
        }
        let is_behind = |event: &Event| {
            self.events.find(event.id()).is_some_and(|index| self.events.is_behind(index))
        };
        let known = self.events.iter().filter(|event| !self.broken.contains(event.id()));
        for event in known.filter(|event| !is_behind(event)) {
            let kept = snapshot.events.find(event.id()).map(|index| snapshot.events.get(index));
            let same = kept.is_some_and(|kept| agree(kept.snapshot(), event.snapshot()));
            if !same {
                let id = event.id();
                found.push(format!("{name}: event {id} is not as the journal has it"));
            }
        }
        found.into_iter().for_each(|what| self.violation(what));
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> AuditReport {
        self.check();
        if let Some(event) = self.events.one_behind() {
            let what = format!("event {event}: the decision that archived it is missing");
            self.violation(what);
        }
        let Findings { seats_sold_twice, oversold, fifo_violations, .. } = self.auditor.findings;
        AuditReport {
            events: self.events.len(),
            sold: self.auditor.sold(),
            seats_sold_twice,
            oversold,
            fifo_violations,
            ..self.report
        }
    }
}
