//! Why a server cannot start.

use onrush_base::config::ConfigError;
use onrush_store::embedded::OpenError;
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Why a server cannot start.
#[derive(Debug)]
pub enum StartError {
    /// The configuration is wrong.
    Config(ConfigError),
    /// The engine cannot be opened.
    Engine(OpenError),
    /// An address cannot be listened on.
    Listen(SocketAddr, io::Error),
    /// The data directory cannot be used.
    Data(io::Error),
    /// The ledger cannot be opened.
    Ledger(onrush_ledger::sqlite::OpenError),
    /// Files of the data directory do not belong together: one is older than the others, or missing.
    Restored(String),
    /// What nodes share cannot be used.
    Cluster(String),
    /// The payment gateway cannot be used.
    Gateway(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::Ledger(error) => error.fmt(f),
            Self::Cluster(why) | Self::Restored(why) => f.write_str(why),
            Self::Gateway(error) => write!(f, "the payment gateway cannot be used: {error}"),
            Self::Data(error) => write!(f, "the data directory cannot be used: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
