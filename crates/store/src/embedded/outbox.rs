//! What the engine thread has decided and the journal thread has not taken up yet.

use super::dispatch::Outcome;
use crate::engine::FeedEntry;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Decisions in one transaction at most: the engine thread waits when as many are ready.
const MAX_DECISIONS: usize = 65_536;

/// Decisions, in order, and the answers that may go out once they are durable.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) entries: Vec<Arc<FeedEntry>>,
    pub(super) answers: Vec<Outcome>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.answers.is_empty()
    }
}

#[derive(Default)]
struct State {
    batch: Batch,
    closed: bool,
    /// The journal thread waits for something.
    hungry: bool,
    /// The engine thread waits for room.
    stuck: bool,
}

/// What the journal thread found.
#[derive(PartialEq, Eq)]
pub(super) enum Found {
    /// Something to commit or to answer.
    Batch,
    /// Nothing for as long as it was willing to wait.
    Nothing,
    /// Nothing, and nothing more will come.
    Closed,
}

/// The hand-over between the two threads. It grows while a commit runs and so sets the size of the next one.
#[derive(Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds all of `batch` and leaves it empty. If it was closed, everything is dropped, and the answer is false.
    pub(super) fn put(&self, batch: &mut Batch) -> bool {
        let mut state = self.lock();
        while state.batch.entries.len() >= MAX_DECISIONS && !state.closed {
            state.stuck = true;
            state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            drop(state);
            drop(std::mem::take(batch));
            return false;
        }
        if state.batch.is_empty() {
            std::mem::swap(&mut state.batch, batch);
        } else {
            state.batch.entries.append(&mut batch.entries);
            state.batch.answers.append(&mut batch.answers);
        }
        let hungry = std::mem::take(&mut state.hungry);
        drop(state);
        if hungry {
            self.filled.notify_one();
        }
        true
    }

    /// Swaps everything there is into `batch`, which is empty.
    pub(super) fn take(&self, batch: &mut Batch, patience: Option<Duration>) -> Found {
        debug_assert!(batch.is_empty());
        let mut state = self.lock();
        if state.batch.is_empty() && !state.closed {
            state.hungry = true;
            let nothing = |state: &mut State| state.batch.is_empty() && !state.closed;
            state = match patience {
                Some(patience) => self
                    .filled
                    .wait_timeout_while(state, patience, nothing)
                    .map(|(state, _)| state)
                    .unwrap_or_else(|poisoned| poisoned.into_inner().0),
                None => {
                    self.filled.wait_while(state, nothing).unwrap_or_else(PoisonError::into_inner)
                }
            };
            state.hungry = false;
        }
        std::mem::swap(&mut state.batch, batch);
        let stuck = std::mem::take(&mut state.stuck);
        let closed = state.closed;
        drop(state);
        if stuck {
            self.emptied.notify_one();
        }
        match (batch.is_empty(), closed) {
            (false, _) => Found::Batch,
            (true, false) => Found::Nothing,
            (true, true) => Found::Closed,
        }
    }

    /// Lets nothing more in; what is in it can still be taken.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
        self.emptied.notify_one();
    }

    /// Lets nothing more in and drops what is in it: its askers learn that the engine has stopped.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        let batch = std::mem::take(&mut state.batch);
        drop(state);
        self.filled.notify_one();
        self.emptied.notify_one();
        drop(batch);
    }
}
