//! A Redis server and its replica behind three Sentinels.

use super::{FAILOVER_WITHIN, Kind, Redis, RedisOptions, START_WITHIN};
use crate::need::NotStarted;
use crate::resp::field;
use crate::server::wait_until;

/// What the Sentinels call the master.
const MASTER: &str = "onrush";
const SENTINELS: usize = 3;

/// How long the master may be silent before it counts as down: a machine that is busy with others makes it
/// stand still for a while.
const DOWN_AFTER_MS: u32 = 2_000;

/// How long a Sentinel only looks on once its timer was late, as on such a machine.
const TILT_MS: u32 = 1_000;

/// A master and its replica, and three Sentinels that promote the one when the other is gone.
#[derive(Debug)]
pub struct RedisSentinels {
    servers: Vec<Redis>,
    sentinels: Vec<Redis>,
    is_tls: bool,
}

impl RedisSentinels {
    /// Starts all five; when this returns the replica has caught up, and every Sentinel knows of it
    /// and of the others.
    ///
    /// # Errors
    ///
    /// If Redis is not installed, or does not start.
    pub fn start() -> Result<Self, NotStarted> {
        Self::start_with(&RedisOptions::default(), &[])
    }

    /// Starts all five as the options say, the Sentinels with these lines in place of
    /// [`RedisOptions::config`]. With TLS they speak it with each other too, so that their
    /// certificate must be good for clients of theirs.
    ///
    /// # Errors
    ///
    /// If Redis is not installed, or does not start.
    pub fn start_with(options: &RedisOptions, watching: &[String]) -> Result<Self, NotStarted> {
        let is_tls = options.tls.is_some();
        let tls = if is_tls { "tls-replication yes" } else { "" };
        let start = |kind, options: &RedisOptions, more: &str| {
            Redis::start_as(options, kind, |_| format!("{tls}\n{more}"))
        };
        let port = |redis: &Redis| if is_tls { redis.tls_port() } else { redis.port() };
        let master = start(Kind::Server, options, "repl-diskless-sync-delay 0")?;
        let address = format!("127.0.0.1 {}", port(&master));
        let follows = format!("repl-diskless-sync-delay 0\nreplicaof {address}");
        let replica = start(Kind::Server, options, &follows)?;
        wait_until("the replica is in sync", START_WITHIN, || {
            field(&replica.info("replication"), "master_link_status") == Some("up")
        })
        .map_err(|error| replica.server.failure(error))?;
        let watches = format!(
            "sentinel monitor {MASTER} {address} 2\n\
             sentinel down-after-milliseconds {MASTER} {DOWN_AFTER_MS}\n\
             sentinel failover-timeout {MASTER} 3000"
        );
        let watching = RedisOptions { config: watching.to_vec(), ..options.clone() };
        let sentinels = (0..SENTINELS).map(|_| start(Kind::Sentinel, &watching, &watches));
        let sentinels = sentinels.collect::<Result<_, _>>()?;
        let all = Self { servers: vec![master, replica], sentinels, is_tls };
        for sentinel in &all.sentinels {
            // Before Redis 7 it cannot be told, and is half a minute.
            let _ = sentinel.command(&["SENTINEL", "DEBUG", "tilt-period", &TILT_MS.to_string()]);
            wait_until("the Sentinel knows all others", START_WITHIN, || {
                let told = facts(sentinel);
                fact(&told, "num-other-sentinels") == Some("2")
                    && fact(&told, "num-slaves") == Some("1")
                    && fact(&told, "flags") == Some("master")
            })
            .map_err(|error| sentinel.server.failure(error))?;
        }
        Ok(all)
    }

    /// What the master is called: the host of its URL.
    #[must_use]
    pub fn name(&self) -> &'static str {
        MASTER
    }

    /// Where a Sentinel is: `127.0.0.1:<port>`, with TLS if they were started with it.
    #[must_use]
    pub fn addresses(&self) -> Vec<String> {
        let port = |sentinel: &Redis| {
            if self.is_tls { sentinel.tls_port() } else { sentinel.port() }
        };
        self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", port(sentinel))).collect()
    }

    /// The servers, dead ones too.
    pub fn servers_mut(&mut self) -> &mut [Redis] {
        &mut self.servers
    }

    /// The Sentinels, dead ones too.
    pub fn sentinels_mut(&mut self) -> &mut [Redis] {
        &mut self.sentinels
    }

    /// Which of the servers all living Sentinels call the master, if they agree.
    #[must_use]
    pub fn master(&self) -> Option<usize> {
        let ask = |sentinel: &Redis| {
            let ask = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER];
            let told = sentinel.command(&ask).ok()?;
            told.lines().nth(1)?.parse::<u16>().ok()
        };
        let told: Vec<u16> = self.sentinels.iter().filter_map(ask).collect();
        let first = *told.first()?;
        let is_at = |redis: &Redis| [redis.port(), redis.tls_port()].contains(&first);
        let master = self.servers.iter().position(is_at)?;
        told.iter().all(|port| *port == first).then_some(master)
    }

    /// Waits until the Sentinels have made another server than this one the master.
    ///
    /// # Errors
    ///
    /// If they do not.
    pub fn wait_for_another_than(&self, old: usize) -> Result<usize, NotStarted> {
        let new = || self.master().filter(|master| *master != old);
        wait_until("another master", FAILOVER_WITHIN, || new().is_some())
            .map_err(|error| self.sentinels[0].server.failure(error))?;
        new().ok_or_else(|| NotStarted::failed("Redis Sentinel", "the master changed again"))
    }
}

/// What a Sentinel says of the master: names and values in turn, a line each.
fn facts(sentinel: &Redis) -> String {
    sentinel.command(&["SENTINEL", "MASTER", MASTER]).unwrap_or_default()
}

fn fact<'a>(facts: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = facts.lines();
    lines.find(|line| *line == name)?;
    lines.next()
}
