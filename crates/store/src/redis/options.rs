//! How an engine on Redis runs.

use super::archive::Archive;
use crate::flags::Flags;
use onrush_tls::Certificates;
use std::sync::Arc;

/// How an engine runs.
#[derive(Clone)]
pub struct Options {
    /// Where Redis is: `redis://127.0.0.1:6379`; of a cluster, some of its nodes.
    pub urls: Vec<String>,
    /// Whether it is a Redis Cluster.
    pub is_cluster: bool,
    /// Sentinels, if they say which server is the master: the host of the one address is the
    /// master's name then, such as `redis://user:password@onrush`.
    pub sentinels: Vec<String>,
    /// Whose certificates are trusted where an address is `rediss://`, and our own.
    pub certificates: Certificates,
    /// Where the feed is kept for good.
    pub archive: Arc<dyn Archive>,
    /// Connections to it, or to each of its nodes.
    pub connections: usize,
    /// How long a caller waits for Redis.
    pub timeout_ms: u32,
    /// How long a caller waits for the archive, once Redis has decided.
    pub archive_timeout_ms: u32,
    /// How often this node looks at its events; at those in which nothing is due soon once in eleven
    /// times at least. Another node's death delays no deadline for longer than that.
    pub sweep_ms: u32,
    /// What is switched how, at run time.
    pub flags: Arc<Flags>,
    /// Events that this node keeps a copy of at most, for questions where somebody stands; 0 asks
    /// Redis each time.
    pub copies: usize,
    /// Records in all copies together at most: see [`onrush_core::Event::records`].
    pub copied_records: usize,
    /// How old an answer from a copy may be.
    pub copy_age_ms: u32,
    /// Whether this node decides what is due. Tests that set the clock do so themselves.
    pub ticks: bool,
}

impl Options {
    /// The usual options.
    #[must_use]
    pub fn new(urls: Vec<String>, is_cluster: bool, archive: Arc<dyn Archive>) -> Self {
        Self {
            urls,
            is_cluster,
            sentinels: Vec::new(),
            certificates: Certificates::default(),
            archive,
            connections: 4,
            timeout_ms: 2_000,
            archive_timeout_ms: 5_000,
            sweep_ms: 1_000,
            flags: Arc::default(),
            copies: 64,
            copied_records: 5_000_000,
            copy_age_ms: 1_000,
            ticks: true,
        }
    }
}
