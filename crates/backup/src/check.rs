//! Whether a directory would start: the checks that the server makes, on files that nobody serves.

use crate::stop::Stop;
use onrush_ledger::money::Totals;
use onrush_ledger::sqlite;
use onrush_saga::pairing::Before;
use onrush_store::embedded::{self, JournalEnd};
use std::path::Path;

/// What such a directory has.
pub(crate) struct Looked {
    pub(crate) end: JournalEnd,
    pub(crate) followed: u64,
    pub(crate) totals: Totals,
}

/// Looks at every page of journal and ledger, and whether they, the keys and the witness belong
/// together. Nothing is written, and nothing accepted.
pub(crate) fn look_over(dir: &Path) -> Result<Looked, Stop> {
    let end = embedded::look_over(dir).map_err(Stop::because)?;
    let (position, totals) = sqlite::look_over(dir).map_err(Stop::because)?;
    let before = Before::look(dir, false).map_err(Stop::because)?;
    before.check_keys(dir).map_err(Stop::because)?;
    let position = before.position(position, false).map_err(Stop::because)?;
    Ok(Looked { end, followed: position.seq, totals })
}

/// Reads the archive files of a directory that nobody serves, and says what is wrong with them, a
/// sentence each: with one that is missing, or is not what the journal remembers of it. An operator
/// may keep them elsewhere, and no start needs any.
pub(crate) fn look_at_archive(dir: &Path) -> Result<Vec<String>, Stop> {
    let mut reader = embedded::look_before_start(dir, false).map_err(Stop::because)?;
    let mut found = Vec::new();
    reader.read_archive_files(&mut found).map_err(Stop::because)?;
    Ok(found)
}
