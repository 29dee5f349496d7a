//! Payments, refunds and their sums.

use super::columns::Columns;
use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::Page;
use crate::lists;
use crate::money::{OpenMoney, Payment, PaymentFilter, Refund, Totals};
use crate::words::Word;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::saga::Stage;
use rusqlite::{Row, params};

macro_rules! payment_columns {
    () => {
        "payment_id, booking_id, gateway, reference, url, client_secret, amount_minor, \
         currency, stage, capture, captured_minor, why, flagged, on_decline, created_at, updated_at"
    };
}

macro_rules! refund_columns {
    () => {
        "refund_id, booking_id, payment_id, amount_minor, currency, status, cause, \
         decided_by, why, reference, created_at, updated_at"
    };
}

fn read_payment(row: &Row<'_>) -> rusqlite::Result<Payment> {
    let mut columns = Columns::of(row);
    Ok(Payment {
        payment: columns.parsed()?,
        booking: columns.parsed()?,
        gateway: columns.take()?,
        reference: columns.take()?,
        url: columns.take()?,
        client_secret: columns.take()?,
        amount_minor: columns.take()?,
        currency: columns.parsed()?,
        stage: columns.word()?,
        capture: columns.word()?,
        captured_minor: columns.take()?,
        why: columns.take()?,
        flagged: columns.take()?,
        on_decline: columns.word()?,
        created_at: columns.time()?,
        updated_at: columns.time()?,
    })
}

fn read_refund(row: &Row<'_>) -> rusqlite::Result<Refund> {
    let mut columns = Columns::of(row);
    Ok(Refund {
        refund: columns.take()?,
        booking: columns.parsed()?,
        payment: columns.parsed()?,
        amount_minor: columns.take()?,
        currency: columns.parsed()?,
        status: columns.word()?,
        cause: columns.word()?,
        decided_by: columns.take()?,
        why: columns.take()?,
        reference: columns.take()?,
        created_at: columns.time()?,
        updated_at: columns.time()?,
    })
}

pub(super) fn payments_of(
    db: &Statements<'_>,
    booking: &BookingId,
) -> rusqlite::Result<Vec<Payment>> {
    db.all(
        concat!(
            "SELECT ",
            payment_columns!(),
            " FROM payments WHERE booking_id = ?1 ORDER BY created_at, payment_id"
        ),
        [booking.as_str()],
        read_payment,
    )
}

pub(super) fn refunds_of(
    db: &Statements<'_>,
    booking: &BookingId,
) -> rusqlite::Result<Vec<Refund>> {
    db.all(
        concat!(
            "SELECT ",
            refund_columns!(),
            " FROM refunds WHERE booking_id = ?1 ORDER BY created_at, refund_id"
        ),
        [booking.as_str()],
        read_refund,
    )
}

/// Where a payment stands.
pub(super) fn stage(
    db: &Statements<'_>,
    booking: &BookingId,
    payment: &PaymentId,
) -> rusqlite::Result<Option<Stage>> {
    db.first(
        "SELECT stage FROM payments WHERE booking_id = ?1 AND payment_id = ?2",
        [booking.as_str(), payment.as_str()],
        |row| Columns::of(row).word(),
    )
}

/// Whether a booking has a payment that is neither void nor refunded.
pub(super) fn is_unfinished(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<bool> {
    db.first(
        "SELECT 1 FROM payments WHERE booking_id = ?1 AND stage NOT IN ('void', 'refunded') LIMIT 1",
        [booking.as_str()],
        |_| Ok(()),
    )
    .map(|found| found.is_some())
}

/// Adds or replaces a payment. Most are known already, and SQLite's `DO UPDATE` costs it a
/// temporary table each time.
pub(super) fn put_payment(db: &Statements<'_>, payment: &Payment) -> rusqlite::Result<()> {
    let columns = params![
        payment.booking.as_str(),
        payment.payment.as_str(),
        payment.gateway,
        payment.reference,
        payment.url,
        payment.client_secret,
        payment.amount_minor,
        payment.currency.as_str(),
        payment.stage.word(),
        payment.captured_minor,
        payment.why,
        payment.flagged,
        payment.on_decline.word(),
        payment.created_at.0,
        payment.updated_at.0,
        payment.capture.word(),
    ];
    let known = db.execute(
        "UPDATE payments SET gateway = ?3, reference = ?4, url = ?5, client_secret = ?6, \
         amount_minor = ?7, currency = ?8, stage = ?9, captured_minor = ?10, why = ?11, \
         flagged = ?12, on_decline = ?13, created_at = ?14, updated_at = ?15, capture = ?16 \
         WHERE booking_id = ?1 AND payment_id = ?2",
        columns,
    )?;
    if known == 0 {
        db.execute(
            "INSERT INTO payments (booking_id, payment_id, gateway, reference, url, client_secret, \
             amount_minor, currency, stage, captured_minor, why, flagged, on_decline, created_at, \
             updated_at, capture) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
             ?15, ?16)",
            columns,
        )?;
    }
    Ok(())
}

