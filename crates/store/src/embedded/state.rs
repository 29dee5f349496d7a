//! What all decisions add up to, and looks at it.

use super::events::Events;
use super::mailbox::Result;
use crate::engine::{Answer, Seq};
use onrush_core::ids::EventId;
use onrush_core::{Query, Refusal, Time, View};

/// What all decisions add up to. The engine thread changes it in its turns.
pub(super) struct State {
    pub(super) events: Events,
    /// The time of the last turn; it never goes back.
    pub(super) at: Time,
    /// The last decision made, committed or not.
    pub(super) decided: Seq,
}

impl State {
    pub(super) fn answer<T>(&self, value: T) -> Result<T> {
        Ok(Answer { at: self.at, as_of: None, value })
    }

    pub(super) fn query(&self, at: Time, event: &EventId, query: &Query) -> Result<View> {
        let index = self.events.find(event).ok_or(Refusal::EventNotFound)?;
        let value = self.events.get(index).query(at, query)?;
        Ok(Answer { at, as_of: None, value })
    }

    /// Whether a look finds nothing at `at` that somebody still waits for: all that was decided is
    /// durable, its answers are on their way, and nothing is due.
    pub(super) fn is_settled(&self, at: Time, delivered: Seq) -> bool {
        let due = self.events.next_deadline().is_some_and(|(deadline, _)| deadline <= at);
        self.decided == delivered && !due
    }
}
