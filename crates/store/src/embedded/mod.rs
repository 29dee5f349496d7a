//! The embedded engine: the rules in memory, their changes in an SQLite file, no other service.
//!
//! ```text
//! callers ─► mailbox ─► engine thread ─► outbox ─► journal thread ─► dispatcher ─► callers
//!                       decide, evolve             one transaction     a task that wakes them
//!                       while the last             a batch, fsync
//!                       batch commits                    └─► tail ─► feeds
//! ```
//!
//! Nobody sees state that a crash could undo: every answer, also a refusal or a view, waits until
//! all that was decided before it is durable. A failed commit stops the engine for good.
//!
//! While nobody waits for anything, a question is answered where it is asked, from the state between
//! two turns of the engine thread.

mod archive;
mod audit;
mod auditor;
mod clock;
mod copy;
mod damage;
mod database;
mod disk;
mod dispatch;
mod error;
mod events;
mod executor;
#[cfg(feature = "testing")]
mod faults;
mod feed;
mod filed;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
#[cfg(test)]
mod interleavings;
mod journal;
mod log;
mod mailbox;
mod outbox;
mod progress;
mod reader;
mod recovery;
mod shared;
mod snapshot;
mod snapshotter;
mod state;
mod steady;
mod stepped;
mod still;
mod sync;
mod tail;
mod vocabulary;
mod witness;

pub use crate::archive_file::{ArchiveStep, ArchivedEvent};
pub use archive::{ArchiveError, ArchiveReport, archive};
pub use audit::{AuditReport, FeedAudit, audit, audit_with_archive};
pub use clock::{Clock, ClockReport, Correction, ManualClock};
pub use copy::{HeldJournal, JournalEnd, is_served, look_over};
pub use disk::{Need, Space};
pub use error::{Damage, OpenError, WAY_OUT};
#[cfg(feature = "testing")]
pub use faults::{Asked, Fate, Faults, KillPoint, LostAnswers};
pub use reader::{JournalReader, ReadError};
pub use recovery::look_before_start;
pub use snapshot::SnapshotFile;
#[cfg(feature = "testing")]
pub use steady::ManualClocks;
pub use steady::{Look, SteadyClock};
pub use stepped::Stepped;

use crate::engine::{Answer, Engine, Failure, Feed, Figures, Pending, Seq};
use disk::Watch;
use events::guarded;
use executor::Executor;
use feed::TailFeed;
use journal::Journal;
use mailbox::{Ask, NotTaken, Slot};
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::{Command, Query, Reply, Time, View};
use progress::Listener;
use shared::Shared;
use snapshotter::Snapshotter;
use std::future::{Future, ready};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use steady::Pulse;
use still::Still;
use tokio::runtime::Handle;

/// What a caller is told to wait if the mailbox is full.
const RETRY_AFTER_MS: u32 = 250;
/// Decisions since the last snapshot that make one worth its time when the engine is closed.
const SNAPSHOT_AT_CLOSE: u64 = 50_000;

/// How an engine runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// What may be waiting to be decided before callers are told to come again later.
    pub mailbox_capacity: usize,
    /// While the oldest ask without an answer has been waiting for longer, callers who would begin
    /// something (join, hold, claim) are told to come again later; everything else is let in.
    /// [`Duration::MAX`], the default, sends nobody away.
    pub longest_wait: Duration,
    /// The last decisions that readers of the feed find in memory.
    pub tail_capacity: usize,
    /// Decisions between two snapshots.
    pub snapshot_every: u64,
    /// Pages written to the journal's log before they are moved into its file.
    pub move_every_pages: u64,
    /// With less free space than this, nothing new is sold; with a quarter of it, no new payment
    /// begins either.
    pub low_disk_bytes: u64,
    /// Where the time comes from.
    pub clock: Clock,
    /// Whether to go on with a journal that is an older copy, or has lost its end.
    pub accept_restored: bool,
    /// The runtime that callers wait in; `None` is the one that the engine is opened in.
    pub runtime: Option<Handle>,
    /// What goes wrong.
    #[cfg(feature = "testing")]
    pub faults: Faults,
    /// Which answers get lost.
    #[cfg(feature = "testing")]
    pub lost_answers: LostAnswers,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mailbox_capacity: 16_384,
            longest_wait: Duration::MAX,
            tail_capacity: 65_536,
            snapshot_every: 1_000_000,
            move_every_pages: onrush_sqlite::ROUND_PAGES,
            low_disk_bytes: 256 << 20,
            clock: Clock::default(),
            accept_restored: false,
            runtime: None,
            #[cfg(feature = "testing")]
            faults: Faults::default(),
            #[cfg(feature = "testing")]
            lost_answers: LostAnswers::default(),
        }
    }
}

