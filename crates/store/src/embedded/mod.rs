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

mod audit;
mod auditor;
mod checkpointer;
mod clock;
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
mod journal;
mod lock;
mod log;
mod mailbox;
mod outbox;
mod reader;
mod recovery;
mod shared;
mod snapshot;
mod snapshotter;
mod steady;
mod tail;
mod witness;

pub use audit::{AuditReport, FeedAudit, audit};
#[cfg(feature = "testing")]
pub use clock::ManualClock;
pub use clock::{Clock, ClockReport, Correction};
pub use disk::{Need, Space};
pub use error::{Damage, OpenError, WAY_OUT};
#[cfg(feature = "testing")]
pub use faults::{Fate, Faults, KillPoint};
pub use reader::{JournalReader, ReadError};
pub use recovery::look_before_start;
pub use snapshot::SnapshotFile;
#[cfg(feature = "testing")]
pub use steady::ManualClocks;
pub use steady::SteadyClock;

use crate::engine::{Engine, Failure, Feed, Pending, Seq};
use checkpointer::Checkpointer;
use disk::Watch;
use dispatch::{Dispatch, Progress};
use events::{Events, guarded};
use executor::Executor;
use feed::TailFeed;
use journal::Journal;
use mailbox::{Ask, Mailbox, NotTaken, Slot};
use onrush_core::ids::EventId;
use onrush_core::{Command, Query, Reply, Time, View};
use outbox::{Batch, Outbox};
use shared::{NO_LEDGER, Shared};
use snapshotter::Snapshotter;
use std::future::{Future, ready};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use steady::Pulse;
use tail::Tail;
use tokio::runtime::Handle;
use tokio::sync::watch;
use witness::{Testimony, Witness};

/// What a caller is told to wait if the mailbox is full.
const RETRY_AFTER_MS: u32 = 250;
/// A shorter time away is not worth moving anybody's deadline.
const SHORTEST_GAP_MS: i64 = 1_000;
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
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mailbox_capacity: 16_384,
            longest_wait: Duration::MAX,
            tail_capacity: 65_536,
            snapshot_every: 1_000_000,
            low_disk_bytes: 256 << 20,
            clock: Clock::default(),
            accept_restored: false,
            runtime: None,
            #[cfg(feature = "testing")]
            faults: Faults::default(),
        }
    }
}

/// The embedded engine. Dropping it closes it, as [`Embedded::close`] does.
pub struct Embedded {
    dir: PathBuf,
    identity: String,
    shared: Arc<Shared>,
    progress: watch::Receiver<Progress>,
    threads: Option<Threads>,
    /// Watched as long as the engine lives.
    _disk: Watch,
    /// Held as long as the engine lives.
    _lock: lock::Lock,
}

struct Threads {
    executor: JoinHandle<Option<(Events, Time)>>,
    journal: JoinHandle<Option<()>>,
    checkpointer: JoinHandle<()>,
    snapshotter: JoinHandle<()>,
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
        let runtime = match options.runtime {
            Some(runtime) => runtime,
            None => Handle::try_current().map_err(|_| OpenError::NoRuntime)?,
        };
        let path = database::path_in(dir);
        // A file that is not ours is left alone, also by the lock below.
        database::exists(&path)?;
        database::make_dir(dir).map_err(OpenError::io(dir))?;
        let lock = lock::take(dir)?;
        let accept = options.accept_restored;
        if !database::exists(&path)? {
            let why = "it is missing, and witness.json has seen one".to_owned();
            if !accept && witness::path_in(dir).exists() {
                return Err(OpenError::Restored { path, why });
            }
            database::create(&path, options.clock.now())?;
        }
        let recovered = recovery::recover(dir, accept)?;
        database::close_files(&path).map_err(OpenError::io(&path))?;
        let connection = database::open_writer(&path)?;
        let identity = database::identify(&connection).map_err(OpenError::sqlite(&path))?;
        let ledger = match witness::read(dir) {
            Ok(Some(says)) if says.journal == identity => says.ledger,
            // It was missing or of another journal, and that is accepted.
            Ok(_) | Err(_) => None,
        };
        let says = Testimony {
            journal: identity.clone(),
            seq: recovered.last,
            at: recovered.last_at,
            ledger,
        };
        let witness = Witness::open(dir, says).map_err(OpenError::io(dir))?;
        let witnessed = database::memo(&connection, recovery::WITNESSED);
        if witnessed.map_err(OpenError::sqlite(&path))?.is_none() {
            database::set_memo(&connection, recovery::WITNESSED, "1")
                .map_err(OpenError::sqlite(&path))?;
            // In the file itself, so that a copy without its log remembers it as well.
            connection
                .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
                .map_err(OpenError::sqlite(&path))?;
        }

