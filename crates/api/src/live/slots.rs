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

/// What is kept of all events; its clones are the same.
pub(super) struct Slots<S> {
    slots: Arc<Mutex<HashMap<EventId, Arc<S>>>>,
}

impl<S> Default for Slots<S> {
    fn default() -> Self {
        Self { slots: Arc::default() }
    }
}

impl<S> Clone for Slots<S> {
    fn clone(&self) -> Self {
        Self { slots: self.slots.clone() }
    }
}

impl<S: Kept> Slots<S> {
    /// What is kept of an event, which is empty at first.
    pub(super) fn of(&self, event: &EventId) -> InUse<S> {
        let slot = self.lock().entry(event.clone()).or_default().clone();
        InUse { slots: self.clone(), event: event.clone(), slot: Some(slot) }
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
pub(super) struct InUse<S: Kept> {
    slots: Slots<S>,
    event: EventId,
    /// There until it is dropped.
    slot: Option<Arc<S>>,
}

impl<S: Kept> Clone for InUse<S> {
    fn clone(&self) -> Self {
        let Self { slots, event, slot } = self;
        Self { slots: slots.clone(), event: event.clone(), slot: slot.clone() }
    }
}

impl<S: Kept> Deref for InUse<S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.slot.as_ref().expect("it is there until it is dropped")
    }
}

impl<S: Kept> Drop for InUse<S> {
    fn drop(&mut self) {
        // Whoever else asks has a clone, which is taken while there is another, or under this lock,
        // and given back under it.
        let mut slots = self.slots.lock();
        drop(self.slot.take());
        let is_unused = |slot: &Arc<S>| Arc::strong_count(slot) == 1 && slot.is_empty();
        if slots.get(&self.event).is_some_and(is_unused) {
            slots.remove(&self.event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::latest::Latest;
    use std::time::Duration;
    use tokio::time::{sleep, timeout};

    #[derive(Default)]
    struct Slot {
        number: Latest<u32, ()>,
    }

    impl Kept for Slot {
        fn is_empty(&self) -> bool {
            self.number.is_empty()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_stays_while_something_is_read_for_whoever_has_hung_up() {
        let slots = Slots::<Slot>::default();
        for (event, found) in [("made-up", Err(())), ("real", Ok(Arc::new(7)))] {
            let event: EventId = event.parse().unwrap();
            let asked = async {
                let slot = slots.of(&event);
                let read = async move {
                    sleep(Duration::from_millis(4)).await;
                    found
                };
                slot.number.get(slot.clone(), |_, _| false, |_| read).await
            };
            assert!(timeout(Duration::from_millis(1), asked).await.is_err());
            assert_eq!(slots.len(), 1, "{event} is asked about");
            sleep(Duration::from_millis(4)).await;
            let is_kept = slots.of(&event).number.last().is_some();
            assert_eq!((is_kept, slots.len()), (event.as_str() == "real", usize::from(is_kept)));
        }
    }
}
