//! What the journal remembers of archive files, and where they lie.

use super::database;
use crate::archive_file::{self, Files, Kept, Origin};
use onrush_core::ids::EventId;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// What the journal has in place of changes that are in a file.
pub(super) const BLANK: &str = "[]";
/// The directory of the files below the data directory, which is how the keys of such memos begin.
const PREFIX: &str = "archive/";

/// The directory of the files.
pub(super) fn dir_in(data: &Path) -> PathBuf {
    data.join("archive")
}

/// The name of an event's file below the data directory, which is what the journal remembers it by.
pub(super) fn name_of(event: &EventId) -> String {
    format!("{PREFIX}{}", archive_file::name_of(event))
}

/// The journal, as files say what they are of.
pub(super) fn origin(identity: String) -> Origin {
    Origin { noun: "journal", identity }
}

/// Whose history is in a file.
pub(super) fn kept(connection: &Connection) -> rusqlite::Result<Vec<(EventId, Kept)>> {
    let mut select = connection
        .prepare("SELECT key, value FROM meta WHERE key GLOB 'archive/*' ORDER BY key")?;
    let mut rows = select.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let key = row.get_ref(0)?.as_str()?;
        let event = key.strip_prefix(PREFIX).and_then(archive_file::event_of);
        let kept = serde_json::from_str(row.get_ref(1)?.as_str()?).ok();
        found.extend(event.zip(kept));
    }
    Ok(found)
}

/// Whether the history of an event is in a file.
pub(super) fn is_kept(connection: &Connection, event: &EventId) -> rusqlite::Result<bool> {
    Ok(database::memo(connection, &name_of(event))?.is_some())
}

/// The files of a data directory whose journal has this identity and remembers these.
pub(super) fn open(
    data: &Path,
    identity: String,
    remembered: &[(EventId, Kept)],
    found: &mut Vec<String>,
) -> Files {
    Files::open(&dir_in(data), PREFIX, &origin(identity), remembered, found)
}
