//! One at a time for each booking: two tasks that drive the same saga would only get in each other's way.

use onrush_core::ids::BookingId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedMutexGuard;

type Lock = Arc<tokio::sync::Mutex<()>>;

/// Locks by booking. The ledger's versions are what keeps sagas right; this only saves work.
#[derive(Default)]
pub(super) struct Locks(Mutex<HashMap<BookingId, Lock>>);

/// A booking that nobody else drives.
pub(super) struct Held<'a> {
    locks: &'a Locks,
    booking: BookingId,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Locks {
    pub(super) async fn hold(&self, booking: &BookingId) -> Held<'_> {
        let lock = self.map().entry(booking.clone()).or_default().clone();
        let guard = Some(lock.lock_owned().await);
        Held { locks: self, booking: booking.clone(), guard }
    }

    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<BookingId, Lock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut map = self.locks.map();
        drop(self.guard.take());
        // Whoever waits for it has a share in it.
        if map.get(&self.booking).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            map.remove(&self.booking);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn a_lock_is_held_by_one_and_forgotten_by_the_last() {
        let locks = Locks::default();
        let booking: BookingId = "b.1".parse().unwrap();
        let first = locks.hold(&booking).await;
        let second = locks.hold(&booking);
        tokio::pin!(second);
        assert!((&mut second).now_or_never().is_none());
        drop(first);
        drop(second.await);
        assert!(locks.map().is_empty());
    }
}