/// Adds or replaces a refund.
pub(super) fn put_refund(db: &Statements<'_>, refund: &Refund) -> rusqlite::Result<()> {
    let columns = params![
        refund.booking.as_str(),
        refund.refund,
        refund.payment.as_str(),
        refund.amount_minor,
        refund.currency.as_str(),
        refund.status.word(),
        refund.why,
        refund.reference,
        refund.created_at.0,
        refund.updated_at.0,
        refund.cause.word(),
        refund.decided_by,
    ];
    let known = db.execute(
        "UPDATE refunds SET payment_id = ?3, amount_minor = ?4, currency = ?5, status = ?6, why = ?7, \
         reference = ?8, created_at = ?9, updated_at = ?10, cause = ?11, decided_by = ?12 \
         WHERE booking_id = ?1 AND refund_id = ?2",
        columns,
    )?;
    if known == 0 {
        db.execute(
            "INSERT INTO refunds (booking_id, refund_id, payment_id, amount_minor, currency, status, \
             why, reference, created_at, updated_at, cause, decided_by) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            columns,
        )?;
    }
    Ok(())
}

pub(super) fn payments(
    db: &Statements<'_>,
    filter: &PaymentFilter,
    limit: usize,
) -> rusqlite::Result<Page<Payment>> {
    query::page(db, payment_columns!(), &lists::payments(&SQLITE, filter, limit), read_payment)
}

pub(super) fn refunds(
    db: &Statements<'_>,
    filter: &PaymentFilter,
    limit: usize,
) -> rusqlite::Result<Page<Refund>> {
    query::page(db, refund_columns!(), &lists::refunds(&SQLITE, filter, limit), read_refund)
}

/// All payments, by booking.
pub(super) fn all_payments(
    db: &Statements<'_>,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<Payment>> {
    query::page(db, payment_columns!(), &lists::all_payments(&SQLITE, after, limit), read_payment)
}

/// All refunds, by booking.
pub(super) fn all_refunds(
    db: &Statements<'_>,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<Refund>> {
    query::page(db, refund_columns!(), &lists::all_refunds(&SQLITE, after, limit), read_refund)
}

pub(super) fn open_money(db: &Statements<'_>, event: &EventId) -> rusqlite::Result<OpenMoney> {
    let found = db.first(&lists::OPEN_MONEY, [event.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(OpenMoney { under_way: columns.count()?, without_document: columns.count()? })
    })?;
    Ok(found.unwrap_or_default())
}

pub(super) fn totals(db: &Statements<'_>) -> rusqlite::Result<Totals> {
    let mut totals = Totals::default();
    db.first(
        "SELECT count(CASE WHEN current_step NOT IN ('CONFIRMED', 'FAILED') THEN 1 END), count(stuck) \
         FROM sagas",
        [],
        |row| {
            let mut columns = Columns::of(row);
            totals.open_sagas = columns.count()?;
            totals.stuck_sagas = columns.count()?;
            Ok(())
        },
    )?;
    db.first(
        "SELECT count(*), coalesce(sum(captured_minor), 0) FROM payments WHERE captured_minor > 0",
        [],
        |row| {
            let mut columns = Columns::of(row);
            totals.captured_payments = columns.count()?;
            totals.captured_minor = columns.take()?;
            Ok(())
        },
    )?;
    db.first(
        "SELECT coalesce(sum(CASE WHEN status = 'done' THEN amount_minor END), 0), \
         coalesce(sum(CASE WHEN status IN ('requested', 'sent') THEN amount_minor END), 0) \
         FROM refunds",
        [],
        |row| {
            let mut columns = Columns::of(row);
            totals.refunded_minor = columns.take()?;
            totals.refunding_minor = columns.take()?;
            Ok(())
        },
    )?;
    Ok(totals)
}