/// The embedded engine. Dropping it closes it, as [`Embedded::close`] does.
pub struct Embedded {
    dir: PathBuf,
    identity: String,
    clock: Clock,
    shared: Arc<Shared>,
    progress: Listener,
    threads: Option<Threads>,
    #[cfg(feature = "testing")]
    lost_answers: LostAnswers,
    /// Watched as long as the engine lives.
    _disk: Watch,
    /// Held as long as the engine lives.
    _lock: onrush_sqlite::Lock,
}

struct Threads {
    executor: sync::JoinHandle<Option<()>>,
    journal: sync::JoinHandle<Option<()>>,
    beside: Option<Beside>,
}

/// Threads that have no part in decisions and answers.
struct Beside {
    checkpointer: thread::JoinHandle<()>,
    snapshotter: thread::JoinHandle<()>,
    _pulse: Pulse,
}

impl Embedded {
    /// Opens the engine on the directory `dir`, which is created if it does not exist, and recovers
    /// its state.
    ///
    /// If the engine was away for a second or more, all deadlines are moved on by as much.
    ///
    /// # Errors
    /// See [`OpenError`]; nothing in the directory is changed then.
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        let (low_disk_bytes, snapshot_every) = (options.low_disk_bytes, options.snapshot_every);
        let move_every_pages = options.move_every_pages;
        let watch = move |dir: &Path| Watch::start(dir.to_owned(), low_disk_bytes);
        let Still { engine, executor, mut journal } = Still::open(dir, options, watch, false)?;
        let shared = engine.shared.clone();
        let newest = Seq(shared.snapshot.load(Ordering::Acquire));
        let (snapshotter, snapshotter_thread) =
            Snapshotter::start(dir.to_owned(), shared.clone(), snapshot_every, newest)
                .map_err(OpenError::io(dir))?;
        journal.snapshotter = Some(snapshotter);
        let path = database::path_in(dir);
        let (checkpointer, checkpointer_thread) =
            database::start_checkpointer(&path, move_every_pages, &mut journal.connection)?;
        journal.checkpointer = Some(checkpointer);
        let pulse = Pulse::start(&engine.clock).map_err(OpenError::io(dir))?;
        let beside = Beside {
            checkpointer: checkpointer_thread,
            snapshotter: snapshotter_thread,
            _pulse: pulse,
        };
        engine.run(executor, journal, Some(beside)).map_err(OpenError::io(dir))
    }

    /// Starts the threads that decide and commit.
    fn run(
        mut self,
        executor: Executor,
        journal: Journal,
        beside: Option<Beside>,
    ) -> std::io::Result<Self> {
        self.threads = Some(Threads {
            executor: spawn("onrush-engine", &self.shared, move || executor.run())?,
            journal: spawn("onrush-journal", &self.shared, move || journal.run())?,
            beside,
        });
        Ok(self)
    }
}

/// Starts a thread whose panic stops the engine: a broken rule or invariant must not go on selling.
fn spawn<T: Send + 'static>(
    name: &str,
    shared: &Arc<Shared>,
    run: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<sync::JoinHandle<Option<T>>> {
    let shared = shared.clone();
    sync::Builder::new().name(name.into()).spawn(move || {
        guarded(run).map_err(|why| shared.fail(format!("an invariant is broken: {why}"))).ok()
    })
}

impl Embedded {
    /// Lets nothing more in, commits and answers everything that was, and ends the threads.
    pub fn close(mut self) {
        self.shut();
    }

    /// Whether somebody runs it step by step: then it has no threads, and wants none beside it.
    #[must_use]
    pub fn is_stepped(&self) -> bool {
        self.shared.without_threads
    }

    /// The journal's identity: drawn when it was made, in no other journal.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// How far a ledger had followed this journal when that was last said; `None` if none ever did.
    #[must_use]
    pub fn ledger_followed(&self) -> Option<Seq> {
        self.shared.ledger().map(Seq)
    }

    /// Says how far the ledger has followed by now, durably. It is remembered, so that an older
    /// ledger is not taken for this one.
    pub fn set_ledger_followed(&self, seq: Seq) {
        self.shared.ledger.store(seq.0, Ordering::Release);
    }

    /// When a committed decision was made; `None` if there is no such decision. Reads the file.
    ///
    /// # Errors
    /// What stands in the way of reading it, as a sentence.
    pub fn made_at(&self, seq: Seq) -> Result<Option<Time>, String> {
        let made_at = JournalReader::open_own(&self.dir).and_then(|reader| reader.made_at(seq));
        made_at.map_err(|error| {
            self.shared.heard(&error);
            error.to_string()
        })
    }

    /// Has the journal's file remember something under a key. For starts only: it waits for the
    /// journal's own writes.
    ///
    /// # Errors
    /// What stands in the way of writing it, as a sentence.
    pub fn set_memo(&self, key: &str, value: &str) -> Result<(), String> {
        let writer = database::open_writer(&database::path_in(&self.dir));
        let writer = writer.map_err(|error| error.to_string())?;
        let known = database::memo(&writer, key).map_err(|error| error.to_string())?;
        if known.as_deref() == Some(value) {
            return Ok(());
        }
        database::set_memo(&writer, key, value).map_err(|error| error.to_string())
    }

