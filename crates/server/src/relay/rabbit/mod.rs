//! RabbitMQ: wake-ups for deadlines and freed slots (S3.3, S3.8).
//!
//! ```text
//! feed ─► publisher (one node at a time) ─► slot-released-exchange ─► slot-released-queue ─┐
//!                     │                                                                      ├─► consumer (every node) ─► wake
//!                     └─► rung: a queue with a TTL ─► timeout-exchange ─► timeout-queue ───┘
//!                               ▲                                             │ too early
//!                               └─────────────────────────────────────────────┘
//! ```
//!
//! A message only wakes the engine. The deadline that decides is in the engine's state, so a message that comes late, twice,
//! never, or for a session that is long over changes nothing. docs/design/rabbitmq.md has the queues and the bodies.

pub mod bodies;
mod consumer;
pub mod health;
pub mod link;
mod publisher;
pub mod topology;

pub use health::Health;

use crate::config::rabbit::RabbitSettings;
use crate::relay::cursors::Cursors;
use onrush_core::ids::EventId;
use onrush_store::Engine;
use onrush_store::embedded::Clock;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use topology::Topology;

/// Has an event's deadlines and admissions looked at, soon: all that are due, for one message may stand for many. Cheap,
/// and harmless if nothing is due.
pub type Wake = Arc<dyn Fn(&EventId) + Send + Sync>;

/// What publisher and consumer work with.
#[derive(Clone)]
pub struct Parts {
    /// Whose feed is followed.
    pub engine: Arc<dyn Engine>,
    /// Which node publishes, and how far it is.
    pub cursors: Arc<dyn Cursors>,
    /// What a message does.
    pub wake: Wake,
    /// The engine's time, as near as this node knows it: a clock that is wrong makes wake-ups early or late, never deadlines.
    pub clock: Clock,
    /// Where it shows how they are.
    pub health: Arc<Health>,
}

/// Starts this node's publisher and consumer. They end soon after `stop` says so.
///
/// RabbitMQ need not be there: they try again until it is.
pub fn run(
    settings: &RabbitSettings,
    parts: &Parts,
    stop: &watch::Receiver<bool>,
) -> Vec<JoinHandle<()>> {
    let topology = Arc::new(Topology::new(settings));
    let publisher = publisher::run(settings.clone(), topology.clone(), parts.clone(), stop.clone());
    let consumer = consumer::run(settings.clone(), topology, parts.clone(), stop.clone());
    vec![tokio::spawn(publisher), tokio::spawn(consumer)]
}

/// Comes back once `stop` says so, or whoever could say so is gone.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}
