//! The last decisions, kept in memory.

use super::sync::{Mutex, MutexGuard};
use crate::engine::{FeedEntry, FeedPage, Seq};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

/// Entries in one page at most.
pub(super) const PAGE: usize = 1_024;

/// The last decisions, kept in memory.
pub(super) struct Tail {
    state: Mutex<TailState>,
    capacity: usize,
}

struct TailState {
    entries: VecDeque<Arc<FeedEntry>>,
    /// The last decision that was ever put here.
    last: Seq,
}

/// What there is after a cursor.
pub(super) enum Found {
    Page(FeedPage),
    /// There is nothing newer yet.
    Nothing,
    /// Only the journal has it.
    Gone,
}

impl Tail {
    pub(super) fn new(last: Seq, capacity: usize) -> Self {
        Self { state: Mutex::new(TailState { entries: VecDeque::new(), last }), capacity }
    }

    fn lock(&self) -> MutexGuard<'_, TailState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds committed entries and leaves in `entries` those that are too old now.
    pub(super) fn put(&self, entries: &mut Vec<Arc<FeedEntry>>) {
        let mut state = self.lock();
        if let Some(last) = entries.last() {
            state.last = last.seq;
        }
        state.entries.extend(entries.drain(..));
        let excess = state.entries.len().saturating_sub(self.capacity);
        entries.extend(state.entries.drain(..excess));
    }

    pub(super) fn after(&self, cursor: Seq) -> Found {
        let state = self.lock();
        if cursor >= state.last {
            return Found::Nothing;
        }
        let first = state.last.0 + 1 - state.entries.len() as u64;
        match (cursor.0 + 1).checked_sub(first).map(usize::try_from) {
            Some(Ok(skip)) => {
                Found::Page(state.entries.iter().skip(skip).take(PAGE).cloned().collect())
            }
            Some(Err(_)) | None => Found::Gone,
        }
    }
}