        let disk = Watch::start(dir.to_owned(), options.low_disk_bytes);
        let disk = disk.map_err(OpenError::io(dir))?;
        let shared = Arc::new(Shared {
            mailbox: Arc::new(Mailbox::new(options.mailbox_capacity, options.longest_wait)),
            outbox: Outbox::default(),
            tail: Tail::new(recovered.last, options.tail_capacity),
            committed: AtomicU64::new(recovered.last.0),
            snapshot: AtomicU64::new(recovered.snapshot.0),
            space: disk.space.clone(),
            closing: AtomicBool::new(false),
            failure: OnceLock::new(),
            ledger: AtomicU64::new(ledger.unwrap_or(NO_LEDGER)),
        });
        #[cfg(feature = "testing")]
        options.clock.wakes(&shared.mailbox);
        let (dispatch, progress) =
            Dispatch::start(&runtime, shared.mailbox.clone(), recovered.last);
        let (snapshotter, snapshotter_thread) = Snapshotter::start(
            dir.to_owned(),
            shared.clone(),
            options.snapshot_every,
            recovered.snapshot,
        )
        .map_err(OpenError::io(dir))?;

        let (checkpointer, checkpointer_thread) = Checkpointer::start(&path)?;

        options.clock.go_on_from(recovered.alive);
        let gap_ms = options.clock.now().since_ms(recovered.alive);
        let mut executor = Executor {
            events: recovered.events,
            at: recovered.alive,
            decided: recovered.last,
            clock: options.clock.clone(),
            shared: shared.clone(),
            dispatch: dispatch.clone(),
            batch: Batch::default(),
        };
        if gap_ms >= SHORTEST_GAP_MS {
            executor.make_up_for(gap_ms);
        }
        let journal = Journal {
            connection,
            shared: shared.clone(),
            dispatch,
            snapshotter,
            checkpointer,
            witness,
            last_at: recovered.last_at,
            clock: options.clock,
            #[cfg(feature = "testing")]
            faults: options.faults,
        };
        let pulse = Pulse::start(&executor.clock).map_err(OpenError::io(dir))?;
        let threads = Threads {
            _pulse: pulse,
            executor: spawn("onrush-engine", &shared, move || executor.run())
                .map_err(OpenError::io(dir))?,
            journal: spawn("onrush-journal", &shared, move || journal.run())
                .map_err(OpenError::io(dir))?,
            checkpointer: checkpointer_thread,
            snapshotter: snapshotter_thread,
        };
        let dir = dir.to_owned();
        Ok(Self {
            dir,
            identity,
            shared,
            progress,
            threads: Some(threads),
            _disk: disk,
            _lock: lock,
        })
    }
}

/// Starts a thread whose panic stops the engine: a broken rule or invariant must not go on selling.
fn spawn<T: Send + 'static>(
    name: &str,
    shared: &Arc<Shared>,
    run: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<Option<T>>> {
    let shared = shared.clone();
    thread::Builder::new().name(name.into()).spawn(move || {
        guarded(run).map_err(|why| shared.fail(format!("an invariant is broken: {why}"))).ok()
    })
}

impl Embedded {
    /// Lets nothing more in, commits and answers everything that was, and ends the threads.
    pub fn close(mut self) {
        self.shut();
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
        let reader = JournalReader::open(&self.dir).map_err(|error| error.to_string())?;
        reader.made_at(seq).map_err(|error| error.to_string())
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
            drop(progress.wait_for(|progress| progress.stopped).await);
        }
    }

    fn shut(&mut self) {
        let Some(threads) = self.threads.take() else { return };
        self.shared.closing.store(true, Ordering::Relaxed);
        self.shared.mailbox.close();
        // A thread that panicked has stopped the engine, and `failure` says why.
        let state = threads.executor.join().ok().flatten();
        self.shared.outbox.close();
        drop(threads.journal.join());
        drop(threads.checkpointer.join());
        drop(threads.snapshotter.join());
        let committed = self.shared.committed();
        let behind = committed.0 - self.shared.snapshot.load(Ordering::Acquire);
        if let Some((events, at)) = state
            && self.failure().is_none()
            && behind >= SNAPSHOT_AT_CLOSE
            && let Err(error) = snapshot::write(&self.dir, committed, at, &events)
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
        self.ask(|slot| Ask::Command(event, command, slot))
    }

    fn query(&self, event: EventId, query: Query) -> Pending<View> {
        self.ask(|slot| Ask::Query(event, query, slot))
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

    fn waiting(&self) -> Duration {
        self.shared.mailbox.waiting()
    }
}
