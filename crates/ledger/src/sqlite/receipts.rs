//! Receipts and credit notes.

use super::columns::Columns;
use super::query::{self, SQLITE};
use super::statements::Statements;
use super::{bookings, buyers, sagas};
use crate::Page;
use crate::lists;
use crate::receipt::{
    Corrects, Receipt, ReceiptBasis, ReceiptDraft, ReceiptFilter, ReceiptNumber, Series, Taking,
};
use crate::words::Word;
use onrush_core::Time;
use onrush_core::ids::BookingId;
use rusqlite::{Row, params};

macro_rules! receipt_columns {
    () => {
        "series, number, refund_id, corrects_series, corrects_number, booking_id, event_id, \
         issued_at, currency, amount_minor, buyer_name, buyer_email_lower, document"
    };
}

fn read(row: &Row<'_>) -> rusqlite::Result<Receipt> {
    let mut columns = Columns::of(row);
    let number = ReceiptNumber { series: columns.parsed()?, number: columns.count()? };
    let refund: Option<String> = columns.take()?;
    let (series, nth): (_, Option<i64>) = (columns.parsed_if_any::<Series>()?, columns.take()?);
    let corrects = match (refund, series, nth) {
        (Some(refund), Some(series), Some(nth)) => {
            let number = u32::try_from(nth);
            let number = number.map_err(|_| rusqlite::Error::IntegralValueOutOfRange(4, nth))?;
            Some(Corrects { refund, receipt: ReceiptNumber { series, number } })
        }
        _ => None,
    };
    Ok(Receipt {
        number,
        corrects,
        booking: columns.parsed()?,
        event: columns.parsed()?,
        issued_at: columns.time()?,
        currency: columns.parsed()?,
        amount_minor: columns.take()?,
        buyer_name: columns.take()?,
        buyer_email_lower: columns.take()?,
        document: columns.json()?,
    })
}

/// The document about a booking's payment, or about one of its refunds.
fn find(
    db: &Statements<'_>,
    booking: &BookingId,
    refund: Option<&str>,
) -> rusqlite::Result<Option<Receipt>> {
    db.first(
        concat!(
            "SELECT ",
            receipt_columns!(),
            " FROM receipts WHERE booking_id = ?1 AND coalesce(refund_id, '') = ?2"
        ),
        [booking.as_str(), refund.unwrap_or_default()],
        read,
    )
}

/// Issues what was not issued before. Nobody else writes meanwhile, so that the number after the
/// last one is free.
pub(super) fn issue(
    db: &Statements<'_>,
    series: &Series,
    at: Time,
    drafts: &[ReceiptDraft],
) -> rusqlite::Result<Vec<Receipt>> {
    drafts.iter().map(|draft| issue_one(db, series, at, draft)).collect()
}

fn issue_one(
    db: &Statements<'_>,
    series: &Series,
    at: Time,
    draft: &ReceiptDraft,
) -> rusqlite::Result<Receipt> {
    if let Some(issued) = find(db, &draft.booking, draft.refund.as_deref())? {
        return Ok(issued);
    }
    let last: Option<(u32, i64)> = db.first(
        "SELECT number, issued_at FROM receipts WHERE series = ?1 ORDER BY number DESC LIMIT 1",
        [series.as_str()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let (last, last_at) = last.unwrap_or((0, at.0));
    let number = ReceiptNumber { series: series.clone(), number: last + 1 };
    let issued_at = Time(at.0.max(last_at));
    let receipt = match &draft.refund {
        Some(_) => find(db, &draft.booking, None)?.map(|receipt| receipt.number),
        None => None,
    };
    let buyer = buyers::find(db, &draft.booking)?;
    let issued = draft.clone().issued(number, receipt, issued_at, buyer);
    let (number, corrects) = (&issued.number, issued.corrects.as_ref());
    let document = serde_json::to_string(&draft.document)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    // A credit note without its receipt is against the table's rules.
    db.execute(
        "INSERT INTO receipts (series, number, kind, refund_id, corrects_series, corrects_number, \
         booking_id, event_id, issued_at, currency, amount_minor, buyer_name, \
         buyer_email_lower, document) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        params![
            number.series.as_str(),
            number.number,
            draft.kind().word(),
            draft.refund,
            corrects.map(|corrects| corrects.receipt.series.as_str()),
            corrects.map(|corrects| corrects.receipt.number),
            draft.booking.as_str(),
            draft.event.as_str(),
            issued.issued_at.0,
            draft.currency.as_str(),
            draft.amount_minor,
            issued.buyer_name,
            issued.buyer_email_lower,
            document,
        ],
    )?;
    Ok(issued)
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
    query::page(db, receipt_columns!(), &lists::receipts(&SQLITE, filter, limit), read)
}

/// Payments that took money, the earliest first.
pub(super) fn takings(
    db: &Statements<'_>,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Page<Taking>> {
    let list = lists::takings(&SQLITE, after, limit);
    query::page(db, lists::TAKING_COLUMNS, &list, |row| {
        let mut columns = Columns::of(row);
        Ok(Taking {
            payment: columns.parsed()?,
            booking: columns.parsed()?,
            created_at: columns.time()?,
            is_missing: columns.take()?,
        })
    })
}
