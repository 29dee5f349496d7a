//! Onrush: an on-sale engine that queues fairly, holds atomically, and never sells a thing twice.
//!
//! This crate is the edge: it turns HTTP into commands and the feed into live updates. What may
//! happen is decided in `onrush-core`; what happened is kept by `onrush-store`.

pub mod amount;
pub mod answers;
pub mod auth;
pub mod broken;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod commons;
pub mod config;
pub mod draw;
pub mod history;
pub mod http;
pub mod http_client;
pub mod inventory;
pub mod json;
pub mod live;
pub mod metrics;
pub mod pairing;
pub mod plans;
pub mod pressure;
pub mod prices;
pub mod relay;
pub mod saga;
pub mod sandbox;
pub mod serve;
mod server;
pub mod signature;
pub mod tickets;
pub mod vault;

pub use config::Config;
pub use server::{Server, StartError};
