//! Why a server cannot start.

use onrush_base::config::ConfigError;
use onrush_store::embedded::OpenError;
use std::io;
use std::net::SocketAddr;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error("{0}")]
    Config(ConfigError),
    /// The engine cannot be opened.
    #[error("{0}")]
    Engine(OpenError),
    /// An address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The data directory cannot be used.
    #[error("the data directory cannot be used: {0}")]
    Data(io::Error),
    /// The ledger cannot be opened.
    #[error("{0}")]
    Ledger(onrush_ledger::sqlite::OpenError),
    /// Files of the data directory do not belong together: one is older than the others, or missing.
    #[error("{0}")]
    Restored(String),
    /// What nodes share cannot be used.
    #[error("{0}")]
    Cluster(String),
    /// The payment gateway cannot be used.
    #[error("the payment gateway cannot be used: {0}")]
    Gateway(io::Error),
}
