//! What the publisher works with.

use super::health::Health;
use crate::cursors::Cursors;
use onrush_ledger::Ledger;
use onrush_store::Engine;
use std::sync::Arc;

/// What the publisher works with.
#[derive(Clone)]
pub struct PublisherDeps {
    /// Whose feed is followed, and what knows whose a booking is.
    pub engine: Arc<dyn Engine>,
    /// What still knows it after the engine has forgotten.
    pub ledger: Arc<dyn Ledger>,
    /// Which node publishes, and how far it is.
    pub cursors: Arc<dyn Cursors>,
    /// Where it shows how it is.
    pub health: Arc<Health>,
}
