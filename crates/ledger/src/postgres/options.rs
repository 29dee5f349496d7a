//! How a node uses PostgreSQL.

/// How a node uses PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PgOptions {
    /// Connections for reads and single writes; three more are for batches of writes, for appends,
    /// and to hear of news.
    pub pool_size: usize,
    /// How long a saga or a delivery stays with the node that took it up, unless it asks again, by
    /// the database's clock.
    pub claim_ms: u32,
    /// How long a call may take until it fails as unavailable.
    pub patience_ms: u32,
}

impl Default for PgOptions {
    fn default() -> Self {
        Self { pool_size: 8, claim_ms: 30_000, patience_ms: 5_000 }
    }
}
