//! What an engine reads from its files, from texts instead: for a fuzzer, which has no files.

use super::events::Events;
use super::snapshot;
use crate::engine::{FeedEntry, Seq};
use onrush_core::ids::EventId;
use onrush_core::snapshot::SnapshotRow;

/// A snapshot's lines with the trailer that belongs to them, so that the checksum keeps nothing out.
#[must_use]
pub fn sealed(lines: &[u8]) -> Vec<u8> {
    let rows = lines.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{\"row\""));
    let crc32 = crc32fast::hash(lines);
    let trailer = format!("{{\"end\":{{\"rows\":{},\"crc32\":{crc32}}}}}\n", rows.count());
    [lines, trailer.as_bytes()].concat()
}

/// Reads the text of the snapshot of decision `seq`, and writes what it says again.
///
/// # Errors
/// What is wrong with it, as a sentence.
///
/// # Panics
/// If what was read cannot be written, which no memory refuses.
pub fn snapshot_again(text: &[u8], seq: Seq) -> Result<Vec<u8>, String> {
    let read = snapshot::read_from(text, seq)?;
    let written = snapshot::write_to(Vec::new(), read.seq, read.at, &read.events);
    Ok(written.expect("memory takes every text"))
}

/// Adds decisions up from nothing, as recovery does; gives the rows of each event.
///
/// # Errors
/// Which decision cannot have been made in the state before it, as a sentence.
pub fn replayed(
    entries: impl IntoIterator<Item = FeedEntry>,
) -> Result<Vec<(EventId, Vec<SnapshotRow>)>, String> {
    let mut events = Events::default();
    for entry in entries {
        let applied = events.replay(&entry);
        applied.map_err(|why| format!("decision {}: {why}", entry.seq.0))?;
    }
    events.schedule_all();
    Ok(events.iter().map(|event| (event.id().clone(), event.snapshot().collect())).collect())
}
