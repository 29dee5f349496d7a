//! What the organiser may ask for, with the admin API key.

pub mod add_pool;
pub mod bans;
pub mod block;
pub mod bookings;
pub mod bookings_csv;
pub mod cancel;
pub mod capacity;
pub mod change;
pub mod claimed;
pub mod close;
pub mod close_prequeue;
pub mod confirm;
pub mod create;
pub mod dead_messages;
pub mod desk;
pub mod erase;
pub mod feed;
pub mod flags;
pub mod gateway;
pub mod inventory_status;
pub mod live;
pub mod open;
pub mod pause;
pub mod payments;
pub mod pool;
pub mod prequeue;
pub mod refunds;
pub mod remove_visitor;
pub mod replay_messages;
pub mod resume;
pub mod room;
pub mod saga;
pub mod saga_refund;
pub mod saga_release;
pub mod saga_retry;
pub mod sagas;
pub mod seat;
pub mod seat_map;
pub mod seats;
pub mod sync_inventory;
pub mod texts;
pub mod unban_visitor;
pub mod unblock;

use crate::http::body::json;
use crate::http::faults::odd_answer;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::event::EventBody;
use crate::http::shapes::ledger::SagaFile;
use crate::http::shapes::settings::SettingsChange;
use crate::http::state::App;
use crate::json::ids::FreeText;
use crate::prices::check_change;
use crate::saga::{Action, DriveError};
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::limits::fits_text;
use onrush_core::settings::Settings;
use onrush_core::spec::Reason;
use onrush_core::view::HoldView;
use onrush_core::{Command, Query, View};
use onrush_ledger::saga::File;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The event as it is after a change.
async fn event_answer(app: &App, status: StatusCode, event: &EventId) -> Result<Response, Problem> {
    let (at, view) = app.view_event(event).await?;
    Ok(json(status, &EventBody::new(at, view)))
}

/// Runs a command and answers with the event as it is afterwards.
async fn run_and_show(app: &App, event: &EventId, command: Command) -> Result<Response, Problem> {
    app.run(event, command).await?;
    event_answer(app, StatusCode::OK, event).await
}

/// Reads the settings, changes them and writes them back; one such change at a time.
async fn change_settings(
    app: &App,
    event: &EventId,
    change: SettingsChange,
) -> Result<Response, Problem> {
    app.turns.take("settings", read_and_change(app, event, change)).await
}

async fn read_and_change(
    app: &App,
    event: &EventId,
    change: SettingsChange,
) -> Result<Response, Problem> {
    let (_, view) = app.view_event(event).await?;
    let before = view.settings;
    let mut settings = before.clone();
    let seed_hash = match change.wants_new_draw(&settings) {
        true => Some(app.draws.commit(event).await?),
        false => None,
    };
    change.apply(&mut settings, seed_hash);
    app.sagas.set_steps(&mut settings);
    check_together(&settings)?;
    check_change(&*app.engine, app.sagas.gateway(), event, &before, &settings).await?;
    app.run(event, Command::ChangeSettings { settings: Box::new(settings) }).await?;
    app.draws.settings_changed();
    event_answer(app, StatusCode::OK, event).await
}

/// Sees to it that the event knows which amounts the gateway can express, before it promises any:
/// it may have been made before the gateway was chosen.
///
/// If it cannot be told now, what was promised before counts.
pub(crate) async fn teach_steps(app: &App, event: &EventId) {
    let Ok((_, mut view)) = app.view_event(event).await else { return };
    if !app.sagas.set_steps(&mut view.settings) {
        return;
    }
    let taught = change_settings(app, event, SettingsChange::nothing()).await;
    if let Err(problem) = taught {
        tracing::warn!(%event, code = problem.code(), "it keeps its steps between amounts");
    }
}

/// Settings that do not go together are a conflict; each by itself is for the rules to check.
fn check_together(settings: &Settings) -> Result<(), Problem> {
    match settings.contradiction() {
        Some(why) => Err(Problem::new(Code::SettingsConflict, why)),
        None => Ok(()),
    }
}

/// Anybody's booking.
async fn find_booking(app: &App, event: &EventId, booking: BookingId) -> Result<HoldView, Problem> {
    let query = Query::Booking { booking, user: None };
    match app.engine.query(event.clone(), query).await?.value {
        View::Booking(view) => Ok(view),
        View::Event(_)
        | View::Availability(_)
        | View::Seats(_)
        | View::Place(_)
        | View::Bookings(_)
        | View::Claim(_)
        | View::Bans(_) => Err(odd_answer()),
    }
}

/// Who and why, from a body that has been read.
fn reason(by: Box<str>, why: Box<str>) -> Reason {
    Reason { by, why }
}

/// Who does something about a stuck saga.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct By {
    /// Who; the saga's history names him.
    #[schema(value_type = FreeText)]
    by: Box<str>,
}

/// Does something about a stuck saga, and answers with it as it is afterwards.
async fn act(
    app: Arc<App>,
    booking: BookingId,
    action: Action,
    By { by }: By,
) -> Result<Response, Problem> {
    if by.is_empty() || !fits_text(&by) {
        return Err(Problem::new(Code::InvalidBody, "by: use 1 to 500 characters"));
    }
    let (sagas, of) = (app.sagas.clone(), booking.clone());
    // An operator who hangs up must not stop half-way what they began.
    let done = tokio::spawn(async move { sagas.act(&of, action, &by).await }).await;
    let file = match done {
        Ok(Ok(Some(file))) => Some(file),
        Ok(Ok(None)) => {
            let why = "the saga goes on by itself, or is over; look at its history";
            return Err(Problem::new(Code::SagaNotStuck, why));
        }
        Ok(Err(DriveError::NoSaga)) => None,
        Ok(Err(DriveError::Ledger(error))) => return Err(error.into()),
        Err(_) => {
            let why = "the saga broke down on the way; the log has more";
            return Err(Problem::new(Code::Internal, why));
        }
    };
    saga_answer(&app, &booking, file).await
}

/// A saga with its history, if there is one.
async fn saga_answer(
    app: &App,
    booking: &BookingId,
    file: Option<File>,
) -> Result<Response, Problem> {
    let none = || Problem::new(Code::SagaNotFound, "there is no saga of this booking");
    let file = file.ok_or_else(none)?;
    let history = app.ledger.history(booking).await?;
    Ok(json(StatusCode::OK, &SagaFile::new(file, history)))
}

/// What to look for in bookings and buyers, if it is a text of ordinary length.
fn search_text(text: Option<String>) -> Result<Option<String>, Problem> {
    match text {
        Some(text) if text.is_empty() || !fits_text(&text) => {
            Err(Problem::new(Code::InvalidQuery, "text: use 1 to 500 characters"))
        }
        text => Ok(text),
    }
}
