//! The organiser's bookings as a table for spreadsheets.

use super::search::search_text;
use super::shapes::BookingStatus;
use crate::http::caller::{Operator, Strict};
use crate::http::faults::broken;
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::table::{
    Attachment, CSV, ROWS_AT_ONCE, Rows, Written, attach, readable, table, write_cells,
};
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use axum::response::Response;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{EventId, UserId};
use onrush_ledger::booking::{Booking, BookingFilter, Buyer};
use onrush_ledger::{Ledger, Page};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

const FILE: Attachment =
    Attachment { content_type: CSV, disposition: "attachment; filename=\"bookings.csv\"" };

const HEAD: [&str; 17] = [
    "booking",
    "event",
    "user",
    "status",
    "pools",
    "seats",
    "amount_minor",
    "fee_minor",
    "currency",
    "payment",
    "refund_minor",
    "checked_in",
    "created_at",
    "updated_at",
    "name",
    "email",
    "language",
];

/// Which bookings.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TableSearch {
    /// Only of this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
    /// Only with this status.
    #[param(value_type = Option<BookingStatus>, nullable = false, inline)]
    status: Option<HoldStatus>,
    /// Only of this visitor.
    #[param(value_type = Option<IdText>, nullable = false)]
    user: Option<UserId>,
    /// Part of a booking's id, or of its buyer's name or mail address, in whatever capitals.
    #[param(min_length = 1, max_length = 500, nullable = false)]
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
    _: Operator,
    Strict(query): Strict<TableSearch>,
) -> Result<Response, Problem> {
    let TableSearch { event, status, user, text } = query;
    let filter = BookingFilter { event, status, user, text: search_text(text)?, after: None };
    let head = table(|out| out.write_record(HEAD));
    let head = head.map_err(|error| broken("writing the table", &error))?;
    attach(FILE, head, filter, move |filter| read(ledger.clone(), filter)).await
}

/// One page of rows, and what to ask for after it.
async fn read(ledger: Arc<dyn Ledger>, filter: BookingFilter) -> Written<BookingFilter> {
    let Page { rows, next } = ledger.bookings(filter.clone(), ROWS_AT_ONCE).await?;
    let rows =
        table(|out| rows.iter().try_for_each(|(row, buyer)| write_row(out, row, buyer.as_ref())));
    let rows = rows.map_err(|error| broken("writing the table", &error))?;
    Ok((rows, next.map(|next| BookingFilter { after: Some(next), ..filter })))
}

fn write_row(out: &mut Rows, row: &Booking, buyer: Option<&Buyer>) -> csv::Result<()> {
    let pools = row.lines.pools().iter().map(|line| format!("{}={}", line.pool, line.quantity));
    let seats = row.lines.seats().iter().map(ToString::to_string);
    let (pools, seats) = (pools.collect::<Vec<_>>().join(" "), seats.collect::<Vec<_>>().join(" "));
    let payment = row.payment.as_ref().map_or("", |payment| payment.as_str());
    let [name, email, language] = buyer.map_or([""; 3], |buyer| {
        [buyer.name.as_str(), buyer.email.as_str(), buyer.language.as_str()]
    });
    let cells = [
        row.booking.as_str(),
        row.event.as_str(),
        row.user.as_str(),
        row.status.into(),
        &pools,
        &seats,
        &row.amount_minor.to_string(),
        &row.fee_minor.to_string(),
        row.currency.as_str(),
        payment,
        &row.refund_minor.to_string(),
        &row.checked_in.to_string(),
        &readable(row.created_at),
        &readable(row.updated_at),
        name,
        email,
        language,
    ];
    write_cells(out, cells)
}
