//! The shop, as its buyers see it.

use super::client::{Answer, Asking, Soon, Ways};
use super::planted::Planted;
use super::story::Story;
use super::world::Kept;
use onrush_core::ids::PaymentId;
use std::sync::Arc;
use std::time::Duration;

/// Where buyers are: at one server that is simulated, or at a cluster.
pub(super) trait Shop: Send + Sync {
    /// How it is reached.
    fn ways(&self) -> Arc<dyn Ways>;

    /// What is told of it.
    fn story(&self) -> &Story;

    /// The fault that is planted.
    fn planted(&self) -> Option<Planted>;

    /// How long after a look a stream that is alive may not have told what the look has shown.
    fn told_within(&self) -> Duration;

    /// Whether a stream may tell of a place that is over by then, and of another one later.
    fn streams_lag(&self) -> bool {
        false
    }

    /// How often an operator has accepted that the ledger is an older one, or a new one: the answers
    /// that keys keep are lost then, and who bought.
    fn losses(&self) -> u64 {
        0
    }

    /// How often the server has begun again from before: what it had said since is void.
    fn restores(&self) -> u64 {
        0
    }

    /// The buyer types the card of this number on the bank's page.
    fn pay<'a>(&'a self, payment: &'a PaymentId, card: u32, is_good: bool) -> Soon<'a, ()>;

    /// Takes note of what a visitor's key was answered, if somebody is to ask again in the end.
    fn keep(&self, _token: Option<&str>, _asking: &Asking, _answer: &Answer, _kept: Kept) {}
}
