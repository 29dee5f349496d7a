//! Kafka: the whole feed on one topic, and the inherited messages on theirs.
//!
//! ```text
//! feed ─► publisher (one node at a time, under a lease)
//!             ├─► onrush-feed
//!             ├─► booking_request     a place was taken
//!             ├─► payment_initiated   a payment began
//!             ├─► booking_completed   a booking is final
//!             └─► payment_failed      a payment ended without money
//! ```
//!
//! Messages of one event are in the feed's order on every topic, each at least once. Its headers
//! say which change it is about, so that receivers can drop repeats; docs/kafka.md shows how. The
//! feed is read no further than Kafka has acknowledged: a Kafka that is away delays what it would
//! be told, and nothing else.

mod bodies;
mod client;
mod deps;
#[cfg(all(test, feature = "kafka-tls"))]
mod encrypted;
mod facts;
pub mod health;
mod outlet;
mod publisher;

pub use bodies::Topic;
pub use client::topic_of;
pub use deps::PublisherDeps;
pub use health::Health;

use onrush_base::config::kafka::KafkaSettings;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Starts this node's publisher. It ends soon after `stop` says so.
///
/// Kafka need not be there: it tries again until it is.
pub fn run(
    settings: &KafkaSettings,
    parts: &PublisherDeps,
    stop: &watch::Receiver<bool>,
) -> JoinHandle<()> {
    tokio::spawn(publisher::run(settings.clone(), parts.clone(), stop.clone()))
}

/// What the publisher's lease and cursor are called: how far it is can be read by this name.
#[must_use]
pub fn cursor_name(settings: &KafkaSettings) -> String {
    format!("{}kafka", settings.prefix)
}
