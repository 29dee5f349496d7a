//! What the nodes of a cluster share beside money: the archive of the feed, leases, cursors and flags.

use super::PgLedger;
use crate::{LedgerError, Pending};
use onrush_core::Time;
use onrush_core::ids::EventId;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// A decision on its way into the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowToArchive {
    /// The event's own number of it.
    pub seq: u64,
    /// When it was decided.
    pub at: Time,
    /// What changed, as JSON.
    pub changes: String,
}

/// An archived decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedRow {
    /// Its number among the decisions of all events.
    pub number: u64,
    /// The event.
    pub event: EventId,
    /// The event's own number of it.
    pub seq: u64,
    /// How often the event had been rebuilt before it was decided.
    pub epoch: u64,
    /// When it was decided.
    pub at: Time,
    /// What changed, as JSON.
    pub changes: String,
}

/// Flags with the percentage of users for whom they are on.
pub type Flags = BTreeMap<String, u8>;

fn unbuilt<T: Send + 'static>() -> Pending<T> {
    Box::pin(std::future::ready(Err(LedgerError::Unavailable("not built yet".into()))))
}

impl PgLedger {
    /// Archives decisions of one event, in order. Those with a number that is archived already are passed over.
    ///
    /// Whoever reads by number sees no number appear below one that was visible already.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] if the event's epoch in the archive is higher; nothing is written then.
    pub fn append(&self, event: EventId, epoch: u64, rows: Vec<RowToArchive>) -> Pending<()> {
        drop((event, epoch, rows));
        unbuilt()
    }

    /// Decisions of all events with a number above `after`, in order.
    pub fn read_feed(&self, after: u64, limit: usize) -> Pending<Vec<ArchivedRow>> {
        let _ = (after, limit);
        unbuilt()
    }

    /// Decisions of one event with an own number above `after`, in order.
    pub fn read_event(
        &self,
        event: EventId,
        after: u64,
        limit: usize,
    ) -> Pending<Vec<ArchivedRow>> {
        let _ = (event, after, limit);
        unbuilt()
    }

    /// An event's epoch and the own number of its last archived decision; zeros if nothing is archived.
    pub fn head(&self, event: EventId) -> Pending<(u64, u64)> {
        drop(event);
        unbuilt()
    }

    /// Begins another epoch of an event. Gives the new one and the own number of the last decision that counts.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] if the event's epoch is not `epoch` any more.
    pub fn begin_epoch(&self, event: EventId, epoch: u64) -> Pending<(u64, u64)> {
        let _ = (event, epoch);
        unbuilt()
    }

    /// All events with anything archived, in the order they were created.
    pub fn events(&self) -> Pending<Vec<EventId>> {
        unbuilt()
    }

    /// The highest number in the archive, as far as is known here.
    pub fn newest(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }

    /// Takes or renews a lease for `ttl_ms`, by the database's clock. Gives its fencing number, which rises each time the
    /// lease changes hands; `None` if another owner has it.
    pub fn lease(&self, name: &str, owner: &str, ttl_ms: u32) -> Pending<Option<u64>> {
        let _ = (name, owner, ttl_ms);
        unbuilt()
    }

    /// Gives a lease back, if `owner` has it.
    pub fn release(&self, name: &str, owner: &str) -> Pending<()> {
        let _ = (name, owner);
        unbuilt()
    }

    /// How far whoever uses this name has come; 0 at first.
    pub fn cursor_of(&self, name: &str) -> Pending<u64> {
        let _ = name;
        unbuilt()
    }

    /// Says how far whoever uses this name has come, under the fencing number of his lease.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] if somebody with a higher one has written it.
    pub fn set_cursor(&self, name: &str, fence: u64, value: u64) -> Pending<()> {
        let _ = (name, fence, value);
        unbuilt()
    }

    /// All flags.
    pub fn flags(&self) -> Pending<Flags> {
        unbuilt()
    }

    /// Sets a flag for `percent` of the users; all nodes hear of it within a second.
    pub fn set_flag(&self, name: &str, percent: u8) -> Pending<()> {
        let _ = (name, percent);
        unbuilt()
    }

    /// All flags as far as is known here, now and whenever one changes.
    pub fn watch_flags(&self) -> watch::Receiver<Arc<Flags>> {
        watch::channel(Arc::new(Flags::new())).1
    }
}
