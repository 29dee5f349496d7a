//! RabbitMQ: wake-ups for deadlines and freed slots.
//!
//! ```text
//! feed ─► publisher (one node at a time)
//!             ├─► slot-released-exchange ─► slot-released-queue ──────────┐
//!             │                                                           ├─► consumer (every node) ─► wake
//!             └─► rung: a queue with a TTL ─► timeout-exchange ─► timeout-queue
//!                      ▲                                              │ too early
//!                      └──────────────────────────────────────────────┘
//! ```
//!
//! A message only wakes the engine. The deadline that decides is in the engine's state, so a
//! message that comes late, twice, never, or for a session that is long over changes nothing.
//! docs/design/rabbitmq.md has the queues and the bodies.

pub mod bodies;
mod consumer;
mod deps;
pub mod error;
pub mod health;
pub mod link;
mod publisher;
pub mod topology;

pub use deps::{RabbitDeps, Wake};
pub use health::Health;

use onrush_base::config::rabbit::RabbitSettings;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use topology::Topology;

/// Starts this node's publisher and consumer. They end soon after `stop` says so.
///
/// RabbitMQ need not be there: they try again until it is.
pub fn run(
    settings: &RabbitSettings,
    parts: &RabbitDeps,
    stop: &watch::Receiver<bool>,
) -> Vec<JoinHandle<()>> {
    let topology = Arc::new(Topology::new(settings));
    let publisher = publisher::run(settings.clone(), topology.clone(), parts.clone(), stop.clone());
    let consumer = consumer::run(settings.clone(), topology, parts.clone(), stop.clone());
    vec![tokio::spawn(publisher), tokio::spawn(consumer)]
}

/// What the publisher's lease and cursor are called: how far it is can be read by this name.
#[must_use]
pub fn cursor_name(settings: &RabbitSettings) -> String {
    format!("{}rabbitmq", settings.prefix)
}
