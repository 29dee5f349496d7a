//! What runs the rules and what remembers: which, and where they are.

use super::Config;
use super::certificates::CertificateSettings;
use super::secret::Secret;
use onrush_store::flags::Flag;
use serde::Deserialize;

/// The longest that `redis.sweep_ms` may be.
const MAX_SWEEP_MS: u32 = 2_500;

/// What runs the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// This process, with a journal in the data directory.
    #[default]
    Embedded,
    /// Redis, shared by any number of processes.
    Redis,
}

/// What remembers bookings and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LedgerName {
    /// A file in the data directory.
    #[default]
    Sqlite,
    /// PostgreSQL, shared by any number of processes.
    Postgres,
}

/// Redis, Redis behind Sentinels, or Redis Cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisSettings {
    /// One server, such as `rediss://user:password@redis.example:6379`, or several nodes of a
    /// cluster. With Sentinels the host is the name that they know the master by.
    pub urls: Vec<Secret>,
    /// Sentinels, if they say which server is the master.
    #[serde(default)]
    pub sentinels: Vec<Secret>,
    /// Whether they are a cluster.
    #[serde(default)]
    pub cluster: bool,
    /// How often events are looked at in case nobody else does, in milliseconds; those in which nothing
    /// is due soon once in eleven times at least.
    #[serde(default = "sweep_ms")]
    pub sweep_ms: u32,
    /// Events that a node keeps a copy of at most, to tell visitors by itself where they stand; 0
    /// asks Redis each time.
    #[serde(default = "copies")]
    pub copies: usize,
    /// Whose certificates are trusted where an address is `rediss://`.
    #[serde(default)]
    pub certificates: CertificateSettings,
}

impl RedisSettings {
    /// One server or several nodes, with the defaults.
    #[must_use]
    pub fn new(urls: Vec<String>) -> Self {
        let urls = urls.into_iter().map(Secret::from).collect();
        let certificates = CertificateSettings::default();
        let sentinels = Vec::new();
        Self {
            urls,
            sentinels,
            cluster: false,
            sweep_ms: sweep_ms(),
            copies: copies(),
            certificates,
        }
    }

    /// Checks what the types cannot.
    fn check(&self) -> Result<(), String> {
        let Self { urls, sentinels, cluster, sweep_ms, copies: _, certificates } = self;
        let first = urls.first().ok_or("redis.urls: name at least one server")?.reveal();
        if !sentinels.is_empty() {
            check_master(urls, *cluster)?;
        }
        if !cluster && urls.len() > 1 {
            return Err(
                "redis.urls: several servers are a cluster; set redis.cluster to true".into()
            );
        }
        // An event that is passed over for ten seconds and looked at a sweep later must not seem to
        // have been away, which is said of one that nobody has looked at for half a minute.
        if !(1..=MAX_SWEEP_MS).contains(sweep_ms) {
            return Err(format!("redis.sweep_ms: use 1 to {MAX_SWEEP_MS}"));
        }
        let scheme = |url: &str| url.split_once("://").map(|(scheme, _)| scheme.to_owned());
        let known = ["redis", "rediss", "redis+unix", "unix"];
        let of_first = scheme(first).filter(|scheme| known.contains(&scheme.as_str()));
        let Some(of_first) = of_first else {
            return Err(if first.contains("sentinel") {
                "redis.urls: name the Sentinels in redis.sentinels, and the master here: \
                 redis://user:password@mymaster"
                    .into()
            } else {
                "redis.urls: use the form redis://127.0.0.1:6379, or rediss:// for TLS".into()
            });
        };
        if sentinels.iter().any(|url| scheme(url.reveal()).as_deref() != Some(of_first.as_str())) {
            let why =
                "redis.sentinels: use redis:// for them and for redis.urls, or rediss:// for all";
            return Err(why.into());
        }
        if urls.iter().any(|url| scheme(url.reveal()).as_deref() != Some(of_first.as_str())) {
            return Err("redis.urls: use redis:// for all of them, or rediss:// for all".into());
        }
        // The client's own word for looking at no certificate at all.
        if urls.iter().chain(sentinels).any(|url| url.reveal().contains("#insecure")) {
            return Err("redis.urls: #insecure would trust anybody who answers; set \
                        redis.certificates.ca instead"
                .into());
        }
        if of_first != "rediss" && !certificates.is_default() {
            return Err("redis.certificates: they are for TLS; use rediss:// in redis.urls".into());
        }
        certificates.load("redis.certificates").map(drop)
    }
}

