//! The script kit's worker as a program of its own.

use onrush_tls::Certificates;
use std::future::Future;

/// Where `reserve_seats` keeps the deadlines of holds unless it is given another key.
pub const EXPIRY_INDEX: &str = "onrush:kit:expiries";

/// Returns the stock of the script kit's holds that have run out.
pub struct KitWorker {
    /// One server, or some nodes of a cluster.
    pub urls: Vec<String>,
    /// Whether it is a cluster.
    pub is_cluster: bool,
    /// Sentinels, if they say which server is the master: the host of the one address is its name then.
    pub sentinels: Vec<String>,
    /// Whom to trust there, and what to show.
    pub certificates: Certificates,
    /// The keys of the expiry indexes.
    pub indexes: Vec<String>,
}

impl KitWorker {
    /// Works until `stop` is done. A Redis that goes away is waited for; one that cannot be reached
    /// at first is not.
    ///
    /// # Errors
    /// Redis cannot be used, as a sentence; or this program was built without it.
    #[cfg(feature = "cluster")]
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), String> {
        let Self { urls, is_cluster, sentinels, certificates, indexes } = self;
        let place = onrush_store::redis::kit::Place { urls, is_cluster, sentinels, certificates };
        onrush_store::redis::kit::look_after(&place, indexes, stop).await
    }

    /// Works until `stop` is done.
    ///
    /// # Errors
    /// Always: this program was built without Redis.
    #[cfg(not(feature = "cluster"))]
    pub async fn run(self, _stop: impl Future<Output = ()>) -> Result<(), String> {
        Err("this program was built without Redis: build it with --features cluster".into())
    }
}

#[cfg(all(test, feature = "cluster"))]
mod tests {
    #[test]
    fn index_is_that_of_the_kit() {
        assert_eq!(super::EXPIRY_INDEX, onrush_store::redis::kit::EXPIRY_INDEX);
    }
}
