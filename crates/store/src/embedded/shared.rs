//! What the engine's threads share.

use super::disk::Space;
use super::events::guarded;
use super::mailbox::{Mailbox, Result};
use super::outbox::Outbox;
use super::reader::ReadError;
use super::state::State;
use super::sync::{self, RwLock, RwLockWriteGuard};
use super::tail::Tail;
use crate::durations::Durations;
use crate::engine::Seq;
use onrush_core::ids::EventId;
use onrush_core::{Query, Time, View};
use onrush_sqlite::Mark;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};

/// What the threads share.
pub(super) struct Shared {
    pub(super) state: RwLock<State>,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) outbox: Outbox,
    pub(super) tail: Tail,
    pub(super) committed: sync::AtomicU64,
    /// The last decision whose answers, and everybody's before it, are with the dispatcher.
    pub(super) delivered: sync::AtomicU64,
    /// The last decision in the newest snapshot.
    pub(super) snapshot: AtomicU64,
    /// What the disk has left.
    pub(super) space: Arc<Space>,
    /// No thread is ever started: whoever needs a file reads it where they are.
    pub(super) without_threads: bool,
    pub(super) closing: AtomicBool,
    pub(super) failure: OnceLock<String>,
    /// What is wrong with the journal, once it turned out not to be what was written.
    pub(super) damage: OnceLock<String>,
    /// Where the next start finds that.
    pub(super) mark: Mark,
    /// How far the ledger has followed, [`NO_LEDGER`] as long as none did.
    pub(super) ledger: AtomicU64,
    /// How long turns of decisions and commits take.
    pub(super) decide: Durations,
    pub(super) commit: Durations,
}

/// No ledger has ever followed the journal; decisions are never so many.
pub(super) const NO_LEDGER: u64 = u64::MAX;

impl Shared {
    /// The state, for the one who changes it. A thread that panics in its turn stops the engine.
    pub(super) fn state(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a question where it is asked, at `now`, if the engine thread would say the same at once:
    /// nobody waits for anything, nothing is due, and all that was decided is durable.
    pub(super) fn look(&self, now: Time, event: &EventId, query: &Query) -> Option<Result<View>> {
        // What is asked in turn is done in turn, and nobody is answered by an engine that has stopped.
        if !self.mailbox.is_idle() {
            return None;
        }
        let state = self.state.try_read().ok()?;
        let at = state.at.max(now);
        if !state.is_settled(at, self.delivered()) {
            return None;
        }
        let answer = guarded(|| state.query(at, event, query));
        drop(state);
        answer.map_err(|why| self.fail(format!("an invariant is broken: {why}"))).ok()
    }

    pub(super) fn committed(&self) -> Seq {
        Seq(self.committed.load(Ordering::Acquire))
    }

    /// The last decision whose answers are on their way; never more than what is committed.
    pub(super) fn delivered(&self) -> Seq {
        Seq(self.delivered.load(Ordering::Acquire))
    }

    pub(super) fn set_delivered(&self, seq: Seq) {
        self.delivered.store(seq.0, Ordering::Release);
    }

    pub(super) fn ledger(&self) -> Option<u64> {
        Some(self.ledger.load(Ordering::Acquire)).filter(|seq| *seq != NO_LEDGER)
    }

    pub(super) fn set_committed(&self, seq: Seq) {
        self.committed.store(seq.0, Ordering::Release);
    }

    /// Stops everything. Who still waits for an answer learns only that the engine has stopped.
    pub(super) fn fail(&self, why: String) {
        // Only the first failure matters: it brings the others about.
        drop(self.failure.set(why.clone()));
        self.mailbox.abandon();
        self.outbox.abandon();
        // Last: what cannot be logged, on a full disk perhaps, must stop the engine none the less.
        tracing::error!(why, "the engine stops");
    }

    /// The same because the journal is not what was written: what was committed and is not there any
    /// more cannot be sold from. The next start looks all of it through.
    pub(super) fn is_lost(&self, why: &str) {
        let why = format!("the journal is damaged: {why}");
        // Before anybody hears that the engine stops, and ends the process.
        let noted = self.mark.set(&why);
        drop(self.damage.set(why.clone()));
        self.fail(why);
        if let Err(error) = noted {
            tracing::warn!(%error, "it could not be noted that the journal is damaged");
        }
    }

    /// The same if a read says so.
    pub(super) fn heard(&self, error: &ReadError) {
        if error.damaged {
            self.is_lost(&error.to_string());
        }
    }
}
