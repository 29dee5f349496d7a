//! A Redis server and its replica.

use super::{Redis, RedisOptions, START_WITHIN};
use crate::need::NotStarted;
use crate::resp::field;
use crate::server::wait_until;
use std::io;

/// A Redis server with one replica, without anything that switches over by itself.
#[derive(Debug)]
pub struct RedisPair {
    /// Where writes go until the replica is promoted.
    pub primary: Redis,
    /// Follows the primary.
    pub replica: Redis,
}

impl RedisPair {
    /// Starts both; the replica has caught up when this returns.
    ///
    /// # Errors
    ///
    /// If Redis is not installed, or does not start.
    pub fn start(options: &RedisOptions) -> Result<Self, NotStarted> {
        let primary = Redis::start_with(options)?;
        let mut follows = options.clone();
        follows.config.push(format!("replicaof 127.0.0.1 {}", primary.port()));
        let pair = Self { replica: Redis::start_with(&follows)?, primary };
        pair.wait_for_replica()?;
        Ok(pair)
    }

    /// Waits until the replica is connected and has everything that was written to the primary
    /// before this call.
    ///
    /// # Errors
    ///
    /// If it does not get there.
    pub fn wait_for_replica(&self) -> Result<(), NotStarted> {
        let number = |info: &str, name| field(info, name).and_then(|n| n.parse::<u64>().ok());
        let written = number(&self.primary.info("replication"), "master_repl_offset");
        wait_until("the replica is in sync", START_WITHIN, || {
            let info = self.replica.info("replication");
            field(&info, "master_link_status") == Some("up")
                && number(&info, "slave_repl_offset") >= written
        })
        .map_err(|error| self.replica.server.failure(error))
    }

    /// Makes the replica a primary of its own, with what it has; the old primary is left as it is.
    ///
    /// # Errors
    ///
    /// If it cannot be reached.
    pub fn promote(&self) -> io::Result<()> {
        self.replica.command(&["REPLICAOF", "NO", "ONE"]).map(drop)
    }
}
