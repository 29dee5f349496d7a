//! What two nodes of one story share: a Redis, a database, and the ledger in it as the test reads it.

use super::Listening;
use onrush_ledger::Pending;
use onrush_ledger::postgres::{PgLedger, PgOptions};
use onrush_testkit::{NotStarted, Postgres, Redis, RedisOptions, Shared as One};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// One PostgreSQL for all stories, with a database for each.
static POSTGRES: One<Postgres> = One::new();

pub(super) struct Shared {
    redis: Redis,
    url: String,
    pub(super) ledger: SharedLedger,
    /// The node that takes over.
    pub(super) other: Option<Listening>,
    /// It ends with the last story that uses it.
    _postgres: Arc<Postgres>,
}

impl Shared {
    pub(super) fn start() -> Result<Self, NotStarted> {
        let redis =
            Redis::start_with(&RedisOptions { appendonly: true, ..RedisOptions::default() })?;
        let postgres = POSTGRES.get(Postgres::start)?;
        let url = postgres.database()?;
        let ledger = SharedLedger::open(&url);
        Ok(Self { redis, url, ledger, other: None, _postgres: postgres })
    }

    pub(super) fn settings(&self) -> String {
        format!(
            "engine = \"redis\"\nledger = \"postgres\"\n[redis]\nurls = [{:?}]\nsweep_ms = 200\n\
             [postgres]\nurl = {:?}\nconnections = 4\n",
            self.redis.url(),
            self.url
        )
    }
}

/// The ledger, for tests that wait for answers.
pub(super) struct SharedLedger {
    // Dropped before the runtime that does its work.
    ledger: PgLedger,
    runtime: Runtime,
}

impl SharedLedger {
    fn open(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a thread");
        let options = PgOptions { pool_size: 2, ..PgOptions::default() };
        let ledger = runtime.block_on(PgLedger::open(url, options)).expect("it can be opened");
        Self { ledger, runtime }
    }

    pub(super) fn ask<T>(&self, ask: impl FnOnce(&PgLedger) -> Pending<T>) -> T {
        self.runtime.block_on(ask(&self.ledger)).expect("it can be read")
    }
}
