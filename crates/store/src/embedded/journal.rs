//! The journal thread: it makes decisions durable, and only then lets anyone know.

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
use onrush_sqlite::Checkpointer;
use rusqlite::{Connection, Statement};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(feature = "testing")]
use super::faults::{Fate, Faults, KillPoint};

/// While nothing is decided, the time is written down this often: what is missing at the end counts
/// as downtime.
const ALIVE_EVERY: Duration = Duration::from_secs(10);

const INSERT: &str = "INSERT INTO journal (seq, at, event, body) VALUES (?1, ?2, ?3, ?4)";

/// What the journal thread works with.
pub(super) struct Journal {
    pub(super) connection: Connection,
    pub(super) shared: Arc<Shared>,
    pub(super) dispatch: Dispatch,
    /// Makes snapshots beside the sale; without one, none are made.
    pub(super) snapshotter: Option<Snapshotter>,
    /// Moves pages beside the commits; without one, SQLite does within them.
    pub(super) checkpointer: Option<Checkpointer>,
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
    /// The file is not what was written.
    Damaged(String),
    #[cfg(feature = "testing")]
    Killed,
}

impl From<rusqlite::Error> for End {
    fn from(error: rusqlite::Error) -> Self {
        if database::is_damage(&error) {
            return Self::Damaged(error.to_string());
        }
        Self::Failed(format!("the journal cannot be written: {error}"))
    }
}

/// How far the writing is.
pub(super) struct Written {
    /// When something was written last.
    at: Instant,
    /// When the last decision was made that was committed.
    last_at: Option<Time>,
    commits: u64,
    /// Space that is used again.
    entries: Vec<Arc<FeedEntry>>,
    json: Vec<u8>,
}

impl Written {
    pub(super) fn new(last_at: Option<Time>) -> Self {
        Self { at: Instant::now(), last_at, commits: 0, entries: Vec::new(), json: Vec::new() }
    }
}

impl Journal {
    /// Commits until the outbox is closed and empty, or a commit fails.
    pub(super) fn run(self) {
        // It outlives a failure's announcement: who is told `Stopped` can ask why.
        let mut batch = Batch::default();
        if let Err(end) = self.serve(&mut batch) {
            self.fail(end);
        }
    }

    fn serve(&self, batch: &mut Batch) -> Result<(), End> {
        let mut insert = self.connection.prepare(INSERT)?;
        let mut written = Written::new(self.last_at);
        loop {
            let found = self.shared.outbox.take(batch, self.patience());
            let decisions = batch.decided.len();
            self.settle(&mut insert, batch, &mut written)?;
            let committed = self.shared.committed();
            self.witness.saw(committed, written.last_at, self.shared.ledger());
            if found == Found::Closed {
                return self.end(&written).map_err(End::from);
            }
            if committed > Seq::default() && written.at.elapsed() >= ALIVE_EVERY {
                self.note_alive()?;
                written.at = Instant::now();
            }
            if let Some(snapshotter) = &self.snapshotter {
                snapshotter.committed(committed, decisions);
            }
        }
    }

    /// Makes a batch durable, and then lets everybody know.
    fn settle(
        &self,
        insert: &mut Statement<'_>,
        batch: &mut Batch,
        written: &mut Written,
    ) -> Result<(), End> {
        let commits = !batch.decided.is_empty();
        if commits {
            written.commits += 1;
            let json = &mut written.json;
            let begun = Instant::now();
            self.commit(insert, &batch.decided, json, written.commits)?;
            written.at = Instant::now();
            self.shared.commit.note(written.at - begun);
            written.last_at = batch.decided.last().map(|decided| decided.at).or(written.last_at);
            written.entries.extend(batch.decided.drain(..).map(published));
            self.shared.tail.put(&mut written.entries);
        }
        if commits || !batch.answered.is_empty() {
            let committed = self.shared.committed();
            self.dispatch.deliver(std::mem::take(&mut batch.answered), committed);
            self.shared.set_delivered(committed);
        }
        #[cfg(feature = "testing")]
        self.fate(KillPoint::AfterAnswers, written.commits)?;
        // What has left the tail is freed here, when nobody waits any more.
        written.entries.clear();
        if commits {
            self.has_committed();
        }
        Ok(())
    }

    /// Has pages moved beside the commits, once there are enough.
    fn has_committed(&self) {
        if let Some(checkpointer) = &self.checkpointer {
            checkpointer.committed(&self.connection);
        }
    }

    /// Writes down until when the engine ran, unless that may not be said now. These commits fill the
    /// log of one that has nothing to decide.
    pub(super) fn note_alive(&self) -> rusqlite::Result<()> {
        if let Some(until) = self.alive_until() {
            database::set_alive(&self.connection, until)?;
            self.has_committed();
        }
        Ok(())
    }

    /// Until when the engine ran. While decisions wait for their commit nobody can say: a pause may be
    /// among what they make up for, and if they are lost, the next start has to.
    fn alive_until(&self) -> Option<Time> {
        // No turn begins meanwhile. One that panicked has made up for nothing.
        let state = self.shared.state.read().ok()?;
        (state.decided == self.shared.committed()).then(|| self.clock.alive_until())
    }

    /// Writes down that this was the end, and none that came by itself.
    fn end(&self, written: &Written) -> rusqlite::Result<()> {
        self.note_alive()?;
        self.witness.end(self.shared.committed(), written.last_at, self.shared.ledger());
        Ok(())
    }

    /// Commits and answers what there is, without waiting for anything. False if the engine has
    /// stopped.
    pub(super) fn step(&self, written: &mut Written) -> bool {
        let mut batch = Batch::default();
        self.shared.outbox.take(&mut batch, Some(Duration::ZERO));
        let settled = self.connection.prepare(INSERT).map_err(End::from);
        let settled = settled.and_then(|mut insert| self.settle(&mut insert, &mut batch, written));
        match settled {
            Ok(()) => {
                let committed = self.shared.committed();
                self.witness.saw(committed, written.last_at, self.shared.ledger());
                true
            }
            Err(end) => {
                self.fail(end);
                false
            }
        }
    }

    /// Has SQLite move pages into the file by itself, within commits.
    pub(super) fn move_pages_within_commits(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch("PRAGMA wal_autocheckpoint = 1000;")
    }

    /// Writes what is to be written at the end.
    pub(super) fn close(&self, written: &Written) {
        if let Err(error) = self.end(written) {
            self.fail(error.into());
        }
    }

    fn fail(&self, end: End) {
        match end {
            End::Failed(why) => self.shared.fail(why),
            End::Damaged(why) => self.shared.is_lost(&why),
            #[cfg(feature = "testing")]
            End::Killed => self.shared.fail("killed by a test".into()),
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

    /// Makes decisions durable.
    fn commit(
        &self,
        insert: &mut Statement<'_>,
        decided: &[Decided],
        json: &mut Vec<u8>,
        #[cfg_attr(not(feature = "testing"), expect(unused_variables, reason = "for kill points"))]
        commits: u64,
    ) -> Result<(), End> {
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
        }
        #[cfg(feature = "testing")]
        self.fate(KillPoint::BeforeCommit, commits)?;
        self.connection.execute_batch("COMMIT")?;
        #[cfg(feature = "testing")]
        self.fate(KillPoint::AfterCommit, commits)?;
        if let Some(last) = decided.last() {
            self.shared.set_committed(last.seq);
        }
        Ok(())
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
