//! A ledger on PostgreSQL to try.

use onrush_ledger::Ledger;
use onrush_ledger::postgres::{PgLedger, PgOptions};
use onrush_testkit::{Postgres, Shared, need};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_postgres::Client;

static SERVER: Shared<Postgres> = Shared::new();

/// A server for all tests, and a database for this one; `None` where PostgreSQL is not installed.
pub(super) fn database() -> Option<(Arc<Postgres>, String)> {
    let server = need(SERVER.get(Postgres::start))?;
    let url = server.database().expect("a database");
    Some((server, url))
}

/// Opens a ledger as a node does.
pub(super) async fn open(url: &str) -> PgLedger {
    open_with(url, PgOptions { pool_size: 4, ..PgOptions::default() }).await
}

/// Opens a ledger as a node does that was told how.
pub(super) async fn open_with(url: &str, options: PgOptions) -> PgLedger {
    PgLedger::open(url, options).await.expect("opened")
}

/// Waits until so many others wait for what a connection has locked.
pub(super) async fn until_wait_for(client: &Client, others: i64) {
    let waiting = "SELECT count(*) FROM pg_locks \
                   WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))";
    let wait = async {
        while client.query_one(waiting, &[]).await.expect("a row").get::<_, i64>(0) != others {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), wait).await.expect("in time");
}

/// A ledger in a database of its own.
pub(super) struct Books {
    pub(super) url: String,
    ledger: Option<PgLedger>,
    // Stopped after the ledger is closed.
    server: Arc<Postgres>,
}

impl Books {
    /// One, unless PostgreSQL is not installed.
    pub(super) async fn new() -> Option<Self> {
        let (server, url) = database()?;
        let ledger = Some(open(&url).await);
        Some(Self { url, ledger, server })
    }

    /// The ledger with what only this kind has.
    pub(super) fn pg(&self) -> &PgLedger {
        self.ledger.as_ref().expect("it is open")
    }

    /// What `psql` says.
    pub(super) fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.url, sql).expect("rows")
    }

    /// Closes the ledger and opens it again.
    pub(super) async fn reopen(&mut self) {
        self.ledger.take().expect("it is open").close().await;
        self.ledger = Some(open(&self.url).await);
    }
}

impl std::ops::Deref for Books {
    type Target = dyn Ledger;

    fn deref(&self) -> &Self::Target {
        self.ledger.as_ref().expect("it is open")
    }
}
