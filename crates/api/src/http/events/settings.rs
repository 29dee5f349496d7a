//! Making an event, and changing its settings.

use super::read::event_answer;
use super::shapes::EventBody;
use super::shapes::room::RoomChange;
use super::shapes::settings::{NewEvent, SettingsChange};
use crate::http::actions::note::About;
use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Ids, Operator};
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::Sale;
use crate::json::ids::EventIdText;
use crate::prices::{check_change, check_currency};
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use onrush_core::ids::EventId;
use onrush_core::settings::{Complaint, Settings};
use onrush_core::{Command, Refusal};
use onrush_saga::Sagas;
use std::sync::Arc;

/// Makes an event. With `"order": "draw"` a seed is drawn, kept, and its hash published.
#[utoipa::path(
    post, path = "/api/v1/admin/events", tag = "admin",
    request_body = NewEvent,
    responses((status = 201, description = "The event", body = EventBody), WriteProblems),
)]
pub async fn create_event(
    State(sale): State<Arc<Sale>>,
    State(sagas): State<Arc<Sagas>>,
    _: Operator,
    JsonBody(body): JsonBody<NewEvent>,
) -> Result<Response, Problem> {
    let (event, mut settings, change) = body.split();
    change.check_times()?;
    check_currency(sagas.gateway(), &settings)?;
    let seed_hash = match change.wants_new_draw(&settings) {
        true => Some(commit_unless_known(&sale, &event).await?),
        false => None,
    };
    change.apply(&mut settings, seed_hash);
    sagas.set_steps(&mut settings);
    check_together(&settings)?;
    let created =
        sale.run::<()>(&event, Command::CreateEvent { settings: Box::new(settings) }).await;
    // Also where nobody can say whether it was done.
    sale.draws.settings_changed();
    created?;
    let body = event_answer(&sale, &event).await?;
    Ok((StatusCode::CREATED, Extension(About(event)), body).into_response())
}

/// Draws a seed, but not for an event that exists: its seed may be revealed already.
async fn commit_unless_known(
    sale: &Sale,
    event: &onrush_core::ids::EventId,
) -> Result<onrush_core::settings::Digest, Problem> {
    match sale.view_event(event).await {
        Ok(_) => Err(Refusal::EventExists.into()),
        Err(problem) if problem.code() == Refusal::EventNotFound.code() => {
            Ok(sale.draws.commit(event).await?)
        }
        Err(problem) => Err(problem),
    }
}

/// Changes settings; what is left out stays. Where `was` tells what one of them was when it was read,
/// and somebody else has changed that since, nothing is changed: 409 `SETTINGS_CHANGED`.
#[utoipa::path(
    patch, path = "/api/v1/admin/events/{event}", tag = "admin",
    params(("event" = EventIdText, Path)),
    request_body = SettingsChange,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
)]
pub async fn change_event(
    State(sale): State<Arc<Sale>>,
    State(sagas): State<Arc<Sagas>>,
    Ids(event): Ids<EventId>,
    _: Operator,
    JsonBody(change): JsonBody<SettingsChange>,
) -> Result<Json<EventBody>, Problem> {
    change.check_times()?;
    change_settings(&sale, &sagas, &event, change).await
}

/// Changes the waiting room, also while the sale runs: its capacity, its outflow.
#[utoipa::path(
    patch, path = "/api/v1/admin/events/{event}/room", tag = "admin",
    params(("event" = EventIdText, Path)),
    request_body = RoomChange,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
)]
pub async fn change_room(
    State(sale): State<Arc<Sale>>,
    State(sagas): State<Arc<Sagas>>,
    Ids(event): Ids<EventId>,
    _: Operator,
    JsonBody(change): JsonBody<RoomChange>,
) -> Result<Json<EventBody>, Problem> {
    sale.turns.take("settings", read_and_change_room(&sale, &sagas, &event, change)).await
}

async fn read_and_change_room(
    sale: &Sale,
    sagas: &Sagas,
    event: &EventId,
    change: RoomChange,
) -> Result<Json<EventBody>, Problem> {
    let (_, view) = sale.view_event(event).await?;
    // An event gets a room by its settings, and not by a change of what it does not have.
    if view.settings.room.is_none() {
        return Err(Refusal::NoWaitingRoom.into());
    }
    read_and_change(sale, sagas, event, SettingsChange::of_room(change)).await
}

/// Reads the settings, changes them and writes them back; one such change at a time.
async fn change_settings(
    sale: &Sale,
    sagas: &Sagas,
    event: &EventId,
    change: SettingsChange,
) -> Result<Json<EventBody>, Problem> {
    sale.turns.take("settings", read_and_change(sale, sagas, event, change)).await
}

async fn read_and_change(
    sale: &Sale,
    sagas: &Sagas,
    event: &EventId,
    mut change: SettingsChange,
) -> Result<Json<EventBody>, Problem> {
    let (_, view) = sale.view_event(event).await?;
    let before = view.settings;
    let mut settings = before.clone();
    let was = change.take_was();
    let seed_hash = match change.wants_new_draw(&settings) {
        true => Some(sale.draws.commit(event).await?),
        false => None,
    };
    change.apply(&mut settings, seed_hash);
    was.check(&before, &settings)?;
    sagas.set_steps(&mut settings);
    check_together(&settings)?;
    check_change(&*sale.engine, sagas.gateway(), event, &before, &settings).await?;
    let changed =
        sale.run::<()>(event, Command::ChangeSettings { settings: Box::new(settings) }).await;
    // Also where nobody can say whether it was done.
    sale.draws.settings_changed();
    changed?;
    event_answer(sale, event).await
}

/// Sees to it that the event knows which amounts the gateway can express, before it promises any:
/// it may have been made before the gateway was chosen.
///
/// If it cannot be told now, what was promised before counts.
pub(in crate::http) async fn teach_steps(sale: &Sale, sagas: &Sagas, event: &EventId) {
    let Ok((_, mut view)) = sale.view_event(event).await else { return };
    if !sagas.set_steps(&mut view.settings) {
        return;
    }
    let taught = change_settings(sale, sagas, event, SettingsChange::default()).await;
    if let Err(problem) = taught {
        tracing::warn!(%event, code = problem.code(), "it keeps its steps between amounts");
    }
}

/// Settings that do not go together are a conflict; each by itself is for the rules to check.
fn check_together(settings: &Settings) -> Result<(), Problem> {
    match settings.contradiction() {
        Some(Complaint { field, why }) => {
            Err(Problem::new(Code::SettingsConflict, why).about(field))
        }
        None => Ok(()),
    }
}
