//! Kafka: what the feed says arrives there, in order, at least once, whatever fails.

mod failing;
mod listener;
mod stage;
mod telling;
