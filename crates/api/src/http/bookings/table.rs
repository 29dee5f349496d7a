//! The organiser's bookings as a table for spreadsheets.

use super::search::{TableSearch, search_text};
use super::shapes::BookingStatus;
use crate::http::body::JsonBody;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::{Code, Problem};
use crate::http::shapes::table::{Column, ROWS_AT_ONCE, attach_table, readable};
use crate::json::ids::{EventIdText, FreeText, IdText};
use axum::extract::State;
use axum::response::Response;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{EventId, PaymentId, SeatId, UserId};
use onrush_core::types::{Part, parts};
use onrush_ledger::Ledger;
use onrush_ledger::booking::{Booking, BookingFilter, Buyer};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

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
    // What is new comes last, as there are programs that read cells by their place.
    ("types", |(row, _)| types(row).into()),
    ("confirmed_at", |(row, _)| row.confirmed_at.map(readable).unwrap_or_default().into()),
];

/// How many units of each pool and seat are of which ticket type, `ga=2*adult ga=1*child A-2=1*child`;
/// units that have none are left out.
fn types(row: &Booking) -> String {
    let pools = row.lines.pools().iter().map(|line| line.pool.as_str());
    let names: Vec<&str> = pools.chain(row.lines.seats().iter().map(SeatId::as_str)).collect();
    let of_part = |part: Part<'_>| {
        part.held.map(|held| format!("{}={}*{}", names[part.line as usize], part.quantity, held.id))
    };
    parts(&row.lines, row.types.as_deref()).filter_map(of_part).collect::<Vec<_>>().join(" ")
}

/// Which bookings. Nothing, or null, is all of them.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BookingTableSearch)]
pub struct TableBody {
    /// Only of this event.
    #[schema(value_type = Option<EventIdText>)]
    event: Option<EventId>,
    /// Only with this status.
    #[schema(value_type = Option<BookingStatus>)]
    status: Option<HoldStatus>,
    /// Only of this visitor.
    #[schema(value_type = Option<IdText>)]
    user: Option<UserId>,
    /// What is looked for, as in the query of `GET /api/v1/admin/bookings`.
    #[schema(value_type = Option<FreeText>)]
    text: Option<String>,
}

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
    operator: Operator,
    Strict(query): Strict<TableSearch>,
) -> Result<Response, Problem> {
    let TableSearch { event, status, user, text } = query;
    let text = search_text(Code::InvalidQuery, text, &operator)?;
    table(ledger, BookingFilter { event, status, user, text, after: None }).await
}

/// The same table, and what its bookings are looked for by in a body: who buys stands in no address
/// then.
#[utoipa::path(
    post, path = "/api/v1/admin/bookings/search.csv", tag = "admin",
    operation_id = "bookings_csv_by_body",
    request_body = TableBody,
    responses((status = 200, description = "The table", body = String, content_type = "text/csv"),
        WriteProblems),
)]
pub async fn bookings_csv_by_body(
    State(ledger): State<Arc<dyn Ledger>>,
    operator: Operator,
    JsonBody(body): JsonBody<TableBody>,
) -> Result<Response, Problem> {
    let TableBody { event, status, user, text } = body;
    let text = search_text(Code::InvalidBody, text, &operator)?;
    table(ledger, BookingFilter { event, status, user, text, after: None }).await
}

async fn table(ledger: Arc<dyn Ledger>, filter: BookingFilter) -> Result<Response, Problem> {
    attach_table(FILE, COLUMNS, move |after| {
        ledger.bookings(BookingFilter { after, ..filter.clone() }, ROWS_AT_ONCE)
    })
    .await
}
