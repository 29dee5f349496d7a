//! The organiser's bookings as a table for spreadsheets.

use super::search::{TableSearch, search_text};
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::table::{Column, ROWS_AT_ONCE, attach_table, readable};
use axum::extract::State;
use axum::response::Response;
use onrush_core::ids::PaymentId;
use onrush_ledger::Ledger;
use onrush_ledger::booking::{Booking, BookingFilter, Buyer};
use std::sync::Arc;

const FILE: &str = "attachment; filename=\"bookings.csv\"";

const COLUMNS: &[Column<(Booking, Option<Buyer>)>] = &[
    ("booking", |(row, _)| row.booking.as_str().into()),
    ("event", |(row, _)| row.event.as_str().into()),
    ("user", |(row, _)| row.user.as_str().into()),
    ("status", |(row, _)| <&str>::from(row.status).into()),
    ("pools", |(row, _)| {
        let pools = row.lines.pools().iter().map(|line| format!("{}={}", line.pool, line.quantity));
        pools.collect::<Vec<_>>().join(" ").into()
    }),
    ("seats", |(row, _)| {
        let seats = row.lines.seats().iter().map(ToString::to_string);
        seats.collect::<Vec<_>>().join(" ").into()
    }),
    ("amount_minor", |(row, _)| row.amount_minor.to_string().into()),
    ("fee_minor", |(row, _)| row.fee_minor.to_string().into()),
    ("currency", |(row, _)| row.currency.as_str().into()),
    ("payment", |(row, _)| row.payment.as_ref().map_or("", PaymentId::as_str).into()),
    ("refund_minor", |(row, _)| row.refund_minor.to_string().into()),
    ("checked_in", |(row, _)| row.checked_in.to_string().into()),
    ("created_at", |(row, _)| readable(row.created_at).into()),
    ("updated_at", |(row, _)| readable(row.updated_at).into()),
    ("name", |(_, buyer)| buyer.as_ref().map_or("", |buyer| &buyer.name).into()),
    ("email", |(_, buyer)| buyer.as_ref().map_or("", |buyer| &buyer.email).into()),
    ("language", |(_, buyer)| buyer.as_ref().map_or("", |buyer| &buyer.language).into()),
];

/// Bookings with their buyers as a table for spreadsheets, the latest first, all of them.
///
/// A cell that a spreadsheet would take for a formula begins with an apostrophe. If the ledger
/// fails half-way the answer breaks off without its end, so that nobody takes the half for the
/// whole.
#[utoipa::path(
    get, path = "/api/v1/admin/bookings.csv", tag = "admin", operation_id = "bookings_csv",
    params(TableSearch),
    responses((status = 200, description = "The table", body = String, content_type = "text/csv"),
        ReadProblems),
)]
pub async fn bookings_csv(
    State(ledger): State<Arc<dyn Ledger>>,
    _: Operator,
    Strict(query): Strict<TableSearch>,
) -> Result<Response, Problem> {
    let TableSearch { event, status, user, text } = query;
    let filter = BookingFilter { event, status, user, text: search_text(text)?, after: None };
    attach_table(FILE, COLUMNS, move |after| {
        ledger.bookings(BookingFilter { after, ..filter.clone() }, ROWS_AT_ONCE)
    })
    .await
}
