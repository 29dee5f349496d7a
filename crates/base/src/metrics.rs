//! Counters that are raised as things happen.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that handlers raise.
#[derive(Default)]
pub struct Metrics {
    /// Holds that were placed, or asked for again.
    pub holds_accepted: AtomicU64,
    /// Holds that the rules refused.
    pub holds_refused: AtomicU64,
    /// Places taken.
    pub joins: AtomicU64,
    /// Positions asked for.
    pub positions: AtomicU64,
    /// Guest tokens made.
    pub guests: AtomicU64,
}

/// Raises a counter by one.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
