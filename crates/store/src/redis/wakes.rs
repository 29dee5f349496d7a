//! Which events are to be looked at soon.

use onrush_core::ids::EventId;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Whom to look at soon; the ticker takes it from here.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    events: Mutex<HashSet<EventId>>,
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
}
