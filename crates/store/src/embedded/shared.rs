//! What the engine's threads share.

use super::disk::Space;
use super::mailbox::Mailbox;
use super::outbox::Outbox;
use super::sync;
use super::tail::Tail;
use crate::durations::Durations;
use crate::engine::Seq;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What the threads share.
pub(super) struct Shared {
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
    /// How far the ledger has followed, [`NO_LEDGER`] as long as none did.
    pub(super) ledger: AtomicU64,
    /// How long turns of decisions and commits take.
    pub(super) decide: Durations,
    pub(super) commit: Durations,
}

/// No ledger has ever followed the journal; decisions are never so many.
pub(super) const NO_LEDGER: u64 = u64::MAX;

impl Shared {
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
}
