//! `GET /bookings/{booking}/tickets`.

use super::{confirmed_at, event_of_booking};
use crate::http::body::json;
use crate::http::caller::Ids;
use crate::http::keeper::Keeper;
use crate::http::openapi::ConflictProblems;
use crate::http::problem::Problem;
use crate::http::shapes::ticket::TicketsBody;
use crate::http::state::App;
use crate::json::ids::IdText;
use crate::tickets::Confirmed;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::BookingId;
use std::sync::Arc;

/// The tickets of one of the visitor's own confirmed bookings.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}/tickets", tag = "tickets",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "The tickets", body = TicketsBody), ConflictProblems),
    security(("visitor" = []), ("link" = []))
)]
pub async fn tickets(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    keeper: Keeper,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let view = keeper.find(&app, &event, &booking).await?;
    let terms = &view.terms;
    let (booking, user, lines) = (&terms.booking, &terms.user, &terms.lines);
    let confirmed = Confirmed { booking, event: &event, user, lines, at: confirmed_at(&view)? };
    let tickets = app.ticket_signer.sign_all(confirmed).into_iter().map(Into::into).collect();
    Ok(json(StatusCode::OK, &TicketsBody { booking, event: event.as_str(), tickets }))
}
