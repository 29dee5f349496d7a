//! What is kept by event, as long as somebody asks for it or there is something to keep.

use onrush_core::ids::EventId;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is kept of one event.
pub(super) trait Kept: Default {
    /// Whether there is nothing to keep. It is asked once nobody uses it any more.
    fn is_empty(&self) -> bool;
}

/// What is kept of all events.
pub(super) struct Slots<S> {
    slots: Mutex<HashMap<EventId, Arc<S>>>,
}

impl<S> Default for Slots<S> {
    fn default() -> Self {
        Self { slots: Mutex::default() }
    }
}

impl<S: Kept> Slots<S> {
    /// What is kept of an event, which is empty at first.
    pub(super) fn of<'a>(&'a self, event: &'a EventId) -> InUse<'a, S> {
        let slot = self.lock().entry(event.clone()).or_default().clone();
        InUse { slots: self, event, slot: Some(slot) }
    }

    /// Forgets an event.
    pub(super) fn forget(&self, event: &EventId) {
        self.lock().remove(event);
    }

    /// How many events something is kept of.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<EventId, Arc<S>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A slot as long as somebody asks. One that is empty goes with the last who asked, also if they
/// hung up: made-up event ids must not fill the memory.
pub(super) struct InUse<'a, S: Kept> {
    slots: &'a Slots<S>,
    event: &'a EventId,
    /// There until it is dropped.
    slot: Option<Arc<S>>,
}

impl<S: Kept> Deref for InUse<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.slot.as_ref().expect("it is there until it is dropped")
    }
}

impl<S: Kept> Drop for InUse<'_, S> {
    fn drop(&mut self) {
        // Whoever else asks has a clone: each is taken and given back under this lock.
        let mut slots = self.slots.lock();
        drop(self.slot.take());
        let is_unused = |slot: &Arc<S>| Arc::strong_count(slot) == 1 && slot.is_empty();
        if slots.get(self.event).is_some_and(is_unused) {
            slots.remove(self.event);
        }
    }
}
