//! One event: its state, what a command would change, and how changes add up.

use crate::change::Change;
use crate::command::Command;
use crate::ids::EventId;
use crate::refusal::Refusal;
use crate::snapshot::SnapshotRow;
use crate::time::Time;
use crate::view::{Query, Reply, View};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Where a sale stands: `scheduled → prequeue → open ⇄ paused → closed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing is possible yet.
    Scheduled,
    /// People may join.
    Prequeue,
    /// People are admitted and may hold.
    Open,
    /// No admission and no new holds for now.
    Paused,
    /// It is over.
    Closed,
}

/// What a command would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer to the caller, valid once the changes are applied and durable.
    pub reply: Reply,
    /// What changes; empty if nothing does.
    pub changes: SmallVec<[Change; 2]>,
}

/// One event's state.
#[derive(Debug)]
pub struct Event {
    id: EventId,
}

impl Event {
    /// An event that does not exist yet: it accepts only `CreateEvent`.
    #[must_use]
    pub fn new(id: EventId) -> Self {
        Self { id }
    }

    /// The event's id.
    #[must_use]
    pub fn id(&self) -> &EventId {
        &self.id
    }

    /// What `command` would change at `at`. Reads only.
    ///
    /// # Errors
    /// The refusal that comes first in the order of precedence.
    pub fn decide(&self, _at: Time, _command: &Command) -> Result<Decision, Refusal> {
        Err(Refusal::EventNotFound)
    }

    /// Applies one change that happened at `at`.
    pub fn evolve(&mut self, _at: Time, _change: &Change) {}

    /// When the next tick is due; [`Time::MIN`] if it is due whatever the clock says.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        None
    }

    /// Answers a question about the state at `at`.
    ///
    /// # Errors
    /// `EVENT_NOT_FOUND`, `PLACE_NOT_FOUND`, `RESERVATION_NOT_FOUND`, `CLAIM_NOT_FOUND`.
    pub fn query(&self, _at: Time, _query: &Query) -> Result<View, Refusal> {
        Err(Refusal::EventNotFound)
    }

    /// Checks every invariant by adding everything up again.
    ///
    /// # Errors
    /// What is broken, one sentence each.
    pub fn check(&self) -> Result<(), Vec<String>> {
        Ok(())
    }

    /// The state as rows, in one fixed order.
    pub fn snapshot(&self) -> impl Iterator<Item = SnapshotRow> + '_ {
        std::iter::empty()
    }

    /// The state that these rows describe.
    ///
    /// # Errors
    /// What the rows lack, or where they contradict each other.
    pub fn restore(
        _id: EventId,
        _rows: impl IntoIterator<Item = SnapshotRow>,
    ) -> Result<Self, String> {
        Err(String::new())
    }
}
