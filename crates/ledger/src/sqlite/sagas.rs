//! Sagas, their transitions and their histories.

use super::buyers;
use super::deliveries;
use super::mailbox::Fault;
use super::money;
use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::Page;
use crate::lists;
use crate::rows::{Record, Stored};
use crate::saga::{Saga, SagaFilter, SagaNote, SagaRecord, Transition};
use crate::words::Word;
use onrush_core::Time;
use onrush_core::ids::BookingId;
use onrush_core::saga::Stage;
use rusqlite::params;
use std::sync::LazyLock;

/// Writes a saga in place of the one whose version is one less.
static REPLACE: LazyLock<String> = LazyLock::new(|| {
    let sagas = Saga::table();
    format!("{} AND version = {} - 1", sagas.update, sagas.place("version"))
});

/// Reads the history of one booking's saga.
static HISTORY: LazyLock<String> = LazyLock::new(|| {
    SagaNote::select(
        "JOIN sagas ON sagas.number = saga_history.saga WHERE booking_id = ?1 \
         ORDER BY saga_history.version",
    )
});

pub(super) fn find(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<Option<Saga>> {
    db.find([booking.as_str()])
}

pub(super) fn record(
    db: &Statements<'_>,
    booking: &BookingId,
) -> rusqlite::Result<Option<SagaRecord>> {
    let Some(saga) = find(db, booking)? else { return Ok(None) };
    let payments = money::payments_of(db, booking)?;
    let refunds = money::refunds_of(db, booking)?;
    Ok(Some(SagaRecord { saga, payments, refunds }))
}

/// Writes a saga for the first time, with the first line of its history. Says whether there was none before.
pub(super) fn begin(
    db: &Statements<'_>,
    saga: &Saga,
    stage: Option<Stage>,
    note: &str,
) -> rusqlite::Result<bool> {
    let is_new = db.add(saga)?;
    remember_if(db, is_new, saga, stage, note)
}

/// Writes a saga in place of the one whose version is one less, with a line of its history. Says
/// whether that one was there.
pub(super) fn replace(
    db: &Statements<'_>,
    saga: &Saga,
    stage: Option<Stage>,
    note: &str,
) -> rusqlite::Result<bool> {
    let rows = saga.bind(|values| db.execute(&REPLACE, values))?;
    remember_if(db, rows > 0, saga, stage, note)
}

/// Writes a line of history if the saga was written, and the line says anything.
///
/// Its number is looked up: with `RETURNING`, SQLite would keep a journal for each statement, which
/// costs more.
fn remember_if(
    db: &Statements<'_>,
    written: bool,
    saga: &Saga,
    stage: Option<Stage>,
    note: &str,
) -> rusqlite::Result<bool> {
    if !written {
        return Ok(false);
    }
    if note.is_empty() {
        return Ok(true);
    }
    let number: Option<i64> =
        db.first("SELECT number FROM sagas WHERE booking_id = ?1", [saga.booking.as_str()])?;
    db.execute(
        "INSERT INTO saga_history (saga, version, at, step, stage, note) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            number,
            saga.version.cast_signed(),
            saga.updated_at.0,
            saga.step.word(),
            stage.map(Word::word),
            note
        ],
    )?;
    Ok(true)
}

pub(super) fn advance(db: &Statements<'_>, transition: &Transition) -> Result<(), Fault> {
    let Transition { saga, payments, refunds, buyer, note, messages } = transition;
    let stage = match &saga.payment {
        None => None,
        Some(present) => match payments.iter().find(|payment| payment.payment == *present) {
            Some(payment) => Some(payment.stage),
            None => money::stage(db, &saga.booking, present)?,
        },
    };
    let written = match saga.version {
        0 => false,
        1 => begin(db, saga, stage, note)?,
        2.. => replace(db, saga, stage, note)?,
    };
    // Nothing was written so far if it was not.
    if !written {
        return Err(Fault::Conflict);
    }
    for payment in payments {
        db.put(payment)?;
    }
    for refund in refunds {
        db.put(refund)?;
    }
    if let Some(buyer) = buyer {
        buyers::set(db, &saga.booking, &saga.user, buyer)?;
    }
    for message in messages {
        deliveries::put(db, message)?;
    }
    Ok(())
}

pub(super) fn due(db: &Statements<'_>, at: Time, limit: usize) -> rusqlite::Result<Vec<BookingId>> {
    db.all(
        "SELECT booking_id FROM sagas WHERE stuck IS NULL AND next_at IS NOT NULL AND next_at <= ?1 \
         ORDER BY next_at LIMIT ?2",
        params![at.0, i64::try_from(limit).unwrap_or(i64::MAX)],
    )
}

pub(super) fn next_due(db: &Statements<'_>) -> rusqlite::Result<Option<Time>> {
    db.first(
        "SELECT next_at FROM sagas WHERE stuck IS NULL AND next_at IS NOT NULL \
         ORDER BY next_at LIMIT 1",
        [],
    )
}

pub(super) fn list(
    db: &Statements<'_>,
    filter: &SagaFilter,
    limit: usize,
) -> rusqlite::Result<Page<Saga>> {
    query::page(db, &lists::sagas(&SQLITE, filter, limit))
}

/// All sagas, by booking.
pub(super) fn all(
    db: &Statements<'_>,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<Saga>> {
    query::page(db, &lists::all_sagas(&SQLITE, after, limit))
}

pub(super) fn history(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<Vec<SagaNote>> {
    db.all(&HISTORY, [booking.as_str()])
}
