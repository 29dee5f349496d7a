//! `POST /admin/events/{event}/resume`.

use super::run_and_show;
use crate::http::body::{Nothing, OptionalBody};
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::event::EventBody;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::response::Response;
use onrush_core::Command;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// Ends a pause.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/resume", tag = "admin", operation_id = "resume_sale",
    params(("event" = EventIdText, Path)),
    request_body = Option<Nothing>,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn resume(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    _: Admin,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    run_and_show(&app, &event, Command::Resume).await
}
