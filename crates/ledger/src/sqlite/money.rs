//! Payments, refunds and their sums.

use super::query::{self, SQLITE};
use super::statements::Statements;
use crate::Page;
use crate::lists;
use crate::money::{OpenMoney, Payment, PaymentFilter, Refund, Totals};
use crate::receipt::ReceiptRule;
use crate::rows::{Columns, Record};
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::saga::Stage;
use std::sync::LazyLock;

/// Reads the payments of one booking.
static PAYMENTS_OF: LazyLock<String> =
    LazyLock::new(|| Payment::select("WHERE booking_id = ?1 ORDER BY created_at, payment_id"));

/// Reads the refunds of one booking.
static REFUNDS_OF: LazyLock<String> =
    LazyLock::new(|| Refund::select("WHERE booking_id = ?1 ORDER BY created_at, refund_id"));

pub(super) fn payments_of(
    db: &Statements<'_>,
    booking: &BookingId,
) -> rusqlite::Result<Vec<Payment>> {
    db.all(&PAYMENTS_OF, [booking.as_str()])
}

pub(super) fn refunds_of(
    db: &Statements<'_>,
    booking: &BookingId,
) -> rusqlite::Result<Vec<Refund>> {
    db.all(&REFUNDS_OF, [booking.as_str()])
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
    )
}

/// Whether a booking has a payment that is neither void nor refunded.
pub(super) fn is_unfinished(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<bool> {
    let found: Option<i64> = db.first(
        "SELECT 1 FROM payments WHERE booking_id = ?1 AND stage NOT IN ('void', 'refunded') LIMIT 1",
        [booking.as_str()],
    )?;
    Ok(found.is_some())
}

pub(super) fn payments(
    db: &Statements<'_>,
    filter: &PaymentFilter,
    limit: usize,
) -> rusqlite::Result<Page<Payment>> {
    query::page(db, &lists::payments(&SQLITE, filter, limit))
}

pub(super) fn refunds(
    db: &Statements<'_>,
    filter: &PaymentFilter,
    limit: usize,
) -> rusqlite::Result<Page<Refund>> {
    query::page(db, &lists::refunds(&SQLITE, filter, limit))
}

/// All payments, by booking.
pub(super) fn all_payments(
    db: &Statements<'_>,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<Payment>> {
    query::page(db, &lists::all_payments(&SQLITE, after, limit))
}

/// All refunds, by booking.
pub(super) fn all_refunds(
    db: &Statements<'_>,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<Refund>> {
    query::page(db, &lists::all_refunds(&SQLITE, after, limit))
}

pub(super) fn open_money(
    db: &Statements<'_>,
    event: &EventId,
    rule: ReceiptRule,
) -> rusqlite::Result<OpenMoney> {
    let mut statement = db.connection().prepare(&lists::open_money(rule))?;
    let (under_way, without_document) = statement.query_row([event.as_str()], Columns::read)?;
    Ok(OpenMoney { under_way, without_document })
}

pub(super) fn totals(db: &Statements<'_>) -> rusqlite::Result<Totals> {
    let sagas = "SELECT \
         count(CASE WHEN current_step NOT IN ('CONFIRMED', 'FAILED') THEN 1 END), count(stuck) \
         FROM sagas";
    let (open_sagas, stuck_sagas) = db.first(sagas, [])?.unwrap_or_default();
    let payments =
        "SELECT count(*), coalesce(sum(captured_minor), 0) FROM payments WHERE captured_minor > 0";
    let (captured_payments, captured_minor) = db.first(payments, [])?.unwrap_or_default();
    let refunds = "SELECT coalesce(sum(CASE WHEN status = 'done' THEN amount_minor END), 0), \
         coalesce(sum(CASE WHEN status IN ('requested', 'sent') THEN amount_minor END), 0) \
         FROM refunds";
    let (refunded_minor, refunding_minor) = db.first(refunds, [])?.unwrap_or_default();
    Ok(Totals {
        open_sagas,
        stuck_sagas,
        captured_payments,
        captured_minor,
        refunded_minor,
        refunding_minor,
    })
}
