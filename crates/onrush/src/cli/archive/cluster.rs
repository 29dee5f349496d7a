//! The same of a cluster.

use super::summed;
use onrush_base::config::Config;
use onrush_core::ids::EventId;
use onrush_server::history::move_history;
use onrush_server::moved::{Moved, Waiting};
use onrush_store::archive_file::{ArchiveStep, ArchivedEvent};
use onrush_terminal::process::runtime;
use onrush_terminal::show::count;
use serde::Serialize;
use std::path::Path;

/// What was done. Its JSON is one line.
#[derive(Serialize)]
pub(super) struct Report {
    archived: Vec<ArchivedEvent>,
    before: usize,
    waiting: Vec<Stays>,
    archive_bytes_before: u64,
    archive_bytes: u64,
    database_bytes_before: u64,
    database_bytes: u64,
}

/// An event whose history stays, and because of whom.
#[derive(Serialize)]
struct Stays {
    event: EventId,
    reader: String,
    #[serde(skip)]
    is_ledger: bool,
    reached: u64,
    last: u64,
}

/// Moves what can be moved.
pub(super) fn move_files(
    config: &Config,
    to: &Path,
    on: &mut (dyn FnMut(ArchiveStep) + Send),
) -> Result<Report, String> {
    let moved = runtime()?.block_on(move_history(config, to, on))?;
    let Moved { archived, before, waiting, bytes_before, bytes } = moved;
    let stays = |waiting: Waiting| {
        let Waiting { event, reader, is_ledger, reached, last } = waiting;
        Stays { event, reader, is_ledger, reached, last }
    };
    Ok(Report {
        archived,
        before,
        waiting: waiting.into_iter().map(stays).collect(),
        archive_bytes_before: bytes_before.0,
        archive_bytes: bytes.0,
        database_bytes_before: bytes_before.1,
        database_bytes: bytes.1,
    })
}

impl Report {
    /// Says it in sentences.
    pub(super) fn tell(&self) {
        println!(
            "{}; the archive has {} bytes of the database's {}, and had {} of {}",
            summed(&self.archived, self.before),
            count(self.archive_bytes),
            count(self.database_bytes),
            count(self.archive_bytes_before),
            count(self.database_bytes_before),
        );
        for Stays { event, reader, is_ledger, reached, last } in &self.waiting {
            let (reached, last) = (count(*reached), count(*last));
            if *is_ledger {
                println!(
                    "{event} stays: the ledger has followed the feed to {reached} of {last}; start a \
                     node, and try again a second later"
                );
            } else {
                println!(
                    "{event} stays: {reader} has read the feed to {reached} of {last}; try again later, \
                     or, if it is gone for good, remove its row from table cursors"
                );
            }
        }
    }
}
