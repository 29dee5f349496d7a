//! What runs the rules and what remembers money, as configured: opened together, closed together.

use super::restored;
use super::traced::Traced;
use crate::start_error::{Remedy, StartError, Stopped};
use onrush_base::auth::keys::KeyDir;
use onrush_base::cluster_store::ClusterStore;
use onrush_base::config::{Accept, Config, LedgerName};
use onrush_base::metrics::AskPublishers;
use onrush_ledger::Ledger;
use onrush_ledger::sqlite::SqliteLedger;
use onrush_saga::pairing::{Before, Pairing, remember_keys};
use onrush_store::Engine;
use onrush_store::embedded::{Clock, Embedded, Options, Space};
use onrush_store::flags::Flags;
use std::io;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "cluster")]
use crate::cluster::{self, PgClusterStore, PublisherParts, Publishers, RedisNode};
#[cfg(feature = "cluster")]
use onrush_base::config::EngineName;
#[cfg(feature = "cluster")]
use onrush_bridge::cursors::Cursors;
#[cfg(feature = "cluster")]
use onrush_bridge::rabbit::Wake;
#[cfg(feature = "cluster")]
use onrush_ledger::postgres::PgLedger;
#[cfg(feature = "cluster")]
use onrush_store::Seq;

/// How long to wait for others to let go of the engine, at most.
const LET_GO_TRIES: u32 = 200;
const LET_GO_PAUSE: Duration = Duration::from_millis(5);

/// The engine and the ledger of one process, and what it shares with others.
pub(crate) struct Backend {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) ledger: Arc<dyn Ledger>,
    /// The engine's clock.
    pub(crate) clock: Clock,
    /// What holds journal and ledger against each other, if the journal is this process' own.
    pub(crate) pairing: Option<Pairing>,
    /// Flags of the engine on Redis.
    pub(crate) flags: Arc<Flags>,
    /// What all nodes share, if there are several.
    pub(crate) cluster: Option<Arc<dyn ClusterStore>>,
    /// Leases and cursors of those who publish the feed, if nodes share any.
    #[cfg(feature = "cluster")]
    pub(crate) cursors: Option<Arc<dyn Cursors>>,
    #[cfg(feature = "cluster")]
    publishers: Option<Publishers>,
    engine_kind: EngineKind,
    ledger_kind: LedgerKind,
}

enum EngineKind {
    Embedded(Arc<Embedded>),
    #[cfg(feature = "cluster")]
    Redis(RedisNode),
}

enum LedgerKind {
    Sqlite(Arc<SqliteLedger>),
    #[cfg(feature = "cluster")]
    Postgres(Arc<PgLedger>),
}

impl Backend {
    /// Opens what is configured. Recovery reads files for as long as it takes.
    ///
    /// # Errors
    /// Whatever stands in the way, as a sentence.
    pub(crate) async fn open(config: &Config, options: Options) -> Result<Self, StartError> {
        let mut opened = Self::open_kind(config, options).await?;
        if config.telemetry.is_some() {
            opened.engine = Arc::new(Traced(opened.engine));
        }
        Ok(opened)
    }

    async fn open_kind(config: &Config, options: Options) -> Result<Self, StartError> {
        match (config.ledger, config.engine) {
            (LedgerName::Sqlite, _) => {
                let before = look(config).await?;
                let (before, ledger) = open_sqlite(config, before).await?;
                let ledger = Arc::new(ledger);
                let opened = open_embedded(config, options, before, &*ledger).await?;
                let (engine, clock, pairing) = opened;
                Ok(Self {
                    pairing: Some(pairing),
                    engine: engine.clone(),
                    ledger: ledger.clone(),
                    clock,
                    flags: Arc::default(),
                    cluster: None,
                    #[cfg(feature = "cluster")]
                    cursors: None,
                    #[cfg(feature = "cluster")]
                    publishers: None,
                    engine_kind: EngineKind::Embedded(engine),
                    ledger_kind: LedgerKind::Sqlite(ledger),
                })
            }
            #[cfg(feature = "cluster")]
            (LedgerName::Postgres, engine) => {
                let mut shared = Self::open_shared(config, engine, options).await?;
                shared.publish(config);
                Ok(shared)
            }
            #[cfg(not(feature = "cluster"))]
            (LedgerName::Postgres, _) => Err(StartError::Cluster(
                "this program was built without PostgreSQL and Redis".into(),
            )),
        }
    }

