//! `GET /events/{event}/seats/status`.

use crate::app::App;
use crate::http::body::json_bytes;
use crate::http::caller::Ids;
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::shapes::ids::EventIdText;
use crate::http::shapes::seats::SeatStatuses;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// The status of every seat, one letter each, in the order of the seat map.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/seats/status", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The statuses", body = SeatStatuses), EventProblems),
)]
pub async fn seat_statuses(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
) -> Result<Response, Problem> {
    Ok(json_bytes(StatusCode::OK, app.boards.now(&event).await?.statuses()))
}
