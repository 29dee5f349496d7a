//! The archive of the feed: what outlives Redis, and what all readers of the feed read.
//!
//! ```text
//! scripts ─► stream of the event   ─► archiver ─► archive   ─► feeds
//!            (numbered per event)       (numbered over all) └─► rebuilding an event that lost its tail
//! ```

use super::head::{Head, Mark};
use crate::engine::{FeedEntry, Seq};
use onrush_core::ids::EventId;
use std::future::Future;
use std::pin::Pin;
use tokio::sync::watch;

/// Why the archive did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// The event was rebuilt meanwhile: what the caller read from its stream counts no more.
    #[error("the event was rebuilt meanwhile")]
    Superseded,
    /// What the caller read from its stream does not go on from what is archived: Redis lost
    /// decisions that the archive has, and made others under their numbers, or the archive lost some.
    #[error("the archive has other decisions under these numbers, or lacks some before them")]
    Diverged,
    /// It cannot be read or written now.
    #[error("the archive cannot be used: {0}")]
    Unavailable(String),
    /// There is something in it that this node does not understand; one of a later version may.
    #[error("the archive cannot be read: {0}")]
    Unreadable(String),
}

/// A future answer of the archive.
pub type Pending<T> = Pin<Box<dyn Future<Output = Result<T, ArchiveError>> + Send>>;

/// Decisions of one event on their way into the archive, in order and without gaps between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToArchive {
    /// The event.
    pub event: EventId,
    /// How often the event was rebuilt before these were decided.
    pub epoch: u64,
    /// The mark of the decision before the first.
    pub before: Option<Mark>,
    /// The decisions.
    pub decisions: Vec<ToArchiveEntry>,
}

/// One decision on its way into the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToArchiveEntry {
    /// The decision; its `seq` is the event's own number.
    pub entry: FeedEntry,
    /// Its changes as JSON, as they were decided: that is what is archived. What a later version wrote
    /// may say more than this one has read, and the mark is of all of it.
    pub text: String,
    /// Its mark.
    pub mark: Option<Mark>,
}

/// One archived decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// Its number among the decisions of all events.
    pub number: Seq,
    /// The decision; its `seq` is the event's own number.
    pub entry: FeedEntry,
    /// Its mark; `None` if it was archived without one.
    pub mark: Option<Mark>,
}

/// Where the feed is kept for good. Every write is durable before it is answered.
pub trait Archive: Send + Sync + 'static {
    /// Archives decisions. Those that are archived already are passed over.
    ///
    /// Which those are the event's own numbers say, and the marks whether they are the same: the
    /// highest number that is here and there has to have one mark, and where they only meet, the
    /// mark before the first has to be that of the last archived one. A mark that is not known
    /// fits any; the one of a decision that has left for a file fits none.
    ///
    /// Whoever reads by number sees no number appear below one that was visible already.
    ///
    /// # Errors
    /// [`ArchiveError::Superseded`] if the event's epoch in the archive is higher,
    /// [`ArchiveError::Diverged`] if the marks do not fit, or if the decisions leave out some after the
    /// last archived one; nothing is written then.
    fn append(&self, what: ToArchive) -> Pending<()>;

    /// Decisions of all events with a number above `after`, in order.
    fn read(&self, after: Seq, limit: usize) -> Pending<Vec<Archived>>;

    /// Decisions of one event with an own number above `after`, in order.
    fn read_event(&self, event: EventId, after: Seq, limit: usize) -> Pending<Vec<Archived>>;

    /// How far an event is archived; all zero if nothing is.
    fn head(&self, event: EventId) -> Pending<Head>;

    /// Begins another epoch of an event that lost its tail: from then on what is left of the old
    /// one is refused. Gives the new epoch and the last decision that counts.
    ///
    /// # Errors
    /// [`ArchiveError::Superseded`] if the event's epoch is not `epoch` any more: somebody else has
    /// begun another one.
    fn begin_epoch(&self, event: EventId, epoch: u64) -> Pending<Head>;

    /// All events with anything archived, in the order they were created.
    fn events(&self) -> Pending<Vec<EventId>>;

    /// The highest number there is to read, as far as is known here; it rises as others archive, too.
    fn newest(&self) -> watch::Receiver<Seq>;

    /// Takes or renews a lease for `ttl_ms`, by the archive's own clock. Gives its fencing number,
    /// which rises each time the lease changes hands; `None` if somebody else has it.
    fn lease(&self, name: String, ttl_ms: u32) -> Pending<Option<u64>>;

    /// Gives a lease back, if it is ours.
    fn release(&self, name: String) -> Pending<()>;
}
