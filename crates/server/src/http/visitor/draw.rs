//! `GET /events/{event}/draw`.

use crate::draw::DrawError;
use crate::http::body::json;
use crate::http::caller::Ids;
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::shapes::event::DrawBody;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// What is public about the draw at this time.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/draw", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The draw", body = DrawBody), EventProblems),
)]
pub async fn draw(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
) -> Result<Response, Problem> {
    let (_, view) = app.view_event(&event).await?;
    Ok(json(StatusCode::OK, &DrawBody::from(view.draw.ok_or(DrawError::NoDraw)?)))
}
