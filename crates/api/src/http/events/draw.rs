//! What is public about a draw.

use super::shapes::DrawBody;
use crate::draw::DrawError;
use crate::http::body::Json;
use crate::http::caller::Ids;
use crate::http::negotiate::{is_known, not_modified};
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::shapes::problem::ProblemBody;
use crate::http::state::Sale;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
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
) -> Result<Json<DrawBody>, Problem> {
    let (_, view) = sale.view_event(&event).await?;
    Ok(Json(DrawBody::new(view).ok_or(DrawError::NoDraw)?))
}

/// The place ids of those who take part in the draw, in the order taken; the SHA-256 of this text
/// is published.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/draw/entrants", tag = "events",
    params(("event" = EventIdText, Path)),
    responses(
        (status = 200, description = "One place id a line", content_type = "text/plain", body = String),
        (status = 304, description = "It is the one that `If-None-Match` names"),
        EventProblems,
        (status = 409, description = "`PREQUEUE_NOT_CLOSED`",
            content_type = "application/problem+json", body = ProblemBody),
    ),
)]
pub async fn entrants(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let hash = sale.draws.entrants_hash(&event).await?;
    let tag = format!("\"{hash}\"");
    if is_known(&headers, &tag) {
        return Ok(not_modified(&tag));
    }
    let list = sale.draws.entrants(&event, hash).await?;
    let content = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CACHE_CONTROL, "no-cache"),
        (ETAG, tag.as_str()),
    ];
    Ok((content, list).into_response())
}
