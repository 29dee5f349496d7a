//! What is public about a draw.

use super::shapes::DrawBody;
use crate::draw::DrawError;
use crate::http::body::json;
use crate::http::caller::Ids;
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::shapes::problem::ProblemBody;
use crate::http::state::Sale;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use onrush_core::ids::EventId;
use std::sync::Arc;

/// What is public about the draw at this time.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/draw", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The draw", body = DrawBody), EventProblems),
)]
pub async fn draw(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
) -> Result<Response, Problem> {
    let (_, view) = sale.view_event(&event).await?;
    Ok(json(StatusCode::OK, &DrawBody::from(view.draw.ok_or(DrawError::NoDraw)?)))
}

/// The place ids of those who take part in the draw, in the order taken; the SHA-256 of this text
/// is published.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/draw/entrants", tag = "events",
    params(("event" = EventIdText, Path)),
    responses(
        (status = 200, description = "One place id a line", content_type = "text/plain", body = String),
        EventProblems,
        (status = 409, description = "`PREQUEUE_NOT_CLOSED`",
            content_type = "application/problem+json", body = ProblemBody),
    ),
)]
pub async fn entrants(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
) -> Result<impl IntoResponse, Problem> {
    let list = sale.draws.entrants(&event).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], list))
}
