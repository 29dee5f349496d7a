//! What every service of Onrush stands on: settings, identities and keys, signatures, tickets, and
//! amounts as people read them.

pub mod amount;
pub mod auth;
pub mod commons;
pub mod config;
pub mod http_client;
pub mod metrics;
pub mod signature;
pub mod tickets;
pub mod vault;
