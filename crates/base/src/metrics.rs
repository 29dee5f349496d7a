//! Counters that are raised as things happen, and what those say who publish elsewhere.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
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

/// How one of those who carry the feed to another server is, as one node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublisherFigures {
    /// What it carries the feed to.
    pub name: &'static str,
    /// Whether this node is connected.
    pub is_connected: bool,
    /// Whether this node is the one that publishes.
    pub is_publishing: bool,
    /// Decisions that were not carried on yet, whichever node does; `None` if that is not known now.
    pub behind: Option<u64>,
    /// Messages that were acknowledged to this node.
    pub sent: u64,
    /// How often this node had to begin again.
    pub failed: u64,
}

/// Asks how they are.
pub type AskPublishers =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Vec<PublisherFigures>> + Send>> + Send + Sync>;
