//! `PUT /admin/events/{event}/texts/{language}`.

use crate::http::body::{JsonBody, json};
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::texts::{Language, TextBody, Texts};
use crate::http::state::App;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// Sets what people read about an event in one language, all of it at once.
#[utoipa::path(
    put, path = "/api/v1/admin/events/{event}/texts/{language}", tag = "admin", operation_id = "set_texts",
    params(
        ("event" = EventIdText, Path),
        ("language" = String, Path, min_length = 2, max_length = 35, pattern = "^[A-Za-z0-9-]+$"),
    ),
    request_body = TextBody,
    responses((status = 200, description = "The texts in all languages", body = Texts), WriteProblems),
    security(("admin" = []))
)]
pub async fn texts(
    State(app): State<Arc<App>>,
    Ids((event, language)): Ids<(EventId, Language)>,
    _: Admin,
    JsonBody(body): JsonBody<TextBody>,
) -> Result<Response, Problem> {
    let text = body.text()?;
    app.view_event(&event).await?;
    app.ledger.set_text(&event, language.as_str(), text).await?;
    let rows = app.ledger.texts(&event).await?;
    Ok(json(StatusCode::OK, &Texts::new(event, rows)))
}
