//! Which history of a cluster moved into files, and which stays for now.

use onrush_core::ids::EventId;
use onrush_store::archive_file::ArchivedEvent;

/// An event whose history stays for now, because somebody has not read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The event.
    pub event: EventId,
    /// Who has not: the ledger, or the name of a cursor.
    pub reader: String,
    /// Whether that is the ledger.
    pub is_ledger: bool,
    /// How far they have come.
    pub reached: u64,
    /// The number of the event's last decision.
    pub last: u64,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// The events whose history went into files now.
    pub archived: Vec<ArchivedEvent>,
    /// Events whose history was in files before.
    pub before: usize,
    /// Events that were archived, and whose history stays for now.
    pub waiting: Vec<Waiting>,
    /// The bytes of the archive's table with its indexes, and of the whole database, before.
    pub bytes_before: (u64, u64),
    /// The same now.
    pub bytes: (u64, u64),
}
