//! How a node uses PostgreSQL.

use onrush_tls::rustls::ClientConfig;
use std::sync::Arc;

/// How the way to PostgreSQL is protected.
#[derive(Clone, Debug)]
pub enum Protection {
    /// Not at all.
    Nothing,
    /// By TLS if the server offers it.
    IfOffered(Arc<ClientConfig>),
    /// By TLS, or there is no way.
    Tls(Arc<ClientConfig>),
}

/// How a node uses PostgreSQL.
#[derive(Clone, Debug)]
pub struct PgOptions {
    /// Connections for reads and single writes; three more are for batches of writes, for appends,
    /// and to hear of news.
    pub pool_size: usize,
    /// How long a saga or a delivery stays with the node that took it up, unless it asks again, by
    /// the database's clock.
    pub claim_ms: u32,
    /// How long a call may take until it fails as unavailable.
    pub patience_ms: u32,
    /// How the way there is protected.
    pub protection: Protection,
}

impl Default for PgOptions {
    fn default() -> Self {
        Self { pool_size: 8, claim_ms: 30_000, patience_ms: 5_000, protection: Protection::Nothing }
    }
}
