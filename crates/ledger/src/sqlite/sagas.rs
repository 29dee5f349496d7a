//! Sagas, their transitions and their histories.

use super::buyers;
use super::columns::{Columns, signed};
use super::deliveries;
use super::mailbox::Fault;
use super::money;
use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::Page;
use crate::lists;
use crate::saga::{Saga, SagaFilter, SagaNote, SagaRecord, Transition};
use crate::words::Word;
use onrush_core::Time;
use onrush_core::ids::BookingId;
use onrush_core::saga::Stage;
use rusqlite::{Row, params};

macro_rules! saga_columns {
    () => {
        "saga_id, booking_id, event_id, user_id, amount_minor, currency, current_step, \
         reserve_completed_at, payment_completed_at, updated_at, version, payment_id, next_at, \
         tries, stuck"
    };
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Saga> {
    let mut columns = Columns::of(row);
    Ok(Saga {
        saga_id: columns.take()?,
        booking: columns.parsed()?,
        event: columns.parsed()?,
        user: columns.parsed()?,
        amount_minor: columns.take()?,
        currency: columns.parsed()?,
        step: columns.word()?,
        reserve_completed_at: columns.time_if_any()?,
        payment_completed_at: columns.time_if_any()?,
        updated_at: columns.time()?,
        version: columns.count()?,
        payment: columns.parsed_if_any()?,
        next_at: columns.time_if_any()?,
        tries: columns.count()?,
        stuck: columns.take()?,
    })
}

pub(super) fn find(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<Option<Saga>> {
    db.first(
        concat!("SELECT ", saga_columns!(), " FROM sagas WHERE booking_id = ?1"),
        [booking.as_str()],
        read,
    )
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
    let rows = db.execute(
        "INSERT INTO sagas (saga_id, booking_id, event_id, user_id, amount_minor, currency, \
         current_step, reserve_completed_at, payment_completed_at, updated_at, version, payment_id, \
         next_at, tries, stuck) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) \
         ON CONFLICT (booking_id) DO NOTHING",
        params![
            saga.saga_id,
            saga.booking.as_str(),
            saga.event.as_str(),
            saga.user.as_str(),
            saga.amount_minor,
            saga.currency.as_str(),
            saga.step.word(),
            saga.reserve_completed_at.map(|at| at.0),
            saga.payment_completed_at.map(|at| at.0),
            saga.updated_at.0,
            signed(saga.version),
            saga.payment.as_ref().map(|payment| payment.as_str()),
            saga.next_at.map(|at| at.0),
            saga.tries,
            saga.stuck,
        ],
    )?;
    remember_if(db, rows > 0, saga, stage, note)
}

/// Writes a saga in place of the one whose version is one less, with a line of its history. Says
/// whether that one was there.
pub(super) fn replace(
    db: &Statements<'_>,
    saga: &Saga,
    stage: Option<Stage>,
    note: &str,
) -> rusqlite::Result<bool> {
    let rows = db.execute(
        "UPDATE sagas SET saga_id = ?2, event_id = ?3, user_id = ?4, amount_minor = ?5, currency = ?6, \
         current_step = ?7, reserve_completed_at = ?8, payment_completed_at = ?9, updated_at = ?10, \
         version = ?11 + 1, payment_id = ?12, next_at = ?13, tries = ?14, stuck = ?15 \
         WHERE booking_id = ?1 AND version = ?11",
        params![
            saga.booking.as_str(),
            saga.saga_id,
            saga.event.as_str(),
            saga.user.as_str(),
            saga.amount_minor,
            saga.currency.as_str(),
            saga.step.word(),
            saga.reserve_completed_at.map(|at| at.0),
            saga.payment_completed_at.map(|at| at.0),
            saga.updated_at.0,
            signed(saga.version.saturating_sub(1)),
            saga.payment.as_ref().map(|payment| payment.as_str()),
            saga.next_at.map(|at| at.0),
            saga.tries,
            saga.stuck,
        ],
    )?;
    remember_if(db, rows > 0, saga, stage, note)
}

/// Writes a line of history if the saga was written.
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
    let number: Option<i64> = db.first(
        "SELECT number FROM sagas WHERE booking_id = ?1",
        [saga.booking.as_str()],
        |row| row.get(0),
    )?;
    db.execute(
        "INSERT INTO saga_history (saga, version, at, step, stage, note) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            number,
            signed(saga.version),
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
        money::put_payment(db, payment)?;
    }
    for refund in refunds {
        money::put_refund(db, refund)?;
    }
    if let Some(buyer) = buyer {
        buyers::put(db, &saga.booking, buyer)?;
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
        |row| Columns::of(row).parsed(),
    )
}

pub(super) fn next_due(db: &Statements<'_>) -> rusqlite::Result<Option<Time>> {
    db.first(
        "SELECT next_at FROM sagas WHERE stuck IS NULL AND next_at IS NOT NULL \
         ORDER BY next_at LIMIT 1",
        [],
        |row| Columns::of(row).time(),
    )
}

pub(super) fn list(
    db: &Statements<'_>,
    filter: &SagaFilter,
    limit: usize,
) -> rusqlite::Result<Page<Saga>> {
    query::page(db, saga_columns!(), &lists::sagas(&SQLITE, filter, limit), read)
}

/// All sagas, by booking.
pub(super) fn all(
    db: &Statements<'_>,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<Saga>> {
    query::page(db, saga_columns!(), &lists::all_sagas(&SQLITE, after, limit), read)
}

pub(super) fn history(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<Vec<SagaNote>> {
    db.all(
        "SELECT saga_history.version, at, step, stage, note FROM saga_history \
         JOIN sagas ON sagas.number = saga_history.saga WHERE booking_id = ?1 \
         ORDER BY saga_history.version",
        [booking.as_str()],
        |row| {
            let mut columns = Columns::of(row);
            Ok(SagaNote {
                version: columns.count()?,
                at: columns.time()?,
                step: columns.word()?,
                stage: columns.word_if_any()?,
                note: columns.take()?,
            })
        },
    )
}
