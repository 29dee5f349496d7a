//! What runs the rules and what remembers: which, and where they are.

use super::Config;
use super::secret::Secret;
use onrush_store::flags::Flag;
use serde::Deserialize;

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

impl std::str::FromStr for EngineName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "embedded" => Ok(Self::Embedded),
            "redis" => Ok(Self::Redis),
            _ => Err("use embedded or redis"),
        }
    }
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

impl std::str::FromStr for LedgerName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "sqlite" => Ok(Self::Sqlite),
            "postgres" => Ok(Self::Postgres),
            _ => Err("use sqlite or postgres"),
        }
    }
}

/// Redis or Redis Cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisSettings {
    /// One server, such as `redis://127.0.0.1:6379`, or several nodes of a cluster.
    pub urls: Vec<String>,
    /// Whether they are a cluster.
    #[serde(default)]
    pub cluster: bool,
    /// How often every event is looked at in case nobody else does, in milliseconds.
    #[serde(default = "sweep_ms")]
    pub sweep_ms: u32,
}

impl RedisSettings {
    /// One server or several nodes, with the defaults.
    #[must_use]
    pub fn new(urls: Vec<String>) -> Self {
        Self { urls, cluster: false, sweep_ms: sweep_ms() }
    }
}

fn sweep_ms() -> u32 {
    1_000
}

/// PostgreSQL.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostgresSettings {
    /// Where it is and who we are, such as `postgres://onrush:secret@127.0.0.1/onrush`.
    pub url: Secret,
    /// Connections that are kept open.
    #[serde(default = "connections")]
    pub connections: usize,
}

impl PostgresSettings {
    /// A server, with the defaults.
    #[must_use]
    pub fn new(url: Secret) -> Self {
        Self { url, connections: connections() }
    }
}

fn connections() -> usize {
    8
}

#[cfg(feature = "cluster")]
pub use super::kafka::KafkaSettings;
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

    /// Takes what a variable `FEATURE_…` says; other variables of this prefix are somebody else's.
    pub(super) fn set(&mut self, flag: &str, text: &str) -> Result<(), String> {
        let percent = match flag {
            "STREAMS_QUEUE" => &mut self.streams_queue,
            "LUA_ATOMIC" => &mut self.lua_atomic,
            "COMPOSITE_SCORE" => &mut self.composite_score,
            _ => return Ok(()),
        };
        *percent = match text.trim() {
            "true" => 100,
            "false" => 0,
            number => number
                .parse()
                .ok()
                .filter(|percent| *percent <= 100)
                .ok_or("use true, false, or 0 to 100 percent")?,
        };
        Ok(())
    }
}

impl Config {
    /// Takes where RabbitMQ or Kafka is from a variable.
    #[cfg(feature = "cluster")]
    pub(super) fn set_publisher(&mut self, key: &str, text: &str) {
        if key == "RABBITMQ_URL" {
            let before = self.rabbitmq.take();
            let named = RabbitSettings::new(text.to_owned());
            self.rabbitmq = Some(match before {
                Some(before) => RabbitSettings { url: named.url, ..before },
                None => named,
            });
        } else {
            let brokers = text.split(',').map(|broker| broker.trim().to_owned()).collect();
            let before = self.kafka.take().unwrap_or_else(|| KafkaSettings::new(Vec::new()));
            self.kafka = Some(KafkaSettings { brokers, ..before });
        }
    }

    /// Notices that RabbitMQ or Kafka is wanted.
    #[cfg(not(feature = "cluster"))]
    pub(super) fn set_publisher(&mut self, key: &str, _: &str) {
        let wanted = Some(serde::de::IgnoredAny);
        if key == "RABBITMQ_URL" { self.rabbitmq = wanted } else { self.kafka = wanted }
    }

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
            match &self.redis {
                None => wrong("redis: set urls"),
                Some(redis) if redis.urls.is_empty() => {
                    wrong("redis.urls: name at least one server");
                }
                Some(redis) if !redis.cluster && redis.urls.len() > 1 => {
                    wrong("redis.urls: several servers are a cluster; set redis.cluster = true");
                }
                Some(redis) if redis.sweep_ms == 0 => wrong("redis.sweep_ms: use at least 1"),
                Some(_) => {}
            }
        }
        let schemes = ["redis://", "rediss://", "redis+unix://", "unix://"];
        let urls = self.redis.iter().flat_map(|redis| &redis.urls);
        if urls.into_iter().any(|url| !schemes.iter().any(|scheme| url.starts_with(scheme))) {
            wrong("redis.urls: use the form redis://127.0.0.1:6379");
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
            Some(postgres) => {
                let url = postgres.url.reveal();
                let form = ["postgres://", "postgresql://"];
                // The other form that clients of PostgreSQL know: `host=… user=…`.
                if !form.iter().any(|form| url.starts_with(form)) && !url.contains("host=") {
                    wrong("postgres.url: use the form postgres://onrush:secret@127.0.0.1/onrush");
                }
                if postgres.connections < 2 {
                    wrong("postgres.connections: use at least 2");
                }
            }
        }
        found
    }
}
