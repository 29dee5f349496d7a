//! Ends that come while the bank is asked: what lies between the write before a call and the write
//! after it is short, and chance alone seldom meets it.

use crate::chance::Chance;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;

/// How long after the call the end comes at most, in milliseconds: before the bank has done anything,
/// or after it has.
const SOON_MS: i64 = 400;

/// Draws which calls the server does not survive, and tells whoever ends it.
pub(super) struct Strikes {
    seed: u64,
    /// Calls that were drawn for.
    calls: AtomicU64,
    due: Notify,
}

impl Strikes {
    pub(super) fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self { seed, calls: AtomicU64::new(0), due: Notify::new() })
    }

    /// Resolves when a life is to end.
    pub(super) async fn due(&self) {
        self.due.notified().await;
    }

    /// The server makes a call, of a kind of which so many in a hundred are its last.
    pub(super) fn draw(self: &Arc<Self>, percent: u32) {
        let nth = self.calls.fetch_add(1, Ordering::Relaxed);
        let mut chance = Chance::of(self.seed, "strikes", nth);
        if !chance.percent(percent) {
            return;
        }
        let (strikes, after_ms) = (Arc::clone(self), chance.within(0, SOON_MS).unsigned_abs());
        tokio::spawn(async move {
            sleep(Duration::from_millis(after_ms)).await;
            strikes.due.notify_one();
        });
    }
}
