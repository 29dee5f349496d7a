//! What the gateway's own desk did.

use super::columns::Columns;
use super::deliveries;
use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::Page;
use crate::delivery::Message;
use crate::desk::{DeskEntry, DeskFilter, DeskStatus, Settled};
use crate::lists;
use crate::words::Word;
use rusqlite::{Row, params};

macro_rules! desk_columns {
    () => {
        "entry_id, kind, status, gateway, reference, payment_id, booking_id, event_id, \
         amount_minor, currency, why, created_at, updated_at, settled_at, settled_by, \
         settled_why"
    };
}

fn read(row: &Row<'_>) -> rusqlite::Result<DeskEntry> {
    let mut columns = Columns::of(row);
    Ok(DeskEntry {
        entry: columns.take()?,
        kind: columns.word()?,
        status: columns.word()?,
        gateway: columns.take()?,
        reference: columns.take()?,
        payment: columns.parsed()?,
        booking: columns.parsed()?,
        event: columns.parsed()?,
        amount_minor: columns.take()?,
        currency: columns.parsed()?,
        why: columns.take()?,
        created_at: columns.time()?,
        updated_at: columns.time()?,
        settled: match columns.time_if_any()? {
            Some(at) => Some(Settled { at, by: columns.take()?, why: columns.take()? }),
            None => None,
        },
    })
}

/// Writes down what was done, and tells of it; says whether it is news.
pub(super) fn note(
    db: &Statements<'_>,
    entry: &DeskEntry,
    message: Option<&Message>,
) -> rusqlite::Result<bool> {
    let known: Option<DeskStatus> = db.first(
        "SELECT status FROM desk_entries WHERE entry_id = ?1",
        [entry.entry.as_str()],
        |row| Columns::of(row).word(),
    )?;
    match known {
        Some(known) if !entry.is_news_after(known) => return Ok(false),
        Some(_) => db.execute(
            "UPDATE desk_entries SET status = ?2, amount_minor = ?3, why = ?4, updated_at = ?5, \
             settled_at = NULL, settled_by = NULL, settled_why = NULL WHERE entry_id = ?1",
            params![
                entry.entry,
                entry.status.word(),
                entry.amount_minor,
                entry.why,
                entry.updated_at.0
            ],
        )?,
        None => db.execute(
            "INSERT INTO desk_entries (entry_id, kind, status, gateway, reference, payment_id, \
             booking_id, event_id, amount_minor, currency, why, created_at, updated_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                entry.entry,
                entry.kind.word(),
                entry.status.word(),
                entry.gateway,
                entry.reference,
                entry.payment.as_str(),
                entry.booking.as_str(),
                entry.event.as_str(),
                entry.amount_minor,
                entry.currency.as_str(),
                entry.why,
                entry.created_at.0,
                entry.updated_at.0,
            ],
        )?,
    };
    if let Some(message) = message {
        deliveries::put(db, message)?;
    }
    Ok(true)
}

/// Writes down what an operator did about an entry; the entry as it is then, if there is one.
pub(super) fn settle(
    db: &Statements<'_>,
    entry: &str,
    settled: &Settled,
) -> rusqlite::Result<Option<DeskEntry>> {
    db.execute(
        "UPDATE desk_entries SET settled_at = ?2, settled_by = ?3, settled_why = ?4 \
         WHERE entry_id = ?1",
        params![entry, settled.at.0, settled.by, settled.why],
    )?;
    db.first(
        concat!("SELECT ", desk_columns!(), " FROM desk_entries WHERE entry_id = ?1"),
        [entry],
        read,
    )
}

pub(super) fn list(
    db: &Statements<'_>,
    filter: &DeskFilter,
    limit: usize,
) -> rusqlite::Result<Page<DeskEntry>> {
    query::page(db, desk_columns!(), &lists::desk(&SQLITE, filter, limit), read)
}
