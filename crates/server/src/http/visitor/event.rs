//! `GET /events/{event}`.

use crate::http::body::json;
use crate::http::caller::Ids;
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::shapes::event::EventBody;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// One event.
#[utoipa::path(
    get, path = "/api/v1/events/{event}", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The event", body = EventBody), EventProblems),
)]
pub async fn event(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
) -> Result<Response, Problem> {
    let (at, view) = app.view_event(&event).await?;
    Ok(json(StatusCode::OK, &EventBody::new(at, view)))
}
