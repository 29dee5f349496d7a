//! How publisher and consumer of this node are.

use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;

/// What can be seen of them from outside.
#[derive(Debug, Default)]
pub struct Health {
    state: watch::Sender<State>,
    counts: Counts,
}

/// Where they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Whether the publisher has a connection.
    pub publisher_connected: bool,
    /// Whether the consumer has one, and is subscribed.
    pub consumer_connected: bool,
    /// Whether this node is the one that publishes.
    pub publishing: bool,
}

/// What they have done since the start.
#[derive(Debug, Default)]
pub struct Counts {
    /// Messages that RabbitMQ confirmed, hops not counted.
    pub published: AtomicU64,
    /// Messages that woke the engine.
    pub woken: AtomicU64,
    /// Messages that came early and were sent on to wait longer.
    pub hopped: AtomicU64,
    /// Messages that nobody can read, and that were dropped.
    pub unreadable: AtomicU64,
    /// Connections that broke or could not be made.
    pub failures: AtomicU64,
}

impl Health {
    /// Whether this node is connected to RabbitMQ. Without it deadlines are met all the same, by
    /// the engine's own ticks.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        let state = *self.state.borrow();
        state.publisher_connected && state.consumer_connected
    }

    /// Where they stand, now and whenever that changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// What they have done since the start.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(super) fn set(&self, change: impl FnOnce(&mut State)) {
        self.state.send_if_modified(|state| {
            let before = *state;
            change(state);
            *state != before
        });
    }

    pub(super) fn count(&self, counter: impl FnOnce(&Counts) -> &AtomicU64, by: u64) {
        counter(&self.counts).fetch_add(by, Ordering::Relaxed);
    }
}
