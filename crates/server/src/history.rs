//! The history of archived events goes from a cluster's archive into files; or why it cannot, in a
//! program that was built without clusters.

use onrush_base::config::Config;
use onrush_core::ids::EventId;
use onrush_store::archive_file::{ArchiveStep, ArchivedEvent};
use std::path::Path;

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

/// Moves what can be moved into files in `dir`, while nodes may run. `on` is told of each step.
///
/// # Errors
/// Why it has stopped, as a sentence. Everything is whole, and what was done is done: asked again,
/// it goes on.
#[cfg(feature = "cluster")]
pub async fn move_history(
    config: &Config,
    dir: &Path,
    on: &mut (dyn FnMut(ArchiveStep) + Send),
) -> Result<Moved, String> {
    use crate::cluster::history::{move_into_files, publishers_in};
    let settings = config.postgres.as_ref().ok_or("postgres: it is not configured")?;
    let ledger = crate::cluster::open_ledger(settings).await?;
    move_into_files(&ledger, &publishers_in(config), dir, on).await
}

/// Moves nothing.
///
/// # Errors
/// Always: this program was built without Redis and PostgreSQL.
#[cfg(not(feature = "cluster"))]
pub async fn move_history(
    _config: &Config,
    _dir: &Path,
    _on: &mut (dyn FnMut(ArchiveStep) + Send),
) -> Result<Moved, String> {
    Err("this program was built without Redis and PostgreSQL; build it with --features cluster"
        .into())
}