/// With Sentinels there is one address, whose host is the master's name and has no port.
fn check_master(urls: &[Secret], cluster: bool) -> Result<(), String> {
    if cluster {
        return Err("redis.sentinels: a Redis Cluster has none; set redis.cluster to false".into());
    }
    let [url] = urls else {
        return Err("redis.urls: with redis.sentinels use one address, whose host is the name of \
                    the master"
            .into());
    };
    let rest = url.reveal().split_once("://").map_or("", |(_, rest)| rest);
    let place = rest.split(['/', '?']).next().unwrap_or_default();
    let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
    // What Sentinel lets a master be called (sentinelReconfigure refuses others).
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if host.is_empty() || !host.bytes().all(is_name) {
        return Err(
            "redis.urls: with redis.sentinels the host is the name of the master, without \
                    a port: redis://user:password@mymaster"
                .into(),
        );
    }
    Ok(())
}

fn sweep_ms() -> u32 {
    1_000
}

fn copies() -> usize {
    64
}

#[cfg(feature = "cluster")]
pub use super::kafka::KafkaSettings;
pub use super::postgres::PostgresSettings;
#[cfg(feature = "cluster")]
pub use super::rabbit::RabbitSettings;

/// A section that this program was built without: it is noticed, and refused.
#[cfg(not(feature = "cluster"))]
pub type RabbitSettings = serde::de::IgnoredAny;
/// A section that this program was built without: it is noticed, and refused.
#[cfg(not(feature = "cluster"))]
pub type KafkaSettings = serde::de::IgnoredAny;

/// For how many users of a hundred each flag of the engine on Redis is on, until somebody sets it
/// at run time.
///
/// The variables `FEATURE_STREAMS_QUEUE`, `FEATURE_LUA_ATOMIC` and `FEATURE_COMPOSITE_SCORE` take
/// `true`, `false` or a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlagSettings {
    /// Places are read from a user's stream.
    pub streams_queue: u8,
    /// Joins and holds run as one script.
    pub lua_atomic: u8,
    /// Scores in the queue carry a counter.
    pub composite_score: u8,
}

impl Default for FlagSettings {
    fn default() -> Self {
        Self { streams_queue: 0, lua_atomic: 100, composite_score: 100 }
    }
}

impl FlagSettings {
    /// For how many users of a hundred a flag is on.
    #[must_use]
    pub fn percent(&self, flag: Flag) -> u8 {
        match flag {
            Flag::StreamsQueue => self.streams_queue,
            Flag::LuaAtomic => self.lua_atomic,
            Flag::CompositeScore => self.composite_score,
        }
    }
}

impl Config {
    /// What is missing of what runs the rules and what remembers, or does not go together.
    pub(super) fn server_complaints(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut wrong = |why: &str| found.push(why.to_owned());
        let publishes = self.rabbitmq.is_some() || self.kafka.is_some();
        let clustered = self.engine == EngineName::Redis || self.ledger == LedgerName::Postgres;
        if (clustered || publishes) && !cfg!(feature = "cluster") {
            wrong(
                "engine, ledger, rabbitmq, kafka: this program was built for one process only; \
                 build it with --features cluster",
            );
        }
        if self.engine == EngineName::Redis {
            if self.ledger != LedgerName::Postgres {
                wrong("ledger: use postgres with the engine on Redis; it keeps the archive too");
            }
            if self.redis.is_none() {
                wrong("redis: set urls");
            }
        }
        if let Some(Err(why)) = self.redis.as_ref().map(RedisSettings::check) {
            wrong(&why);
        }
        if publishes && self.ledger != LedgerName::Postgres {
            wrong(
                "rabbitmq and kafka: they need ledger = \"postgres\", where it is kept how far the \
                 feed was sent on",
            );
        }
        #[cfg(feature = "cluster")]
        {
            let rabbitmq = self.rabbitmq.as_ref().map_or(Ok(()), RabbitSettings::check);
            let kafka = self.kafka.as_ref().map_or(Ok(()), KafkaSettings::check);
            [rabbitmq, kafka].into_iter().filter_map(Result::err).for_each(|why| wrong(&why));
        }
        let FlagSettings { streams_queue, lua_atomic, composite_score } = self.flags;
        if [streams_queue, lua_atomic, composite_score].iter().any(|percent| *percent > 100) {
            wrong("flags: use 0 to 100 percent each");
        }
        match &self.postgres {
            None if self.ledger == LedgerName::Postgres => wrong("postgres: set url"),
            None => {}
            Some(postgres) => postgres.check().unwrap_or_else(|why: String| wrong(&why)),
        }
        found
    }
}
