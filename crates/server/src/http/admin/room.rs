//! `PATCH /admin/events/{event}/room`.

use super::change_settings;
use crate::http::body::JsonBody;
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::event::EventBody;
use crate::http::shapes::settings::{RoomChange, SettingsChange};
use crate::http::state::App;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::response::Response;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// Changes the waiting room, also while the sale runs: its capacity, its outflow.
#[utoipa::path(
    patch, path = "/api/v1/admin/events/{event}/room", tag = "admin", operation_id = "change_room",
    params(("event" = EventIdText, Path)),
    request_body = RoomChange,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn room(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    _: Admin,
    JsonBody(change): JsonBody<RoomChange>,
) -> Result<Response, Problem> {
    change_settings(&app, &event, SettingsChange::of_room(change)).await
}
