//! What nodes share beside engine and ledger, in the ledger's database.

use onrush_base::cluster_store::{ClusterStore, Pending, WantedPool};
use onrush_bridge::cursors::{CursorError, Cursors, Fence, Pending as CursorPending};
use onrush_core::ids::EventId;
use onrush_ledger::LedgerError;
use onrush_ledger::postgres::{InventoryRow, PgLedger};
use onrush_store::Seq;
use std::io;
use std::sync::Arc;

/// What nodes share, as one of them uses it.
pub(crate) struct PgClusterStore {
    ledger: Arc<PgLedger>,
    /// Who takes turns and leases.
    node: String,
}

impl PgClusterStore {
    /// In a ledger's database, for the node of this name.
    pub(crate) fn new(ledger: Arc<PgLedger>, node: String) -> Self {
        Self { ledger, node }
    }
}

fn answer<T: Send + 'static, U: 'static>(
    asked: onrush_ledger::Pending<T>,
    make: impl FnOnce(T) -> U + Send + 'static,
) -> Pending<U> {
    Box::pin(async move { asked.await.map(make).map_err(io::Error::other) })
}

impl ClusterStore for PgClusterStore {
    fn keep(&self, name: String, bytes: Vec<u8>) -> Pending<Vec<u8>> {
        answer(self.ledger.keep_file(name, bytes), |kept| kept)
    }

    fn fetch(&self, name: String) -> Pending<Option<Vec<u8>>> {
        answer(self.ledger.file_content(name), |found| found)
    }

    fn all(&self, prefix: String) -> Pending<Vec<(String, Vec<u8>)>> {
        answer(self.ledger.files(prefix), |found| found)
    }

    fn replace(&self, name: String, before: Option<Vec<u8>>, bytes: Vec<u8>) -> Pending<bool> {
        answer(self.ledger.replace_file(name, before, bytes), |replaced| replaced)
    }

    fn forget(&self, names: Vec<String>) -> Pending<()> {
        answer(self.ledger.forget_files(names), |()| ())
    }

    fn take_turn(&self, name: String, ttl_ms: u32) -> Pending<bool> {
        let lease = self.ledger.lease(&format!("turn:{name}"), &self.node, ttl_ms);
        answer(lease, |fence| fence.is_some())
    }

    fn end_turn(&self, name: String) -> Pending<()> {
        answer(self.ledger.release(&format!("turn:{name}"), &self.node), |()| ())
    }

    fn inventory(&self, event: Option<EventId>) -> Pending<Vec<WantedPool>> {
        let wanted = |row: InventoryRow| {
            let InventoryRow { event, pool, capacity, price_minor } = row;
            WantedPool { event, pool, capacity, price_minor }
        };
        answer(self.ledger.inventory(event), move |rows| rows.into_iter().map(wanted).collect())
    }

    fn set_flag(&self, name: String, percent: u8) -> Pending<()> {
        answer(self.ledger.set_flag(&name, percent), |()| ())
    }
}

fn cursor_answer<T: Send + 'static, U: 'static>(
    asked: onrush_ledger::Pending<T>,
    make: impl FnOnce(T) -> U + Send + 'static,
) -> CursorPending<U> {
    Box::pin(async move {
        asked.await.map(make).map_err(|error| match error {
            LedgerError::Conflict => CursorError::Fenced,
            LedgerError::Unavailable(why) => CursorError::Unavailable(why),
        })
    })
}

impl Cursors for PgClusterStore {
    fn lease(&self, name: String, ttl_ms: u32) -> CursorPending<Option<Fence>> {
        cursor_answer(self.ledger.lease(&name, &self.node, ttl_ms), |fence| fence.map(Fence))
    }

    fn release(&self, name: String) -> CursorPending<()> {
        cursor_answer(self.ledger.release(&name, &self.node), |()| ())
    }

    fn cursor(&self, name: String) -> CursorPending<Seq> {
        cursor_answer(self.ledger.cursor_of(&name), Seq)
    }

    fn set_cursor(&self, name: String, fence: Fence, value: Seq) -> CursorPending<()> {
        cursor_answer(self.ledger.set_cursor(&name, fence.0, value.0), |()| ())
    }
}