    #[cfg(feature = "cluster")]
    async fn open_shared(
        config: &Config,
        engine: EngineName,
        options: Options,
    ) -> Result<Self, StartError> {
        let missing = |what: &str| StartError::Cluster(format!("{what}: it is not configured"));
        let settings = config.postgres.as_ref().ok_or_else(|| missing("postgres"))?;
        let ledger = cluster::open_ledger(settings).await?;
        // A name for leases that no other node has, nor this one after a restart.
        let node = uuid::Uuid::now_v7().simple().to_string();
        let cluster = Arc::new(PgClusterStore::new(ledger.clone(), node.clone()));
        let ledger_kind = LedgerKind::Postgres(ledger.clone());
        match engine {
            EngineName::Embedded => {
                let before = look(config).await?;
                if config.accept_restored == Accept::Everything {
                    lower_cursors(&ledger, before.last()).await?;
                }
                let opened = open_embedded(config, options, before, &*ledger).await?;
                let (engine, clock, pairing) = opened;
                Ok(Self {
                    engine: engine.clone(),
                    ledger,
                    clock,
                    pairing: Some(pairing),
                    flags: Arc::default(),
                    cluster: Some(cluster.clone()),
                    cursors: Some(cluster),
                    publishers: None,
                    engine_kind: EngineKind::Embedded(engine),
                    ledger_kind,
                })
            }
            EngineName::Redis => {
                let redis = config.redis.as_ref().ok_or_else(|| missing("redis"))?;
                let opened = RedisNode::open(redis, config, &ledger, node).await;
                let redis = opened.map_err(StartError::Cluster)?;
                Ok(Self {
                    engine: redis.engine.clone(),
                    ledger,
                    clock: redis.clock.clone(),
                    // Archive and ledger are in one database.
                    pairing: None,
                    flags: redis.flags.clone(),
                    cluster: Some(cluster.clone()),
                    cursors: Some(cluster),
                    publishers: None,
                    engine_kind: EngineKind::Redis(redis),
                    ledger_kind,
                })
            }
        }
    }

    /// The ledger in a file, if it is that one.
    pub(crate) fn sqlite_ledger(&self) -> Option<&Arc<SqliteLedger>> {
        match &self.ledger_kind {
            LedgerKind::Sqlite(ledger) => Some(ledger),
            #[cfg(feature = "cluster")]
            LedgerKind::Postgres(_) => None,
        }
    }

    /// What the disk has left for journal and ledger, if both are on it.
    pub(crate) fn space(&self) -> Option<Arc<Space>> {
        match (&self.engine_kind, &self.ledger_kind) {
            (EngineKind::Embedded(engine), LedgerKind::Sqlite(_)) => Some(engine.space()),
            #[cfg(feature = "cluster")]
            (EngineKind::Embedded(_) | EngineKind::Redis(_), LedgerKind::Postgres(_))
            | (EngineKind::Redis(_), LedgerKind::Sqlite(_)) => None,
        }
    }

    /// What the disk has left that the journal is on, wherever the ledger is.
    pub(crate) fn disk(&self) -> Option<Arc<Space>> {
        match &self.engine_kind {
            EngineKind::Embedded(engine) => Some(engine.space()),
            #[cfg(feature = "cluster")]
            EngineKind::Redis(_) => None,
        }
    }

    /// Whom to ask how those are who carry the feed elsewhere, if anybody does.
    pub(crate) fn publishers(&self) -> Option<AskPublishers> {
        #[cfg(feature = "cluster")]
        return self.publishers.as_ref().map(Publishers::ask);
        #[cfg(not(feature = "cluster"))]
        None
    }

