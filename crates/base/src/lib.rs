//! What every service of Onrush stands on: settings, identities and keys, signatures, tickets, and
//! amounts as people read them.

pub mod amount;
pub mod auth;
pub mod backup;
pub mod beside;
pub mod cluster_store;
pub mod config;
pub mod http_client;
pub mod mail_address;
pub mod metrics;
pub mod shared_files;
pub mod signature;
pub mod spans;
pub mod tickets;
