//! What a node of a cluster has instead of files: the engine on Redis, the ledger on PostgreSQL,
//! and what all nodes share.

mod archive;
pub mod history;
mod store;
mod watched;

pub(crate) use store::PgClusterStore;

/// Looks at every event in Redis and compares it with what the archive says; gives one sentence for
/// each thing that is wrong. Decides nothing, also where deadlines are due.
///
/// # Errors
/// If Redis or the archive cannot be read, as a sentence.
pub async fn audit_redis(
    settings: &RedisSettings,
    ledger: &Arc<PgLedger>,
) -> Result<Vec<String>, String> {
    let node = uuid::Uuid::now_v7().simple().to_string();
    let archive = open_archive(ledger.clone(), node);
    let options = Options { ticks: false, ..redis_options(settings, archive)? };
    let engine = RedisEngine::open(options).await.map_err(|error| error.to_string())?;
    let report = engine.audit().await.map_err(|failure| failure.to_string())?;
    Ok(report.violations)
}

use crate::start_error::StartError;
use archive::PgArchive;
use onrush_base::config::postgres::SslMode;
use onrush_base::config::{Config, PostgresSettings, RedisSettings, Secret};
use onrush_base::metrics::AskPublishers;
use onrush_bridge::cursors::Cursors;
use onrush_bridge::kafka;
use onrush_bridge::rabbit::{self, Wake};
use onrush_ledger::Ledger;
use onrush_ledger::postgres::{PgLedger, PgOpenError, PgOptions, Protection};
use onrush_store::Engine;
use onrush_store::embedded::{Clock, Correction};
use onrush_store::flags::{Flag, Flags};
use onrush_store::redis::{Archive, Options, RedisEngine};
use onrush_tls::{Verification, client_config};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use watched::Watched;

/// How often the clock is compared with the engine's.
const COMPARE_EVERY: Duration = Duration::from_secs(10);

/// Opens the ledger on PostgreSQL.
///
/// # Errors
/// [`StartError::NewerTables`], or [`StartError::Cluster`] for whatever else is in the way.
pub async fn open_ledger(settings: &PostgresSettings) -> Result<Arc<PgLedger>, StartError> {
    let address = settings.address().map_err(StartError::Cluster)?;
    let place = "postgres.certificates";
    let certificates = address.certificates.load(place).map_err(StartError::Cluster)?;
    let tls = |verification| {
        let config = client_config(&certificates, verification);
        config.map(Arc::new).map_err(|why| StartError::Cluster(format!("{place}: {why}")))
    };
    let protection = match address.mode {
        SslMode::Disable => Protection::Nothing,
        SslMode::Prefer => Protection::IfOffered(tls(Verification::Nothing)?),
        SslMode::Require(verification) => Protection::Tls(tls(verification)?),
    };
    let options = PgOptions { pool_size: settings.connections, protection, ..PgOptions::default() };
    let opened = PgLedger::open(address.url.reveal(), options).await;
    opened.map(Arc::new).map_err(|error| match error {
        PgOpenError::Newer { .. } => StartError::NewerTables(error.to_string()),
        PgOpenError::Address(_)
        | PgOpenError::Unreachable(_)
        | PgOpenError::Refused(_)
        | PgOpenError::Tables(_) => StartError::Cluster(error.to_string()),
    })
}

/// The archive of the feed in a ledger's database, for the node of this name. Must be called in a
/// runtime.
#[must_use]
pub fn open_archive(ledger: Arc<PgLedger>, node: String) -> Arc<dyn Archive> {
    Arc::new(PgArchive::new(ledger, node))
}

/// The usual options for the engine on the configured Redis.
fn redis_options(settings: &RedisSettings, archive: Arc<dyn Archive>) -> Result<Options, String> {
    let plain = |urls: &[Secret]| urls.iter().map(|url| url.reveal().to_owned()).collect();
    let (urls, sentinels) = (plain(&settings.urls), plain(&settings.sentinels));
    let certificates = settings.certificates.load("redis.certificates")?;
    Ok(Options { sentinels, certificates, ..Options::new(urls, settings.cluster, archive) })
}

/// An engine on Redis and the tasks that go with it.
pub(crate) struct RedisNode {
    pub(crate) engine: Arc<RedisEngine>,
    /// The engine's clock, as this node knows it.
    pub(crate) clock: Clock,
    pub(crate) flags: Arc<Flags>,
    tasks: Vec<JoinHandle<()>>,
}