    /// Why the engine has stopped by itself, if it has; known at the latest when
    /// [`Embedded::stopped`] is over.
    ///
    /// The process should end then, and not with success.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.failure.get().cloned()
    }

    /// What is wrong with the journal, if it turned out not to be what was written; that has stopped
    /// the engine. The next start is refused as long as it is so.
    #[must_use]
    pub fn damage(&self) -> Option<String> {
        self.shared.damage.get().cloned()
    }

    /// How much space the disk has left for the engine, and for who else writes beside it.
    #[must_use]
    pub fn space(&self) -> Arc<Space> {
        self.shared.space.clone()
    }

    /// Waits until the engine has stopped, by itself or because it was closed.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut progress = self.progress.clone();
        async move {
            // An error means that the one who tells us is gone, and the engine with it.
            progress.stopped().await;
        }
    }

    fn shut(&mut self) {
        let Some(threads) = self.threads.take() else { return };
        self.shared.closing.store(true, Ordering::Relaxed);
        self.shared.mailbox.close();
        // A thread that panicked has stopped the engine, and `failure` says why.
        drop(threads.executor.join());
        self.shared.outbox.close();
        drop(threads.journal.join());
        if let Some(beside) = threads.beside {
            drop(beside.checkpointer.join());
            drop(beside.snapshotter.join());
        }
        let committed = self.shared.committed();
        let behind = committed.0 - self.shared.snapshot.load(Ordering::Acquire);
        let state = self.shared.state();
        if self.failure().is_none()
            && behind >= SNAPSHOT_AT_CLOSE
            && snapshot::has_room(&self.dir, &self.shared.space).unwrap_or(false)
            && let Err(error) =
                snapshot::write(&self.dir, committed, state.at, &state.events, &|| {
                    snapshot::may_go_on(&self.shared.space)
                })
        {
            tracing::warn!(%error, "no snapshot could be made; the journal has everything");
        }
    }

    fn ask<T: Send + 'static>(&self, ask: impl FnOnce(Slot<T>) -> Ask) -> Pending<T> {
        let (slot, answer) = Slot::new();
        match self.shared.mailbox.put(ask(slot)) {
            // An asker who is dropped without an answer learns that the engine has stopped.
            Ok(()) => Box::pin(async { answer.await.unwrap_or(Err(Failure::Stopped)) }),
            Err(NotTaken::Full) => {
                Box::pin(ready(Err(Failure::Busy { retry_after_ms: RETRY_AFTER_MS })))
            }
            Err(NotTaken::Closed) => Box::pin(ready(Err(Failure::Stopped))),
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.shut();
    }
}

impl Engine for Embedded {
    fn execute(&self, event: EventId, command: Command) -> Pending<Reply> {
        #[cfg(feature = "testing")]
        if let Some(instead) = self.lost_answers.instead(Asked::Command(&command)) {
            return faults::lost(self.ask(|slot| Ask::Command(event, command, slot)), instead);
        }
        self.ask(|slot| Ask::Command(event, command, slot))
    }

    fn query(&self, event: EventId, query: Query) -> Pending<View> {
        #[cfg(feature = "testing")]
        if let Some(instead) = self.lost_answers.instead(Asked::Query(&query)) {
            return Box::pin(ready(Err(instead)));
        }
        let answer = self.clock.look().and_then(|now| self.shared.look(now, &event, &query));
        match answer {
            Some(answer) => Box::pin(ready(answer)),
            None => self.ask(|slot| Ask::Query(event, query, slot)),
        }
    }

    fn events(&self) -> Pending<Vec<EventId>> {
        self.ask(Ask::Events)
    }

    fn subscribe(&self, after: Seq) -> Box<dyn Feed> {
        let (shared, progress) = (self.shared.clone(), self.progress.clone());
        Box::new(TailFeed::new(after, shared, progress, self.dir.clone()))
    }

    fn committed(&self) -> Seq {
        self.shared.committed()
    }

    fn settled(&self, event: EventId) -> Pending<Seq> {
        let (shared, asked) = (self.shared.clone(), self.query(event, EventNow.into()));
        Box::pin(async move {
            let Answer { at, as_of, value: _ } = asked.await?;
            Ok(Answer { at, as_of, value: shared.committed() })
        })
    }

    fn waiting(&self) -> Duration {
        self.shared.mailbox.waiting()
    }

    fn figures(&self) -> Figures {
        let (decide, commit) = (self.shared.decide.counted(), self.shared.commit.counted());
        Figures { decide, commit, unarchived: 0, copies: None }
    }
}
