//! What the organiser may ask for, with the admin API key.

pub mod add_pool;
pub mod block;
pub mod cancel;
pub mod capacity;
pub mod change;
pub mod claimed;
pub mod close;
pub mod close_prequeue;
pub mod confirm;
pub mod create;
pub mod dead_messages;
pub mod feed;
pub mod inventory_status;
pub mod open;
pub mod pause;
pub mod prequeue;
pub mod replay_messages;
pub mod resume;
pub mod room;
pub mod seat_map;
pub mod seats;
pub mod unblock;

use crate::app::{App, odd_answer};
use crate::http::body::json;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::event::EventBody;
use crate::http::shapes::settings::SettingsChange;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::command::Reason;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::settings::Settings;
use onrush_core::view::HoldView;
use onrush_core::{Command, Query, View};

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
    let _changing = app.changing.lock().await;
    let (_, view) = app.view_event(event).await?;
    let mut settings = view.settings;
    let seed_hash = match change.wants_new_draw(&settings) {
        true => Some(app.draws.commit(event)?),
        false => None,
    };
    change.apply(&mut settings, seed_hash);
    check_together(&settings)?;
    app.run(event, Command::ChangeSettings { settings: Box::new(settings) }).await?;
    app.draws.settings_changed();
    event_answer(app, StatusCode::OK, event).await
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
        | View::Claim(_) => Err(odd_answer()),
    }
}

/// Who and why, from a body that has been read.
fn reason(by: Box<str>, why: Box<str>) -> Reason {
    Reason { by, why }
}
