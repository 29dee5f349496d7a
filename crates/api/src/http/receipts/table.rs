//! Receipts and credit notes as a table for spreadsheets.

use super::Receipts;
use super::list::FileSearch;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::ConflictProblems;
use crate::http::problem::Problem;
use crate::http::shapes::table::{Column, ROWS_AT_ONCE, attach_table, readable};
use axum::response::Response;
use onrush_core::tax::Tax;
use onrush_ledger::receipt::{Receipt, ReceiptFilter};

const FILE: &str = "attachment; filename=\"receipts.csv\"";

const COLUMNS: &[Column<Receipt>] = &[
    ("number", |row| row.number.to_string().into()),
    ("kind", |row| <&str>::from(row.kind()).into()),
    ("corrects", |row| {
        row.corrects.as_ref().map_or_else(String::new, |it| it.receipt.to_string()).into()
    }),
    ("issued_at", |row| readable(row.issued_at).into()),
    ("moved_at", |row| readable(row.document.moved_at).into()),
    ("booking", |row| row.booking.as_str().into()),
    ("event", |row| row.event.as_str().into()),
    ("title", |row| row.document.title.as_str().into()),
    ("refund", |row| row.corrects.as_ref().map_or("", |it| it.refund.as_str()).into()),
    ("buyer_name", |row| row.buyer_name.as_deref().unwrap_or_default().into()),
    ("currency", |row| row.currency.as_str().into()),
    ("amount_minor", |row| row.amount_minor.to_string().into()),
    ("net_minor", |row| (row.amount_minor - row.document.tax_minor()).to_string().into()),
    ("tax_minor", |row| row.document.tax_minor().to_string().into()),
    // Last, as there are programs that read cells by their place.
    ("tax_name", |row| tax(row).map_or("", |tax| &tax.name).into()),
    ("rate_bp", |row| tax(row).map_or_else(String::new, |tax| tax.rate_bp.to_string()).into()),
];

const fn tax(row: &Receipt) -> Option<&Tax> {
    row.document.tax.as_ref()
}

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
    let filter = query.filter();
    attach_table(FILE, COLUMNS, move |after| {
        ledger.receipts(ReceiptFilter { after, ..filter.clone() }, ROWS_AT_ONCE)
    })
    .await
}