    /// Starts what carries the feed to RabbitMQ and Kafka, as far as that is configured.
    #[cfg(feature = "cluster")]
    fn publish(&mut self, config: &Config) {
        let Some(cursors) = &self.cursors else { return };
        let wake: Wake = match &self.engine_kind {
            // It meets its deadlines by itself.
            EngineKind::Embedded(_) => Arc::new(|_| {}),
            EngineKind::Redis(node) => {
                let engine = Arc::downgrade(&node.engine);
                Arc::new(move |event| {
                    if let Some(engine) = engine.upgrade() {
                        engine.wake(event);
                    }
                })
            }
        };
        let parts = PublisherParts {
            engine: self.engine.clone(),
            ledger: self.ledger.clone(),
            cursors: cursors.clone(),
            wake,
            clock: self.clock.clone(),
        };
        self.publishers = Some(Publishers::start(config, &parts));
    }

    /// Waits until the engine has stopped by itself or the ledger turned out to be damaged, and says why.
    pub(crate) async fn failed(&self) -> Stopped {
        tokio::select! {
            stopped = self.engine_failed() => stopped,
            stopped = self.ledger_failed() => stopped,
        }
    }

    /// What is wrong with the journal, if it turned out to be damaged: the next start is refused.
    pub(crate) fn damage(&self) -> Option<Stopped> {
        match &self.engine_kind {
            EngineKind::Embedded(engine) => {
                engine.damage().map(|why| Stopped { why, remedy: Remedy::Operator })
            }
            // Whoever has the archive looks after its pages.
            #[cfg(feature = "cluster")]
            EngineKind::Redis(_) => None,
        }
    }

    async fn engine_failed(&self) -> Stopped {
        match &self.engine_kind {
            EngineKind::Embedded(engine) => {
                engine.stopped().await;
                let why = engine.failure().unwrap_or_else(|| "the engine was closed".into());
                self.damage().unwrap_or_else(|| Stopped::of_the_moment(why))
            }
            // A Redis that is away comes back; a node waits for it.
            #[cfg(feature = "cluster")]
            EngineKind::Redis(_) => std::future::pending().await,
        }
    }

    async fn ledger_failed(&self) -> Stopped {
        match &self.ledger_kind {
            // A start may take longer to find that than it waits, and would sell until then.
            LedgerKind::Sqlite(ledger) => {
                Stopped { why: ledger.damaged().await, remedy: Remedy::Operator }
            }
            #[cfg(feature = "cluster")]
            LedgerKind::Postgres(ledger) => Stopped::of_the_moment(ledger.fallen().await),
        }
    }

    /// Has the journal remember the keys there are by now.
    pub(crate) fn remember_keys(&self, keys: &KeyDir) -> Result<(), String> {
        match &self.engine_kind {
            EngineKind::Embedded(engine) => remember_keys(engine, keys),
            #[cfg(feature = "cluster")]
            EngineKind::Redis(_) => Ok(()),
        }
    }

    /// Closes everything, once everybody else has let go of it.
    pub(crate) async fn close(self) {
        #[cfg(feature = "cluster")]
        if let Some(publishers) = self.publishers {
            publishers.end().await;
        }
        let Self { engine, ledger, cluster, pairing, engine_kind, ledger_kind, .. } = self;
        drop((engine, ledger, cluster, pairing));
        match engine_kind {
            EngineKind::Embedded(engine) => {
                let_go(&engine).await;
                // The last one to let go closes it, which waits for its threads.
                drop(tokio::task::spawn_blocking(move || drop(engine)).await);
            }
            #[cfg(feature = "cluster")]
            EngineKind::Redis(node) => {
                let engine = node.end().await;
                let_go(&engine).await;
                if let Ok(engine) = Arc::try_unwrap(engine) {
                    engine.close().await;
                }
            }
        }
        match ledger_kind {
            LedgerKind::Sqlite(ledger) => {
                drop(tokio::task::spawn_blocking(move || drop(ledger)).await);
            }
            #[cfg(feature = "cluster")]
            LedgerKind::Postgres(ledger) => {
                let_go(&ledger).await;
                if let Ok(ledger) = Arc::try_unwrap(ledger) {
                    ledger.close().await;
                }
            }
        }
    }
}

/// Waits for others to let go. Streams that just heard goodbye still do; whoever else has it keeps it open.
async fn let_go<T>(shared: &Arc<T>) {
    for _ in 0..LET_GO_TRIES {
        if Arc::strong_count(shared) == 1 {
            return;
        }
        tokio::time::sleep(LET_GO_PAUSE).await;
    }
}

