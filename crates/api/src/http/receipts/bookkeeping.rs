//! Receipts and credit notes as postings, one a line, for the books of the business.

use super::Receipts;
use super::list::FileSearch;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::ConflictProblems;
use crate::http::problem::Problem;
use crate::http::shapes::table::{Attachment, ROWS_AT_ONCE, attach, readable};
use axum::response::Response;
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId};
use onrush_ledger::receipt::{Purpose, Receipt, ReceiptFilter, ReceiptKind};
use serde::Serialize;
use utoipa::ToSchema;

const FILE: Attachment = Attachment {
    content_type: "application/jsonl; charset=utf-8",
    disposition: "attachment; filename=\"bookkeeping.jsonl\"",
};

/// The kind of account that a posting is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Account {
    /// Money that buyers paid, tax included.
    PaymentsReceived,
    /// Units, without their tax.
    Sales,
    /// Fees, without their tax.
    Fees,
    /// The tax in both.
    Tax,
}

/// A posting: one of its two amounts is 0. Those of a document come to the same on both sides.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Posting<'a> {
    /// The number of the receipt or credit note.
    document: String,
    #[schema(value_type = super::shapes::KindName)]
    kind: ReceiptKind,
    /// When it was issued, as RFC 3339.
    date: String,
    /// The same in milliseconds.
    #[schema(value_type = crate::json::ids::TimeMs)]
    issued_at: Time,
    #[schema(value_type = crate::json::ids::IdText)]
    booking: &'a BookingId,
    #[schema(value_type = crate::json::ids::EventIdText)]
    event: &'a EventId,
    account: Account,
    /// The rate of the tax on sales and fees, in basis points; missing where the event told of none,
    /// and for what was received.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate_bp: Option<u32>,
    debit_minor: i64,
    credit_minor: i64,
    #[schema(value_type = crate::json::ids::CurrencyText)]
    currency: &'a str,
}

/// Postings for bookkeeping: JSON, one a line, in the order of the documents' numbers.
///
/// A receipt debits what was received and credits sales, fees and tax; a credit note does the
/// opposite. If the ledger fails half-way the answer breaks off without its end.
#[utoipa::path(
    get, path = "/api/v1/admin/bookkeeping.jsonl", tag = "admin", operation_id = "bookkeeping",
    params(FileSearch),
    responses((status = 200, description = "A posting a line", body = Posting,
        content_type = "application/jsonl"), ConflictProblems),
)]
pub async fn bookkeeping(
    _: Operator,
    Receipts(ledger): Receipts,
    Strict(query): Strict<FileSearch>,
) -> Result<Response, Problem> {
    let filter = query.filter();
    let page =
        move |after| ledger.receipts(ReceiptFilter { after, ..filter.clone() }, ROWS_AT_ONCE);
    attach(FILE, Vec::new(), page, |documents| Ok(lines(documents))).await
}

/// The postings of documents as lines.
fn lines(documents: &[Receipt]) -> Vec<u8> {
    let mut lines = Vec::new();
    for posting in documents.iter().flat_map(postings) {
        serde_json::to_writer(&mut lines, &posting).expect("texts and numbers can be written");
        lines.push(b'\n');
    }
    lines
}

/// The postings of a document; accounts on which nothing moves have none.
fn postings(receipt: &Receipt) -> impl Iterator<Item = Posting<'_>> {
    let lines = &receipt.document.lines;
    let net_minor = |purpose| {
        let of_it = lines.iter().filter(move |line| line.purpose == purpose);
        of_it.map(|line| line.net_minor).sum::<i64>()
    };
    let amounts = [
        (Account::PaymentsReceived, receipt.amount_minor),
        (Account::Sales, -net_minor(Purpose::Sales)),
        (Account::Fees, -net_minor(Purpose::Fees)),
        (Account::Tax, -receipt.document.tax_minor()),
    ];
    let rate_bp = receipt.document.tax.as_ref().map(|tax| tax.rate_bp);
    let sign = match receipt.kind() {
        ReceiptKind::Receipt => 1,
        ReceiptKind::CreditNote => -1,
    };
    let amounts = amounts.map(|(account, minor)| (account, minor * sign));
    amounts.into_iter().filter(|(_, minor)| *minor != 0).map(move |(account, minor)| Posting {
        document: receipt.number.to_string(),
        kind: receipt.kind(),
        date: readable(receipt.issued_at),
        issued_at: receipt.issued_at,
        booking: &receipt.booking,
        event: &receipt.event,
        account,
        rate_bp: rate_bp.filter(|_| account != Account::PaymentsReceived),
        debit_minor: minor.max(0),
        credit_minor: (-minor).max(0),
        currency: receipt.currency.as_str(),
    })
}
