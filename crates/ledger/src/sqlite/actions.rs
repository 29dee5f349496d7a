//! What was done with keys.

use super::columns::{Columns, signed};
use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::action::{Action, ActionFilter};
use crate::{Page, lists};
use onrush_core::Time;
use onrush_core::ids::EventId;
use rusqlite::{Row, params};

const COLUMNS: &str = "request_id, at, key_name, address, method, path, event_id, status, code";
/// Rows that one transaction forgets: the writer has others to serve.
pub(super) const FORGOTTEN_AT_ONCE: u64 = 500;

fn read(row: &Row<'_>) -> rusqlite::Result<Action> {
    let mut columns = Columns::of(row);
    Ok(Action {
        request: columns.take()?,
        at: columns.time()?,
        name: columns.take()?,
        address: columns.take()?,
        method: columns.take()?,
        path: columns.take()?,
        event: columns.parsed_if_any()?,
        status: columns.take()?,
        code: columns.take()?,
    })
}

pub(super) fn note(db: &Statements<'_>, action: &Action) -> rusqlite::Result<()> {
    let Action { request, at, name, address, method, path, event, status, code } = action;
    db.execute(
        "INSERT INTO actions (request_id, at, key_name, address, method, path, event_id, status, code) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (request_id) DO NOTHING",
        params![
            request,
            at.0,
            name,
            address,
            method,
            path,
            event.as_ref().map(EventId::as_str),
            status,
            code
        ],
    )
    .map(drop)
}

pub(super) fn list(
    db: &Statements<'_>,
    filter: &ActionFilter,
    limit: usize,
) -> rusqlite::Result<Page<Action>> {
    query::page(db, COLUMNS, &lists::actions(&SQLITE, filter, limit), read)
}

/// Forgets the oldest of what was done before `before`.
pub(super) fn forget(db: &Statements<'_>, before: Time) -> rusqlite::Result<u64> {
    let rows = db.execute(
        "DELETE FROM actions WHERE request_id IN (SELECT request_id FROM actions \
         WHERE at < ?1 ORDER BY at, request_id LIMIT ?2)",
        params![before.0, signed(FORGOTTEN_AT_ONCE)],
    )?;
    Ok(rows as u64)
}
