//! What was done with keys.

use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::action::{Action, ActionFilter};
use crate::{Page, lists};
use onrush_core::Time;
use rusqlite::params;

/// Rows that one transaction forgets: the writer has others to serve.
pub(super) const FORGOTTEN_AT_ONCE: u64 = 500;

pub(super) fn note(db: &Statements<'_>, action: &Action) -> rusqlite::Result<()> {
    db.add(action).map(drop)
}

pub(super) fn list(
    db: &Statements<'_>,
    filter: &ActionFilter,
    limit: usize,
) -> rusqlite::Result<Page<Action>> {
    query::page(db, &lists::actions(&SQLITE, filter, limit))
}

/// Forgets the oldest of what was done before `before`.
pub(super) fn forget(db: &Statements<'_>, before: Time) -> rusqlite::Result<u64> {
    let rows = db.execute(
        "DELETE FROM actions WHERE request_id IN (SELECT request_id FROM actions \
         WHERE at < ?1 ORDER BY at, request_id LIMIT ?2)",
        params![before.0, FORGOTTEN_AT_ONCE.cast_signed()],
    )?;
    Ok(rows as u64)
}
