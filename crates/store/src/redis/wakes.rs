//! Which events are to be looked at soon, or by the next sweeps.

use onrush_core::ids::EventId;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Whom to look at soon; the ticker takes it from here.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    events: Mutex<HashSet<EventId>>,
    doubted: Mutex<HashSet<EventId>>,
    pub(super) notify: Notify,
}

impl Wakes {
    /// Something changed in this event: it is looked at soon. Several changes are dealt with together.
    pub(super) fn wake(&self, event: &EventId) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if !events.contains(event) {
            events.insert(event.clone());
            drop(events);
            self.notify.notify_one();
        }
    }

    pub(super) fn take(&self) -> HashSet<EventId> {
        std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Something was asked for in this event and not answered, and may be decided: the next sweeps look
    /// at it. Not sooner: whoever does not answer is asked again after a pause.
    pub(super) fn doubt(&self, event: &EventId) {
        let mut doubted = self.doubted.lock().unwrap_or_else(PoisonError::into_inner);
        if !doubted.contains(event) {
            doubted.insert(event.clone());
        }
    }

    pub(super) fn take_doubted(&self) -> HashSet<EventId> {
        std::mem::take(&mut *self.doubted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
