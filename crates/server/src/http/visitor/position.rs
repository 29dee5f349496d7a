//! `GET /events/{event}/queue`.

use super::{find_place, place_body};
use crate::http::body::json;
use crate::http::caller::{Ids, Strict, Visitor};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::place::WhichPlace;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use crate::live::place::PlaceBody;
use crate::metrics::count;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use onrush_core::view::PlaceState;
use onrush_core::{Command, Refusal};
use std::sync::Arc;

/// Where the visitor stands (S3.2). A sign of life, but not an arrival.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/queue", tag = "queue",
    params(("event" = EventIdText, Path), WhichPlace),
    responses((status = 200, description = "The place", body = PlaceBody), ReadProblems),
    security(("visitor" = []))
)]
pub async fn position(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    Visitor(user): Visitor,
    Strict(which): Strict<WhichPlace>,
) -> Result<Response, Problem> {
    count(&app.metrics.positions);
    let view = match find_place(&app, &event, &user, which.place).await {
        Ok(view) => view,
        Err(problem) if problem.code() == Refusal::PlaceNotFound.code() => {
            return Ok(json(StatusCode::OK, &PlaceBody::NotFound));
        }
        Err(problem) => return Err(problem),
    };
    if matches!(view.state, PlaceState::Queued { see_due: true, .. }) {
        let command = Command::See { place: view.place, user: user.clone() };
        // If it fails, the next question is a sign of life as well.
        if let Err(failure) = app.run(&event, command).await {
            tracing::debug!(%failure, %event, "a sign of life was not written down");
        }
    }
    Ok(json(StatusCode::OK, &place_body(&app, &event, &user, &view)))
}
