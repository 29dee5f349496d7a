//! What the nodes of a cluster share beside money: the archive of the feed, leases, cursors and flags.

use super::PgLedger;
use super::archive::{
    Append, Appended, ArchiveHead, ArchivedRow, BeginEpoch, Events, HeadOf, ReadEvent, ReadFeed,
    RowToArchive,
};
use super::shared::{AllFlags, CursorOf, Flags, Lease, LowerCursors, Release, SetCursor, SetFlag};
use super::writer::{Lane, Slot};
use crate::Pending;
use onrush_core::ids::EventId;
use std::sync::Arc;
use tokio::sync::watch;

impl PgLedger {
    /// Archives decisions of one event, in order. Those with a number that is archived already are
    /// passed over; `before` is the mark of the decision before the first.
    ///
    /// [`Appended::Diverged`], and nothing is written, if the highest number that is given and
    /// archived has two marks, or, where no number is, if `before` is not the mark of the last
    /// archived decision, or the first number is not the one after that decision's. A mark that is not
    /// known fits any; a decision whose row is in a file fits none.
    ///
    /// Whoever reads by number sees no number appear below one that was visible already. Decisions
    /// of an epoch that the archive did not know of take the place of those with the same numbers
    /// and higher ones: these are marked as lost, and are not read any more.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`](crate::LedgerError::Conflict) if the event's epoch in the archive
    /// is higher; nothing is written then.
    pub fn append(
        &self,
        event: EventId,
        epoch: u64,
        before: Option<u64>,
        rows: Vec<RowToArchive>,
    ) -> Pending<Appended> {
        let (slot, answer) = Slot::new();
        let until = self.until();
        let newest = self.news.newest.clone();
        let append = Append { event, epoch, before, rows, newest, given: 0, slot };
        self.appends.put(append, Lane::Always, until);
        self.answer(answer, until)
    }

    /// Decisions of all events with a number above `after`, in order.
    pub fn read_feed(&self, after: u64, limit: usize) -> Pending<Vec<ArchivedRow>> {
        self.read(ReadFeed(after, limit))
    }

    /// Decisions of one event with an own number above `after`, in order.
    pub fn read_event(
        &self,
        event: EventId,
        after: u64,
        limit: usize,
    ) -> Pending<Vec<ArchivedRow>> {
        self.read(ReadEvent(event, after, limit))
    }

    /// How far an event is archived; all zero if nothing is.
    pub fn head(&self, event: EventId) -> Pending<ArchiveHead> {
        self.read(HeadOf(event))
    }

    /// Begins another epoch of an event. Gives the new one and the last decision that counts.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`](crate::LedgerError::Conflict) if the event's epoch is not `epoch` any more.
    pub fn begin_epoch(&self, event: EventId, epoch: u64) -> Pending<ArchiveHead> {
        self.write(BeginEpoch(event, epoch))
    }

    /// All events with anything archived, in the order they were created.
    pub fn events(&self) -> Pending<Vec<EventId>> {
        self.read(Events)
    }

    /// The highest number in the archive, as far as is known here; it rises as other nodes archive, too.
    pub fn newest(&self) -> watch::Receiver<u64> {
        self.news.newest.subscribe()
    }

    /// Takes or renews a lease for `ttl_ms`, by the database's clock. Gives its fencing number,
    /// which rises each time the lease changes hands or ran out; `None` if another owner has it.
    /// `owner` has to be another one in each run of a process.
    pub fn lease(&self, name: &str, owner: &str, ttl_ms: u32) -> Pending<Option<u64>> {
        self.write(Lease { name: name.to_owned(), owner: owner.to_owned(), ttl_ms })
    }

    /// Gives a lease back, if `owner` has it.
    pub fn release(&self, name: &str, owner: &str) -> Pending<()> {
        self.write(Release { name: name.to_owned(), owner: owner.to_owned() })
    }

    /// How far whoever uses this name has come; 0 at first.
    pub fn cursor_of(&self, name: &str) -> Pending<u64> {
        self.read(CursorOf(name.to_owned()))
    }

    /// Says how far whoever uses this name has come, under the fencing number of their lease.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`](crate::LedgerError::Conflict) if somebody with a higher one has written it.
    pub fn set_cursor(&self, name: &str, fence: u64, value: u64) -> Pending<()> {
        self.write(SetCursor { name: name.to_owned(), fence, value })
    }

    /// Lowers every cursor above `end` to it, for what they read ends there. Gives their names and
    /// where they were, by name.
    pub fn lower_cursors(&self, end: u64) -> Pending<Vec<(String, u64)>> {
        self.write(LowerCursors(end))
    }

    /// All flags.
    pub fn flags(&self) -> Pending<Flags> {
        self.read(AllFlags)
    }

    /// Sets a flag for `percent` (0 to 100) of the users; all nodes hear of it within a second.
    pub fn set_flag(&self, name: &str, percent: u8) -> Pending<()> {
        self.write(SetFlag { name: name.to_owned(), percent })
    }

    /// All flags as far as is known here, now and whenever one changes.
    pub fn watch_flags(&self) -> watch::Receiver<Arc<Flags>> {
        self.news.flags.clone()
    }
}
