//! `PATCH /admin/events/{event}`.

use super::change_settings;
use crate::http::body::JsonBody;
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::event::EventBody;
use crate::http::shapes::settings::SettingsChange;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::response::Response;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// Changes settings; what is left out stays.
#[utoipa::path(
    patch, path = "/api/v1/admin/events/{event}", tag = "admin", operation_id = "change_event",
    params(("event" = EventIdText, Path)),
    request_body = SettingsChange,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn change(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    _: Admin,
    JsonBody(change): JsonBody<SettingsChange>,
) -> Result<Response, Problem> {
    change_settings(&app, &event, change).await
}
