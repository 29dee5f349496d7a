//! `GET /events/{event}/texts`.

use crate::http::body::json;
use crate::http::caller::Ids;
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::shapes::texts::Texts;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// What people read about an event, by language.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/texts", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The texts", body = Texts), EventProblems),
)]
pub async fn texts(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
) -> Result<Response, Problem> {
    app.view_event(&event).await?;
    let rows = app.ledger.texts(&event).await?;
    Ok(json(StatusCode::OK, &Texts::new(event, rows)))
}
