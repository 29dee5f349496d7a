//! What the gateway's own desk did.

use super::deliveries;
use super::mailbox::Fault;
use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::Page;
use crate::delivery::Message;
use crate::desk::{DeskEntry, DeskFilter, DeskStatus, Settled};
use crate::lists;
use crate::words::Word;
use onrush_core::Time;
use rusqlite::params;

/// Writes down what was done, and tells of it; says whether it is news.
pub(super) fn note(
    db: &Statements<'_>,
    entry: &DeskEntry,
    message: Option<&Message>,
) -> rusqlite::Result<bool> {
    let known: Option<DeskStatus> =
        db.first("SELECT status FROM desk_entries WHERE entry_id = ?1", [&entry.entry])?;
    match known {
        Some(known) if !entry.is_news_after(known) => {
            // Tables of before did not keep it, and what was done counts only with it.
            db.execute(
                "UPDATE desk_entries SET paid_as = ?2 WHERE entry_id = ?1 AND paid_as IS NULL",
                params![entry.entry, entry.paid_as],
            )?;
            return Ok(false);
        }
        Some(_) => {
            db.execute(
                "UPDATE desk_entries SET status = ?2, amount_minor = ?3, why = ?4, updated_at = ?5, \
                 settled_at = NULL, settled_by = NULL, settled_why = NULL, \
                 paid_as = COALESCE(paid_as, ?6) WHERE entry_id = ?1",
                params![
                    entry.entry,
                    entry.status.word(),
                    entry.amount_minor,
                    entry.why,
                    entry.updated_at.0,
                    entry.paid_as
                ],
            )?;
        }
        None => db.insert(entry)?,
    }
    if let Some(message) = message {
        deliveries::put(db, message)?;
    }
    Ok(true)
}

/// Writes down what an operator did about an entry; the entry as it is then, if there is one.
pub(super) fn settle(
    db: &Statements<'_>,
    entry: &str,
    seen: Option<Time>,
    settled: &Settled,
) -> Result<Option<DeskEntry>, Fault> {
    let written = db.execute(
        "UPDATE desk_entries SET settled_at = ?2, settled_by = ?3, settled_why = ?4 \
         WHERE entry_id = ?1 AND updated_at = COALESCE(?5, updated_at)",
        params![entry, settled.at.0, settled.by, settled.why, seen.map(|Time(at)| at)],
    )?;
    let found: Option<DeskEntry> = db.find([entry])?;
    if written == 0 && found.is_some() { Err(Fault::Conflict) } else { Ok(found) }
}

pub(super) fn list(
    db: &Statements<'_>,
    filter: &DeskFilter,
    limit: usize,
) -> rusqlite::Result<Page<DeskEntry>> {
    query::page(db, &lists::desk(&SQLITE, filter, limit))
}
