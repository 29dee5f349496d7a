//! The journal thread: it makes decisions durable, and only then lets anyone know.

use super::checkpointer::Checkpointer;
use super::clock::Clock;
use super::database;
use super::dispatch::Dispatch;
use super::outbox::{Batch, Decided, Found};
use super::reader::to_sql;
use super::shared::Shared;
use super::snapshotter::Snapshotter;
use super::witness::{self, Witness};
use crate::engine::{FeedEntry, Seq};
use onrush_core::Time;
use rusqlite::{Connection, Statement};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(feature = "testing")]
use super::faults::{Fate, Faults, KillPoint};

/// While nothing is decided, the time is written down this often: what is missing at the end counts
/// as downtime.
const ALIVE_EVERY: Duration = Duration::from_secs(10);

/// What a row takes beside its body, about.
const ROW_BYTES: u64 = 40;

/// What the journal thread works with.
pub(super) struct Journal {
    pub(super) connection: Connection,
    pub(super) shared: Arc<Shared>,
    pub(super) dispatch: Dispatch,
    pub(super) snapshotter: Snapshotter,
    pub(super) checkpointer: Checkpointer,
    pub(super) witness: Witness,
    /// When the last decision was made that was committed before.
    pub(super) last_at: Option<Time>,
    pub(super) clock: Clock,
    #[cfg(feature = "testing")]
    pub(super) faults: Faults,
}

/// Why the journal thread ended early.
enum End {
    Failed(String),
    #[cfg(feature = "testing")]
    Killed,
}

impl From<rusqlite::Error> for End {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(format!("the journal cannot be written: {error}"))
    }
}

impl Journal {
    /// Commits until the outbox is closed and empty, or a commit fails.
    pub(super) fn run(self) {
        // It outlives a failure's announcement: who is told `Stopped` can ask why.
        let mut batch = Batch::default();
        match self.serve(&mut batch) {
            Ok(()) => {}
            Err(End::Failed(why)) => self.shared.fail(why),
            #[cfg(feature = "testing")]
            Err(End::Killed) => self.shared.fail("killed by a test".into()),
        }
    }

    fn serve(&self, batch: &mut Batch) -> Result<(), End> {
        let mut insert = self
            .connection
            .prepare("INSERT INTO journal (seq, at, event, body) VALUES (?1, ?2, ?3, ?4)")?;
        let mut entries = Vec::new();
        let mut json = Vec::new();
        let mut written_at = Instant::now();
        let mut commits = 0;
        let mut last_at = self.last_at;
        loop {
            let found = self.shared.outbox.take(batch, self.patience());
            let decisions = batch.decided.len();
            let mut bytes = 0;
            if decisions > 0 {
                commits += 1;
                bytes = self.commit(&mut insert, &batch.decided, &mut json, commits)?;
                written_at = Instant::now();
                last_at = batch.decided.last().map(|decided| decided.at).or(last_at);
                entries.extend(batch.decided.drain(..).map(published));
                self.shared.tail.put(&mut entries);
            }
            let committed = self.shared.committed();
            if decisions > 0 || !batch.answered.is_empty() {
                self.dispatch.deliver(std::mem::take(&mut batch.answered), committed);
            }
            #[cfg(feature = "testing")]
            self.fate(KillPoint::AfterAnswers, commits)?;
            // What has left the tail is freed here, when nobody waits any more.
            entries.clear();
            if decisions > 0 {
                self.checkpointer.committed(bytes, &self.connection);
            }

            self.witness.saw(committed, last_at, self.shared.ledger());
            if found == Found::Closed {
                database::set_alive(&self.connection, self.clock.now())?;
                self.witness.end(committed, last_at, self.shared.ledger());
                return Ok(());
            }
            if committed > Seq::default() && written_at.elapsed() >= ALIVE_EVERY {
                database::set_alive(&self.connection, self.clock.now())?;
                written_at = Instant::now();
            }
            self.snapshotter.committed(committed, decisions);
        }
    }

    /// How long to wait for something to commit. An engine without events has nothing to watch over.
    fn patience(&self) -> Option<Duration> {
        let (committed, ledger) = (self.shared.committed(), self.shared.ledger());
        let witness = self.witness.patience(committed, ledger);
        // The ledger follows soon, and does not wake us when it has.
        let follows = (ledger != Some(committed.0)).then_some(witness::EVERY);
        [witness, follows, self.own_patience()].into_iter().flatten().min()
    }

    fn own_patience(&self) -> Option<Duration> {
        if self.shared.committed() > Seq::default() { Some(ALIVE_EVERY) } else { None }
    }

    /// Makes decisions durable. Returns about how many bytes that took.
    fn commit(
        &self,
        insert: &mut Statement<'_>,
        decided: &[Decided],
        json: &mut Vec<u8>,
        #[cfg_attr(not(feature = "testing"), expect(unused_variables, reason = "for kill points"))]
        commits: u64,
    ) -> Result<u64, End> {
        let mut bytes = 0;
        #[cfg(feature = "testing")]
        self.fate(KillPoint::BeforeInsert, commits)?;
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        for Decided { seq, at: Time(at), event, changes } in decided {
            json.clear();
            serde_json::to_writer(&mut *json, &changes[..])
                .map_err(|error| End::Failed(format!("a change cannot be written: {error}")))?;
            let body = std::str::from_utf8(json)
                .map_err(|error| End::Failed(format!("a change is no text: {error}")))?;
            insert.raw_bind_parameter(1, to_sql(*seq))?;
            insert.raw_bind_parameter(2, at)?;
            insert.raw_bind_parameter(3, event.as_str())?;
            insert.raw_bind_parameter(4, body)?;
            insert.raw_execute()?;
            bytes += json.len() as u64 + ROW_BYTES;
        }
        #[cfg(feature = "testing")]
        self.fate(KillPoint::BeforeCommit, commits)?;
        self.connection.execute_batch("COMMIT")?;
        #[cfg(feature = "testing")]
        self.fate(KillPoint::AfterCommit, commits)?;
        if let Some(last) = decided.last() {
            self.shared.set_committed(last.seq);
        }
        Ok(bytes)
    }

    #[cfg(feature = "testing")]
    fn fate(&self, point: KillPoint, batch: u64) -> Result<(), End> {
        match self.faults.at(point, batch) {
            Fate::GoOn => Ok(()),
            Fate::Die => Err(End::Killed),
            Fate::Fail => Err(End::Failed("the disk fails, as a test wants it".into())),
        }
    }
}

/// A decision as readers of the feed see it.
fn published(decided: Decided) -> Arc<FeedEntry> {
    let Decided { seq, at, event, changes } = decided;
    // Exactly as much space as it takes: the tail keeps many of these.
    let mut exact = Vec::with_capacity(changes.len());
    exact.extend(changes);
    Arc::new(FeedEntry { seq, at, event, changes: exact })
}
