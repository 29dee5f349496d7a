//! `GET /events/{event}/seats`.

use crate::app::App;
use crate::http::body::json_bytes;
use crate::http::caller::Ids;
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::shapes::ids::EventIdText;
use crate::http::shapes::seats::SeatMap;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// The seat map, with the status of each seat.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/seats", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The seat map", body = SeatMap), EventProblems),
)]
pub async fn seats(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
) -> Result<Response, Problem> {
    Ok(json_bytes(StatusCode::OK, app.boards.now(&event).await?.map()))
}
