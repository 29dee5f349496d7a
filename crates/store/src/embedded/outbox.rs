//! What the engine thread has decided and the journal thread has not taken up yet.

use super::mailbox::Ask;
use super::sync::{Condvar, Mutex, MutexGuard};
use crate::engine::Seq;
use onrush_core::Time;
use onrush_core::event::Changes;
use onrush_core::ids::EventId;
use std::sync::PoisonError;
use std::time::Duration;

/// Decisions and answers that may wait for one commit: the engine thread waits when there are as many.
const MAX_WAITING: usize = 65_536;

/// A decision that is not durable yet.
pub(super) struct Decided {
    pub(super) seq: Seq,
    pub(super) at: Time,
    pub(super) event: EventId,
    pub(super) changes: Changes,
}

/// Decisions, in order, and those who get their answers once they are durable.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) decided: Vec<Decided>,
    pub(super) answered: Vec<Vec<Ask>>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.decided.is_empty() && self.answered.is_empty()
    }

    fn is_full(&self) -> bool {
        let answers: usize = self.answered.iter().map(Vec::len).sum();
        self.decided.len().max(answers) >= MAX_WAITING
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

    /// Adds all of `batch` and leaves it empty. If it was closed, everything is dropped, and the
    /// answer is false.
    pub(super) fn put(&self, batch: &mut Batch) -> bool {
        let mut state = self.lock();
        while state.batch.is_full() && !state.closed {
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
            state.batch.decided.append(&mut batch.decided);
            state.batch.answered.append(&mut batch.answered);
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
        assert!(batch.is_empty(), "what was taken was dealt with");
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
