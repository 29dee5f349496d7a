//! The changes that a journal may have, and their members, by the versions that wrote it.
//!
//! Members that a version does not know it would read over, and decide as if they were not there: a
//! discount, a limit. So whoever writes a journal notes what it knows, and whoever opens one looks
//! whether there is more in it. What no row has keeps nobody out: the way back to a version before
//! stays open until something new is used.

use super::database;
use super::error::OpenError;
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeSet;
use std::path::Path;

/// Each change, and each of its members as a path, a line each: `hold_placed.terms.fee_minor`. A test keeps
/// it true.
const KNOWN: &str = include_str!("vocabulary.txt");
/// What the journal remembers it under.
const KEY: &str = "vocabulary";

/// Notes that this version writes the journal from now on.
pub(super) fn note(connection: &Connection) -> rusqlite::Result<()> {
    let noted = database::memo(connection, KEY)?.unwrap_or_default();
    let all: BTreeSet<&str> = noted.lines().chain(KNOWN.lines()).collect();
    let all = all.into_iter().collect::<Vec<_>>().join("\n");
    if all == noted { Ok(()) } else { database::set_memo(connection, KEY, &all) }
}

/// Looks whether the journal has members that this version would read over.
///
/// # Errors
/// [`OpenError::Unread`].
pub(super) fn check(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    let unread = first_unread(connection).map_err(OpenError::sqlite(path))?;
    unread.map_or(Ok(()), |what| Err(OpenError::Unread { path: path.to_owned(), what }))
}

fn first_unread(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let Some(noted) = database::memo(connection, KEY)? else { return Ok(None) };
    let known: BTreeSet<&str> = KNOWN.lines().collect();
    for path in noted.lines().filter(|path| !known.contains(path)) {
        let (change, member) = match path.split_once('.') {
            None => (path, None),
            Some((change, members)) => (change, members.rsplit('.').next()),
        };
        let member = member.map(|member| format!("\"{member}\":"));
        let text = member.clone().unwrap_or_else(|| format!("\"{change}\""));
        // Nearly all rows are passed over by the first condition, which reads no JSON.
        let sql = "SELECT 1 FROM journal WHERE instr(body, ?1) AND EXISTS \
                   (SELECT 1 FROM changes WHERE changes.seq = journal.seq AND change = ?2 \
                   AND (?3 IS NULL OR instr(changes.body, ?3))) LIMIT 1";
        let found = connection.query_row(sql, (text, change, member), |_| Ok(())).optional()?;
        if found.is_some() {
            return Ok(Some(path.to_owned()));
        }
    }
    Ok(None)
}
