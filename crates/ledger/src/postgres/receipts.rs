//! Receipts and credit notes.

use super::bookings;
use super::database::{Ask, all, execute, first};
use super::fault::Fault;
use super::query::{POSTGRES, PageOf};
use super::rows::{json_of, parsed, row_of, rows_of};
use super::sagas::RecordOf;
use crate::booking::Buyer;
use crate::lists;
use crate::receipt::{
    Receipt, ReceiptBasis, ReceiptDraft, ReceiptNumber, ReceiptRule, Series, Taking,
};
use crate::rows::{ReceiptRow, Stored};
use deadpool_postgres::{Client, GenericClient, Transaction};
use onrush_core::Time;
use onrush_core::ids::BookingId;

/// Issues what was not issued before.
pub(super) struct Issue {
    pub(super) series: Series,
    pub(super) at: Time,
    pub(super) drafts: Vec<ReceiptDraft>,
}

impl Ask<Vec<Receipt>> for Issue {
    async fn run(&self, db: &mut Client) -> Result<Vec<Receipt>, Fault> {
        let db = db.transaction().await?;
        let (mut last, mut issued_at) = self.lock(&db).await?;
        let mut issued = Vec::with_capacity(self.drafts.len());
        for draft in &self.drafts {
            if let Some(known) = find(&db, &draft.booking, draft.refund.as_deref()).await? {
                issued.push(known);
                continue;
            }
            if draft.refund.is_some()
                && noted_minor(&db, &draft.booking).await? != draft.noted_minor
            {
                continue;
            }
            last += 1;
            issued_at = issued_at.max(self.at);
            let receipt = match &draft.refund {
                Some(_) => find(&db, &draft.booking, None).await?.map(|receipt| receipt.number),
                None => None,
            };
            let number = ReceiptNumber { series: self.series.clone(), number: last };
            let buyer = buyer_of(&db, &draft.booking).await?;
            let receipt = draft.clone().issued(number, receipt, issued_at, buyer);
            let row = json_of([&ReceiptRow::of(draft, &receipt)])?;
            execute(&db, &Receipt::table().all.insert, &[&row]).await?;
            issued.push(receipt);
        }
        let sql = "UPDATE receipt_series SET last_number = $2 WHERE series = $1";
        execute(&db, sql, &[&self.series.as_str(), &i64::from(last)]).await?;
        db.commit().await?;
        Ok(issued)
    }
}

impl Issue {
    /// Keeps everybody else from issuing until the commit; says which number of this series was the
    /// last one, and when it was issued.
    ///
    /// Nodes whose settings name different series wait for each other, too: what a booking's credit
    /// notes come to must stay as it is. Its receipt, which comes first, is of a series that all of
    /// them see.
    async fn lock(&self, db: &Transaction<'_>) -> Result<(u32, Time), Fault> {
        let series = self.series.as_str();
        let sql = "INSERT INTO receipt_series (series, last_number) VALUES ($1, 0) \
                   ON CONFLICT (series) DO NOTHING";
        execute(db, sql, &[&series]).await?;
        let sql = "SELECT series = $1, last_number FROM receipt_series ORDER BY series FOR UPDATE";
        let mut last = None;
        for row in all(db, sql, &[&series]).await? {
            if row.try_get(0)? {
                last = Some(row.try_get::<_, i64>(1)?);
            }
        }
        let last = last.ok_or_else(|| Fault::Unreadable("a series of receipts is gone".into()))?;
        // Looked up once the row is ours: what was committed meanwhile is seen.
        let sql = "SELECT issued_at FROM receipts WHERE series = $1 AND number = $2";
        let row = first(db, sql, &[&series, &last]).await?;
        let issued_at = row.map_or(Ok(self.at.0), |row| row.try_get(0))?;
        let last = u32::try_from(last);
        let last = last.map_err(|_| Fault::Unreadable("a number is too large".into()))?;
        Ok((last, Time(issued_at)))
    }
}

/// Who pays for a booking, if that is known. Whoever erases them meanwhile waits for the commit, and
/// then takes the name off what was issued.
async fn buyer_of(db: &Transaction<'_>, booking: &BookingId) -> Result<Option<Buyer>, Fault> {
    let sql = "SELECT row_to_json(buyers)::text FROM buyers WHERE booking_id = $1 FOR SHARE";
    row_of(db, sql, &[&booking.as_str()]).await
}

/// The document about a booking's payment, or about one of its refunds.
async fn find(
    db: &impl GenericClient,
    booking: &BookingId,
    refund: Option<&str>,
) -> Result<Option<Receipt>, Fault> {
    let sql = "SELECT row_to_json(receipts)::text FROM receipts \
               WHERE booking_id = $1 AND coalesce(refund_id, '') = $2";
    row_of(db, sql, &[&booking.as_str(), &refund.unwrap_or_default()]).await
}

/// What the credit notes of a booking come to, in minor units.
async fn noted_minor(db: &Transaction<'_>, booking: &BookingId) -> Result<i64, Fault> {
    let sql = "SELECT coalesce(sum(amount_minor), 0)::bigint FROM receipts \
               WHERE booking_id = $1 AND refund_id IS NOT NULL";
    let row = first(db, sql, &[&booking.as_str()]).await?;
    row.map_or(Ok(0), |row| Ok(row.try_get(0)?))
}

/// What documents of some bookings are made of.
pub(super) struct Basis(pub(super) Vec<BookingId>);

impl Ask<Vec<ReceiptBasis>> for Basis {
    async fn run(&self, db: &mut Client) -> Result<Vec<ReceiptBasis>, Fault> {
        let mut found = Vec::with_capacity(self.0.len());
        for id in &self.0 {
            let booking = bookings::Find(id.clone()).run(db).await?;
            let record = RecordOf(id.clone()).run(db).await?;
            let (Some(booking), Some(record)) = (booking, record) else { continue };
            let sql = "SELECT row_to_json(receipts)::text FROM receipts WHERE booking_id = $1 \
                       ORDER BY series, number";
            let issued = rows_of(&*db, sql, &[&id.as_str()]).await?;
            found.push(ReceiptBasis { booking, record, issued });
        }
        Ok(found)
    }
}

/// Payments that took money, the earliest first.
pub(super) fn takings(rule: ReceiptRule, after: Option<&str>, limit: usize) -> PageOf<Taking> {
    PageOf {
        columns: lists::taking_columns(rule),
        list: lists::takings(&POSTGRES, after, limit),
        read: |row| {
            Ok(Taking {
                payment: parsed(row.try_get(0)?)?,
                booking: parsed(row.try_get(1)?)?,
                created_at: Time(row.try_get(2)?),
                is_missing: row.try_get(3)?,
            })
        },
    }
}
