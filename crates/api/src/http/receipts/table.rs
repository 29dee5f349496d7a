//! Receipts and credit notes as a table for spreadsheets.

use super::Receipts;
use super::list::FileSearch;
use crate::http::caller::{Operator, Strict};
use crate::http::faults::broken;
use crate::http::openapi::ConflictProblems;
use crate::http::problem::Problem;
use crate::http::shapes::table::{
    Attachment, CSV, ROWS_AT_ONCE, Rows, Written, attach, readable, table, write_cells,
};
use axum::response::Response;
use onrush_ledger::receipt::{Receipt, ReceiptFilter};
use onrush_ledger::{Ledger, Page};
use std::sync::Arc;

const FILE: Attachment =
    Attachment { content_type: CSV, disposition: "attachment; filename=\"receipts.csv\"" };

const HEAD: [&str; 14] = [
    "number",
    "kind",
    "corrects",
    "issued_at",
    "moved_at",
    "booking",
    "event",
    "title",
    "refund",
    "buyer_name",
    "currency",
    "amount_minor",
    "net_minor",
    "tax_minor",
];

/// Receipts and credit notes as a table for spreadsheets, the first number first, all of them.
///
/// A cell that a spreadsheet would take for a formula begins with an apostrophe. If the ledger
/// fails half-way the answer breaks off without its end, so that nobody takes the half for the
/// whole.
#[utoipa::path(
    get, path = "/api/v1/admin/receipts.csv", tag = "admin", operation_id = "receipts_csv",
    params(FileSearch),
    responses((status = 200, description = "The table", body = String, content_type = "text/csv"),
        ConflictProblems),
)]
pub async fn receipts_csv(
    _: Operator,
    Receipts(ledger): Receipts,
    Strict(query): Strict<FileSearch>,
) -> Result<Response, Problem> {
    let head = table(|out| out.write_record(HEAD));
    let head = head.map_err(|error| broken("writing the table", &error))?;
    attach(FILE, head, query.filter(), move |filter| read(ledger.clone(), filter)).await
}

/// One page of rows, and what to ask for after it.
async fn read(ledger: Arc<dyn Ledger>, filter: ReceiptFilter) -> Written<ReceiptFilter> {
    let Page { rows, next } = ledger.receipts(filter.clone(), ROWS_AT_ONCE).await?;
    let rows = table(|out| rows.iter().try_for_each(|row| write_row(out, row)));
    let rows = rows.map_err(|error| broken("writing the table", &error))?;
    Ok((rows, next.map(|next| ReceiptFilter { after: Some(next), ..filter })))
}

fn write_row(out: &mut Rows, row: &Receipt) -> csv::Result<()> {
    let tax_minor = row.document.tax_minor();
    let corrects = row.corrects.as_ref();
    let cells = [
        &*row.number.to_string(),
        row.kind().into(),
        &corrects.map_or(String::new(), |corrects| corrects.receipt.to_string()),
        &readable(row.issued_at),
        &readable(row.document.moved_at),
        row.booking.as_str(),
        row.event.as_str(),
        &row.document.title,
        corrects.map_or("", |corrects| corrects.refund.as_str()),
        row.buyer_name.as_deref().unwrap_or_default(),
        row.currency.as_str(),
        &row.amount_minor.to_string(),
        &(row.amount_minor - tax_minor).to_string(),
        &tax_minor.to_string(),
    ];
    write_cells(out, cells)
}