impl RedisNode {
    /// Connects to Redis, with the archive in the ledger's database.
    ///
    /// # Errors
    /// Why it cannot be used, as a sentence.
    pub(crate) async fn open(
        settings: &RedisSettings,
        config: &Config,
        ledger: &Arc<PgLedger>,
        node: String,
    ) -> Result<Self, String> {
        let flags = first_flags(config);
        let archive = open_archive(ledger.clone(), node);
        let options = Options {
            sweep_ms: settings.sweep_ms,
            copies: settings.copies,
            flags: flags.clone(),
            ..redis_options(settings, archive)?
        };
        #[cfg(feature = "testing")]
        onrush_store::redis::points::tell(onrush_saga::kill::reached);
        let engine = RedisEngine::open(options).await.map_err(|error| error.to_string())?;
        let engine = Arc::new(engine);
        let correction = Correction::default();
        compare(&engine, &correction).await?;
        let tasks = vec![
            tokio::spawn(follow_clock(engine.clone(), correction.clone())),
            tokio::spawn(follow_flags(ledger.clone(), flags.clone())),
        ];
        Ok(Self { engine, clock: Clock::Corrected(correction), flags, tasks })
    }

    /// Ends the tasks and gives the engine back, to be closed.
    pub(crate) async fn end(self) -> Arc<RedisEngine> {
        for task in &self.tasks {
            task.abort();
        }
        for task in self.tasks {
            // Aborted, as it should be.
            drop(task.await);
        }
        self.engine
    }
}

/// The flags as they are until somebody sets them at run time.
fn first_flags(config: &Config) -> Arc<Flags> {
    let flags = Flags::default();
    for flag in Flag::ALL {
        flags.set(flag, config.flags.percent(flag));
    }
    Arc::new(flags)
}

async fn compare(engine: &RedisEngine, correction: &Correction) -> Result<(), String> {
    let answer = engine.events().await.map_err(|failure| failure.to_string())?;
    correction.set_to(answer.at);
    Ok(())
}

/// Keeps the correction of this node's clock right.
async fn follow_clock(engine: Arc<RedisEngine>, correction: Correction) {
    loop {
        tokio::time::sleep(COMPARE_EVERY).await;
        if let Err(error) = compare(&engine, &correction).await {
            tracing::debug!(error, "the clock could not be compared with the engine's");
        }
    }
}

/// Keeps this node's flags as they were last set on any node.
async fn follow_flags(ledger: Arc<PgLedger>, flags: Arc<Flags>) {
    let mut heard = ledger.watch_flags();
    loop {
        for (name, percent) in &**heard.borrow_and_update() {
            match name.parse::<Flag>() {
                Ok(flag) => flags.set(flag, *percent),
                // A newer node may know flags that this one does not.
                Err(_) => tracing::debug!(name, "a flag of this name is not known here"),
            }
        }
        if heard.changed().await.is_err() {
            return;
        }
    }
}

/// What those who carry the feed to other servers work with.
pub(crate) struct PublisherParts {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) cursors: Arc<dyn Cursors>,
    /// Has an event's deadlines looked at.
    pub(crate) wake: Wake,
    pub(crate) clock: Clock,
}

/// What carries the feed to other servers.
pub(crate) struct Publishers {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
    watched: Arc<Watched>,
}

impl Publishers {
    /// Starts those that are configured.
    pub(crate) fn start(config: &Config, parts: &PublisherParts) -> Self {
        let stop = watch::Sender::new(false);
        let mut tasks = Vec::new();
        let mut watched = Watched::new(parts.engine.clone(), parts.cursors.clone());
        if let Some(settings) = &config.rabbitmq {
            let health = Arc::<rabbit::Health>::default();
            watched.rabbit = Some((rabbit::cursor_name(settings), health.clone()));
            let parts = rabbit::RabbitDeps {
                engine: parts.engine.clone(),
                cursors: parts.cursors.clone(),
                wake: parts.wake.clone(),
                clock: parts.clock.clone(),
                health,
            };
            tasks.extend(rabbit::run(settings, &parts, &stop.subscribe()));
        }
        if let Some(settings) = &config.kafka {
            let health = Arc::<kafka::Health>::default();
            watched.kafka = Some((kafka::cursor_name(settings), health.clone()));
            let parts = kafka::PublisherDeps {
                engine: parts.engine.clone(),
                ledger: parts.ledger.clone(),
                cursors: parts.cursors.clone(),
                health,
            };
            tasks.push(kafka::run(settings, &parts, &stop.subscribe()));
        }
        Self { stop, tasks, watched: Arc::new(watched) }
    }

    /// Whom to ask how they are.
    pub(crate) fn ask(&self) -> AskPublishers {
        let watched = self.watched.clone();
        Arc::new(move || {
            let watched = watched.clone();
            Box::pin(async move { watched.figures().await })
        })
    }

    /// Ends them.
    pub(crate) async fn end(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            if task.await.is_err() {
                tracing::error!("a publisher of the feed panicked");
            }
        }
    }
}
