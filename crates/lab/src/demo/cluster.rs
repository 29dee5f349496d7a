//! The demo on a cluster: two nodes on throw-away servers, which are gone when it is over.

use onrush_base::config::Config;
use onrush_base::config::{
    EngineName, KafkaSettings, LedgerName, PostgresSettings, RabbitSettings, RedisSettings, Secret,
};
use onrush_ledger::postgres::{PgLedger, PgOptions};
use onrush_server::cluster::audit_redis;
use onrush_testkit::{Kafka, NotStarted, Postgres, RabbitMq, Redis, RedisOptions};
use std::sync::Arc;

/// What proves to the sandbox who asks, and what signs its messages: both nodes have to know.
const SECRET: &str = "the sandbox of a demo";
const WEBHOOK_SECRET: &str = "the messages of a demo";

/// Everything that two nodes share.
pub(super) struct Servers {
    redis: Redis,
    postgres: Postgres,
    rabbitmq: RabbitMq,
    kafka: Kafka,
}

impl Servers {
    /// Starts them, each in a folder of its own; takes some seconds.
    ///
    /// # Errors
    /// What is missing, and how to install it.
    pub(super) fn start() -> Result<Self, String> {
        let started = || -> Result<Self, NotStarted> {
            let options = RedisOptions { appendonly: true, ..RedisOptions::default() };
            Ok(Self {
                redis: Redis::start_with(&options)?,
                postgres: Postgres::start()?,
                rabbitmq: RabbitMq::start()?,
                kafka: Kafka::start()?,
            })
        };
        started().map_err(|error| error.to_string())
    }

    /// The configuration of a node on them.
    pub(super) fn configure(&self, config: &mut Config) {
        config.engine = EngineName::Redis;
        config.ledger = LedgerName::Postgres;
        config.redis = Some(RedisSettings::new(vec![self.redis.url()]));
        config.postgres = Some(PostgresSettings::new(Secret::from(self.postgres.url())));
        config.rabbitmq = Some(RabbitSettings::new(self.rabbitmq.url()));
        config.kafka = Some(KafkaSettings::new(vec![self.kafka.bootstrap_servers()]));
        config.sandbox.secret = Some(Secret::from(SECRET.to_owned()));
        config.sandbox.webhook_secret = Some(Secret::from(WEBHOOK_SECRET.to_owned()));
    }

    /// What is wrong with what Redis has, by what the archive says; one sentence each.
    ///
    /// # Errors
    /// If either cannot be read.
    pub(super) async fn audit(&self) -> Result<Vec<String>, String> {
        let ledger = PgLedger::open(&self.postgres.url(), PgOptions::default()).await;
        let ledger = Arc::new(ledger.map_err(|error| error.to_string())?);
        audit_redis(&RedisSettings::new(vec![self.redis.url()]), &ledger).await
    }
}
