//! `GET /admin/events/{event}/seats`.

use crate::http::body::json_bytes;
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::seats::SeatMap;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// The seat map, with the booking that has a seat, or why it is blocked.
#[utoipa::path(
    get, path = "/api/v1/admin/events/{event}/seats", tag = "admin", operation_id = "seats_with_bookings",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The seat map", body = SeatMap), ReadProblems),
    security(("admin" = []))
)]
pub async fn seats(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    _: Admin,
) -> Result<Response, Problem> {
    Ok(json_bytes(StatusCode::OK, app.boards.for_organiser(&event).await?))
}
