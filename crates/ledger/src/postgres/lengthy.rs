//! Reads that may look at very many rows: they may take longer than anything else, a few at once.

use super::database::{Ask, Database};
use super::fault::Fault;
use crate::LedgerError;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

/// How many times as long as anything else they may take: 40 s, less than proxies wait for an answer.
const LENGTHY: u32 = 8;

/// Does them. They wait for their turn, so that most of the connections are there for the sale.
#[derive(Clone)]
pub(super) struct Lengthy {
    runtime: Handle,
    database: Arc<Database>,
    turns: Arc<Semaphore>,
}

impl Lengthy {
    pub(super) fn new(database: Arc<Database>, pool_size: usize) -> Self {
        let turns = Arc::new(Semaphore::new((pool_size / 4).max(1)));
        Self { runtime: Handle::current(), database, turns }
    }

    /// Until when a caller who asks now is told something.
    pub(super) fn until(&self) -> Instant {
        Instant::now() + self.database.patience() * LENGTHY
    }

    /// Has something read until then. Whoever hangs up before their turn takes none. What has begun is
    /// done to its end, whether or not the caller waits for it: nobody else is given a connection that
    /// is still at it.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        what: impl Ask<T> + 'static,
        until: Instant,
    ) -> Result<T, LedgerError> {
        let turn = self.turns.clone().acquire_owned();
        let turn = timeout_at(until, turn).await.map_err(|_| Fault::Slow)?;
        let database = self.database.clone();
        let task = self.runtime.spawn(async move {
            let _turn = turn;
            database.ask_until(&what, until).await.map_err(LedgerError::from)
        });
        task.await.unwrap_or_else(|_| Err(LedgerError::Unavailable("it has stopped".into())))
    }
}
