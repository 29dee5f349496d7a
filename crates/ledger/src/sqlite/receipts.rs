//! Receipts and credit notes.

use super::query::{self, SQLITE};
use super::statements::Statements;
use super::{bookings, buyers, sagas};
use crate::Page;
use crate::lists;
use crate::receipt::{
    Receipt, ReceiptBasis, ReceiptDraft, ReceiptFilter, ReceiptNumber, ReceiptRule, Series, Taking,
};
use crate::rows::{ReceiptRow, Record};
use onrush_core::Time;
use onrush_core::ids::BookingId;
use std::sync::LazyLock;

/// Reads one document.
static FIND: LazyLock<String> =
    LazyLock::new(|| Receipt::select("WHERE booking_id = ?1 AND coalesce(refund_id, '') = ?2"));

/// The document about a booking's payment, or about one of its refunds.
fn find(
    db: &Statements<'_>,
    booking: &BookingId,
    refund: Option<&str>,
) -> rusqlite::Result<Option<Receipt>> {
    db.first(&FIND, [booking.as_str(), refund.unwrap_or_default()])
}

/// Issues what was not issued before. Nobody else writes meanwhile, so that the number after the
/// last one is free.
pub(super) fn issue(
    db: &Statements<'_>,
    series: &Series,
    at: Time,
    drafts: &[ReceiptDraft],
) -> rusqlite::Result<Vec<Receipt>> {
    let issued = drafts.iter().map(|draft| issue_one(db, series, at, draft).transpose());
    issued.flatten().collect()
}

fn issue_one(
    db: &Statements<'_>,
    series: &Series,
    at: Time,
    draft: &ReceiptDraft,
) -> rusqlite::Result<Option<Receipt>> {
    if let Some(issued) = find(db, &draft.booking, draft.refund.as_deref())? {
        return Ok(Some(issued));
    }
    if draft.refund.is_some() && noted_minor(db, &draft.booking)? != draft.noted_minor {
        return Ok(None);
    }
    let last = db.first(
        "SELECT number, issued_at FROM receipts WHERE series = ?1 ORDER BY number DESC LIMIT 1",
        [series.as_str()],
    )?;
    let (last, last_at) = last.unwrap_or((0, at));
    let number = ReceiptNumber { series: series.clone(), number: last + 1 };
    let receipt = match &draft.refund {
        Some(_) => find(db, &draft.booking, None)?.map(|receipt| receipt.number),
        None => None,
    };
    let buyer = buyers::find(db, &draft.booking)?;
    let issued = draft.clone().issued(number, receipt, at.max(last_at), buyer);
    db.insert(&ReceiptRow::of(draft, &issued))?;
    Ok(Some(issued))
}

/// What the credit notes of a booking come to, in minor units.
fn noted_minor(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<i64> {
    let sql = "SELECT coalesce(sum(amount_minor), 0) FROM receipts \
               WHERE booking_id = ?1 AND refund_id IS NOT NULL";
    Ok(db.first(sql, [booking.as_str()])?.unwrap_or_default())
}

/// What documents of these bookings are made of; nothing for one without a payment.
pub(super) fn basis(db: &Statements<'_>, ids: &[BookingId]) -> rusqlite::Result<Vec<ReceiptBasis>> {
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let (Some(booking), Some(record)) = (bookings::find(db, id)?, sagas::record(db, id)?)
        else {
            continue;
        };
        let filter = ReceiptFilter {
            booking: Some(id.clone()),
            is_rising: true,
            ..ReceiptFilter::default()
        };
        let issued = list(db, &filter, usize::MAX - 1)?.rows;
        found.push(ReceiptBasis { booking, record, issued });
    }
    Ok(found)
}

pub(super) fn list(
    db: &Statements<'_>,
    filter: &ReceiptFilter,
    limit: usize,
) -> rusqlite::Result<Page<Receipt>> {
    query::page(db, &lists::receipts(&SQLITE, filter, limit))
}

/// Payments that took money, the earliest first.
pub(super) fn takings(
    db: &Statements<'_>,
    rule: ReceiptRule,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<Taking>> {
    let list = lists::takings(&SQLITE, after, limit);
    query::page_of(
        db,
        &lists::taking_columns(rule),
        &list,
        |(payment, booking, created_at, is_missing)| Taking {
            payment,
            booking,
            created_at,
            is_missing,
        },
    )
}
