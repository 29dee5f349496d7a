//! What waits in the ledger, for instruments: found by indexes, however much else is in the tables.

use onrush_core::Time;

/// What waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Of each channel that has any: deliveries that did not arrive yet.
    pub waiting: Vec<WaitingDeliveries>,
    /// Of each channel that has any: how many deliveries were given up.
    pub dead: Vec<(String, u64)>,
    /// Sagas that wait for an operator.
    pub stuck_sagas: u64,
    /// Sagas that somebody will look at again: payments and refunds under way.
    pub open_sagas: u64,
    /// When the first of them is, or was, to be looked at.
    pub next_saga_at: Option<Time>,
}

/// Deliveries of one channel that did not arrive yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingDeliveries {
    /// The channel.
    pub channel: String,
    /// How many.
    pub count: u64,
    /// When the first of them is, or was, to be tried. A channel that refuses moves it on and on.
    pub next_at: Time,
    /// Since when the oldest of them has been to be delivered, however often it was tried.
    pub since: Time,
}