/// Looks at the journal before anything is opened that writes.
async fn look(config: &Config) -> Result<Before, StartError> {
    let data = config.data.clone();
    let accept = config.accept_restored == Accept::Everything;
    let looked = tokio::task::spawn_blocking(move || -> Result<_, StartError> {
        let before = Before::look(&data, accept).map_err(StartError::Engine)?;
        Ok((before.check_keys(&data), before))
    });
    let (keys, before) =
        looked.await.map_err(|error| StartError::Data(io::Error::other(error)))??;
    match keys {
        Err(why) if accept => tracing::warn!(why, "accepted"),
        // Nodes of a cluster get their keys from the database.
        Err(_) if config.ledger == LedgerName::Postgres => {}
        Err(why) => return Err(StartError::Restored(why)),
        Ok(()) => {}
    }
    Ok(before)
}

/// Has those who carry the feed elsewhere begin no later than at the journal's end: from beyond it they
/// would leave out the first decisions that follow. To be called before the engine is opened: from then
/// on the files fit, and the next start need not accept anything. Receivers drop what is sent again.
#[cfg(feature = "cluster")]
async fn lower_cursors(ledger: &PgLedger, last: Seq) -> Result<(), StartError> {
    let lowered = ledger.lower_cursors(last.0).await;
    for (name, was) in lowered.map_err(|error| StartError::Unavailable(error.to_string()))? {
        let (to, by) = (last.0, was - last.0);
        tracing::warn!(name, was, to, by, "accepted: the feed is read anew from this decision on");
    }
    Ok(())
}

/// Opens the ledger in its file, unless it turns out not to belong to the journal.
async fn open_sqlite(
    config: &Config,
    before: Before,
) -> Result<(Before, SqliteLedger), StartError> {
    let (data, accept) = (config.data.clone(), config.accept_restored);
    let accepts_all = accept == Accept::Everything;
    let opened = tokio::task::spawn_blocking(move || -> Result<_, StartError> {
        let followed = SqliteLedger::followed(&data).map_err(StartError::Ledger)?;
        before.check_ledger(&data, followed, accepts_all).map_err(StartError::Restored)?;
        if accept != Accept::Nothing {
            restored::note(&data).map_err(StartError::Data)?;
        }
        let ledger = SqliteLedger::open(&data).map_err(StartError::Ledger)?;
        Ok((before, ledger))
    });
    opened.await.map_err(|error| StartError::Data(io::Error::other(error)))?
}

/// Opens the engine, once journal and ledger turn out to belong together.
async fn open_embedded(
    config: &Config,
    options: Options,
    before: Before,
    ledger: &dyn Ledger,
) -> Result<(Arc<Embedded>, Clock, Pairing), StartError> {
    let unread = |error: onrush_ledger::LedgerError| StartError::Unavailable(error.to_string());
    let position = ledger.position().await.map_err(unread)?;
    let accept = config.accept_restored;
    let accepts_all = accept == Accept::Everything;
    let position = before.position(position, accepts_all);
    let position = position.map_err(StartError::Restored)?;
    // The look is over: nothing is open on the file when the engine opens it.
    drop(before);
    let data = config.data.clone();
    let clock = options.clock.clone();
    let runtime = tokio::runtime::Handle::current();
    let longest_wait = match config.shed_after_ms {
        0 => Duration::MAX,
        ms => Duration::from_millis(ms.into()),
    };
    let accept_restored = options.accept_restored || accepts_all;
    let runtime = options.runtime.or(Some(runtime));
    let options = Options { runtime, accept_restored, longest_wait, ..options };
    let opened = tokio::task::spawn_blocking(move || {
        if accept != Accept::Nothing {
            // Of a ledger in its file this is the second time, which does no harm.
            restored::note(&data).map_err(StartError::Data)?;
        }
        Embedded::open(&data, options).map_err(StartError::Engine)
    });
    let opened = opened.await.map_err(|error| StartError::Data(io::Error::other(error)))?;
    let engine = Arc::new(opened?);
    let pairing = Pairing::begin(engine.clone(), ledger, position).await;
    Ok((engine, clock, pairing.map_err(StartError::Unavailable)?))
}
