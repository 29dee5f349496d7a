//! The feed carried on: to RabbitMQ as wake-ups, to Kafka for other systems.
//!
//! Publishers on many nodes agree by leases and [`cursors`] who sends, and from where on.

pub mod cursors;
pub mod kafka;
mod page_span;
pub mod rabbit;
