//! What publisher and consumer work with.

use super::health::Health;
use crate::cursors::Cursors;
use onrush_core::ids::EventId;
use onrush_store::Engine;
use onrush_store::embedded::Clock;
use std::sync::Arc;
use tokio::sync::watch;

/// Has an event's deadlines and admissions looked at, soon: all that are due, for one message may
/// stand for many. Cheap, and harmless if nothing is due.
pub type Wake = Arc<dyn Fn(&EventId) + Send + Sync>;

/// What publisher and consumer work with.
#[derive(Clone)]
pub struct RabbitDeps {
    /// Whose feed is followed.
    pub engine: Arc<dyn Engine>,
    /// Which node publishes, and how far it is.
    pub cursors: Arc<dyn Cursors>,
    /// What a message does.
    pub wake: Wake,
    /// The engine's time, as near as this node knows it: a clock that is wrong makes wake-ups early
    /// or late, never deadlines.
    pub clock: Clock,
    /// Where it shows how they are.
    pub health: Arc<Health>,
}

/// Comes back once `stop` says so, or whoever could say so is gone.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}
