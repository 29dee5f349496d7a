//! An engine that is open and does not run yet: recovered, with its files, and no threads.

use super::clock::Clock;
use super::database;
use super::disk::Watch;
use super::dispatch::Dispatch;
use super::error::OpenError;
use super::executor::Executor;
use super::journal::Journal;
use super::mailbox::Mailbox;
use super::outbox::{Batch, Outbox};
use super::recovery::{self, Recovered};
use super::shared::{NO_LEDGER, Shared};
use super::snapshot;
use super::state::State;
use super::tail::Tail;
use super::vocabulary;
use super::witness::{self, Testimony, Witness};
use super::{Embedded, Options, sync};
use crate::durations::Durations;
use onrush_sqlite::{Lock, Mark};
use rusqlite::Connection;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use tokio::runtime::Handle;

/// A shorter time away is not worth moving anybody's deadline.
const SHORTEST_GAP_MS: i64 = 1_000;

/// The parts of an engine. Whoever has them has threads run them, or runs them step by step.
pub(super) struct Still {
    pub(super) engine: Embedded,
    pub(super) executor: Executor,
    pub(super) journal: Journal,
}

/// What the files have.
struct Files {
    lock: Lock,
    connection: Connection,
    identity: String,
    witness: Witness,
    /// How far a ledger had followed.
    ledger: Option<u64>,
    mark: Mark,
    recovered: Recovered,
}

impl Still {
    /// Recovers the state from `dir`, and makes up for the time that the engine was away.
    ///
    /// # Errors
    /// As for [`Embedded::open`].
    pub(super) fn open(
        dir: &Path,
        options: Options,
        watch: impl FnOnce(&Path) -> io::Result<Watch>,
        without_threads: bool,
    ) -> Result<Self, OpenError> {
        let runtime = match &options.runtime {
            Some(runtime) => runtime.clone(),
            None => Handle::try_current().map_err(|_| OpenError::NoRuntime)?,
        };
        let Files { lock, connection, identity, witness, ledger, mark, recovered } =
            Files::open(dir, &options.clock, options.accept_restored)?;
        let disk = watch(dir).map_err(OpenError::io(dir))?;
        options.clock.go_on_from(recovered.alive);
        let gap_ms = options.clock.now().since_ms(recovered.alive);
        let (events, at) = (recovered.events, recovered.alive);
        let shared = Arc::new(Shared {
            state: sync::RwLock::new(State { events, at, decided: recovered.last }),
            mailbox: Arc::new(Mailbox::new(options.mailbox_capacity, options.longest_wait)),
            outbox: Outbox::default(),
            tail: Tail::new(recovered.last, options.tail_capacity),
            committed: sync::AtomicU64::new(recovered.last.0),
            delivered: sync::AtomicU64::new(recovered.last.0),
            snapshot: AtomicU64::new(recovered.snapshot.0),
            space: disk.space.clone(),
            without_threads,
            closing: AtomicBool::new(false),
            failure: OnceLock::new(),
            damage: OnceLock::new(),
            mark,
            ledger: AtomicU64::new(ledger.unwrap_or(NO_LEDGER)),
            decide: Durations::default(),
            commit: Durations::default(),
        });
        options.clock.wakes(&shared.mailbox);
        let (dispatch, progress) =
            Dispatch::start(&runtime, shared.mailbox.clone(), recovered.last);

        let mut executor = Executor {
            clock: options.clock.clone(),
            shared: shared.clone(),
            dispatch: dispatch.clone(),
            batch: Batch::default(),
        };
        if gap_ms >= SHORTEST_GAP_MS {
            executor.start_after(gap_ms);
        }
        let journal = Journal {
            connection,
            shared: shared.clone(),
            dispatch,
            snapshotter: None,
            checkpointer: None,
            witness,
            last_at: recovered.last_at,
            clock: options.clock.clone(),
            #[cfg(feature = "testing")]
            faults: options.faults,
        };
        let engine = Embedded {
            dir: dir.to_owned(),
            identity,
            clock: options.clock,
            shared,
            progress,
            threads: None,
            #[cfg(feature = "testing")]
            lost_answers: options.lost_answers,
            _disk: disk,
            _lock: lock,
        };
        Ok(Self { engine, executor, journal })
    }
}

impl Files {
    fn open(dir: &Path, clock: &Clock, accept: bool) -> Result<Self, OpenError> {
        let path = database::path_in(dir);
        // A file that is not ours is left alone, also by the lock below.
        database::exists(&path)?;
        onrush_sqlite::make_dir(dir).map_err(OpenError::io(dir))?;
        let lock = Lock::take(&database::lock_in(dir))?;
        // It may have filled the disk, and the start needs some of that.
        snapshot::remove_draft(dir).map_err(OpenError::io(dir))?;
        if !database::exists(&path)? {
            let why = "it is missing, and witness.json has seen one".to_owned();
            if !accept && witness::path_in(dir).exists() {
                return Err(OpenError::Restored { path, why });
            }
            database::create(&path, clock.now())?;
        }
        let recovered = recovery::recover(dir, accept)?;
        let mark = Mark::beside(&path);
        mark.take_away().map_err(OpenError::io(&path))?;
        onrush_sqlite::close_files(&path).map_err(OpenError::io(&path))?;
        // Before a witness tells of it, or anybody is answered from it.
        let connection = database::open_writer_synced(&path)?;
        let identity = database::identify(&connection).map_err(OpenError::sqlite(&path))?;
        vocabulary::note(&connection).map_err(OpenError::sqlite(&path))?;
        let ledger = match witness::read(dir) {
            Ok(Some(says)) if says.journal == identity && !accept => says.ledger,
            // It was missing or of another journal, or the ledger is an older one: that is accepted, and
            // the power may go before anybody has told which ledger there is now.
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
        Ok(Self { lock, connection, identity, witness, ledger, mark, recovered })
    }
}
