//! `POST /admin/events`.

use super::{check_together, event_answer};
use crate::http::body::JsonBody;
use crate::http::caller::Admin;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::event::EventBody;
use crate::http::shapes::settings::NewEvent;
use crate::http::state::App;
use crate::prices::check_currency;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::{Command, Refusal};
use std::sync::Arc;

/// Makes an event. With `"order": "draw"` a seed is drawn, kept, and its hash published.
#[utoipa::path(
    post, path = "/api/v1/admin/events", tag = "admin", operation_id = "create_event",
    request_body = NewEvent,
    responses((status = 201, description = "The event", body = EventBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn create(
    State(app): State<Arc<App>>,
    _: Admin,
    JsonBody(body): JsonBody<NewEvent>,
) -> Result<Response, Problem> {
    let (event, mut settings, change) = body.split();
    check_currency(app.sagas.gateway(), &settings)?;
    let seed_hash = match change.wants_new_draw(&settings) {
        true => Some(commit_unless_known(&app, &event).await?),
        false => None,
    };
    change.apply(&mut settings, seed_hash);
    app.sagas.set_steps(&mut settings);
    check_together(&settings)?;
    app.run(&event, Command::CreateEvent { settings: Box::new(settings) }).await?;
    app.draws.settings_changed();
    event_answer(&app, StatusCode::CREATED, &event).await
}

/// Draws a seed, but not for an event that exists: its seed may be revealed already.
async fn commit_unless_known(
    app: &App,
    event: &onrush_core::ids::EventId,
) -> Result<onrush_core::settings::Digest, Problem> {
    match app.view_event(event).await {
        Ok(_) => Err(Refusal::EventExists.into()),
        Err(problem) if problem.code() == Refusal::EventNotFound.code() => {
            Ok(app.draws.commit(event).await?)
        }
        Err(problem) => Err(problem),
    }
}
