//! How the publisher of this node is.

use onrush_store::Seq;
use tokio::sync::watch;

/// What can be seen of it from outside.
#[derive(Debug, Default)]
pub struct Health(watch::Sender<State>);

/// Where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Whether Kafka answered when it was last needed.
    pub connected: bool,
    /// Whether this node is the one that publishes.
    pub publishing: bool,
    /// The last decision of which Kafka has everything, as far as this node sent it.
    pub published: Seq,
    /// Messages that this node gave to its client.
    pub sent: u64,
    /// Messages that Kafka acknowledged to this node.
    pub acknowledged: u64,
    /// How often publishing had to begin again.
    pub failures: u64,
}

impl Health {
    /// Where it stands, now and whenever that changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<State> {
        self.0.subscribe()
    }

    pub(super) fn set(&self, change: impl FnOnce(&mut State)) {
        self.0.send_if_modified(|state| {
            let before = *state;
            change(state);
            *state != before
        });
    }
}
