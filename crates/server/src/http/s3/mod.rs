//! The paths of S3 with its fields and its words, over the same commands as `/api/v1`. They are served where
//! `s3_paths` is set.
//!
//! What S3 calls a visitor's state follows from what the rules have: the live booking of one seat,
//! else the place or session, else the booking that was confirmed last. Nothing is stored for these
//! paths alone.

pub mod cancel;
pub mod failure;
pub mod initiate;
pub mod position;
pub mod request;
pub mod seats;
pub mod select_seat;
pub mod success;

use super::gateway::webhook::take_in;
use super::visitor::find_place;
use crate::answers::every_booking_of;
use crate::http::body::json;
use crate::http::problem::Problem;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use onrush_core::hold::HoldState;
use onrush_core::ids::{EventId, SeatId, UserId};
use onrush_core::view::{HoldView, PlaceView};
use onrush_core::{Refusal, Time};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// How long after its payment a booking still shows as the visitor's state (S3.6).
const COMPLETED_SHOWN_MS: i64 = 3_600_000;

/// Which event.
#[derive(Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
#[schema(as = S3Event)]
pub struct OfEvent {
    /// The event.
    #[schema(value_type = EventIdText)]
    #[param(value_type = EventIdText)]
    event_id: EventId,
}

/// That it was refused, and why in S3's words. Everything that S3 has no word for is a problem document.
#[derive(Serialize, ToSchema)]
#[schema(as = S3Refusal)]
pub struct Refused {
    /// `false`.
    success: bool,
    /// Why.
    error: Word,
}

/// S3's words for why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = S3Error, rename_all = "snake_case")]
pub enum Word {
    /// Somebody else has the seat.
    SeatUnavailable,
    /// It is not the visitor's turn, or they are further on than this, or not so far.
    InvalidState,
    /// A payment is under way.
    CannotCancel,
    /// The visitor has nothing to give up.
    NotFound,
}

fn refused(error: Word) -> Response {
    json(StatusCode::CONFLICT, &Refused { success: false, error })
}

/// A visitor's live booking of one seat.
struct Chosen<'a> {
    hold: &'a HoldView,
    seat: &'a SeatId,
    until: Time,
    /// Whether a payment runs.
    paying: bool,
}

/// A visitor's bookings, oldest first, and the engine's time.
async fn bookings(
    app: &App,
    event: &EventId,
    user: &UserId,
) -> Result<(Time, Vec<HoldView>), Problem> {
    Ok(every_booking_of(&*app.engine, event, user).await?)
}

/// The seat of a booking of nothing but one seat.
fn only_seat(hold: &HoldView) -> Option<&SeatId> {
    match (hold.terms.lines.pools(), hold.terms.lines.seats()) {
        ([], [seat]) => Some(seat),
        _ => None,
    }
}

/// The live booking of one seat that is paid for, or else the latest, however it was made.
fn chosen(holds: &[HoldView], at: Time) -> Option<Chosen<'_>> {
    let live = holds.iter().filter_map(|hold| {
        let seat = only_seat(hold)?;
        let until = hold.state.until().filter(|until| at < *until)?;
        let paying = matches!(hold.state, HoldState::Paying { .. });
        Some(Chosen { hold, seat, until, paying })
    });
    // Of equals the last is the greatest.
    live.max_by_key(|chosen| chosen.paying)
}

/// The booking of one seat that was confirmed last, and until when it is shown.
fn completed(holds: &[HoldView], at: Time) -> Option<(&SeatId, Time)> {
    let confirmed = holds.iter().filter_map(|hold| match hold.state {
        HoldState::Confirmed { at: confirmed_at, .. } => {
            let until = confirmed_at.plus_ms(COMPLETED_SHOWN_MS);
            Some((only_seat(hold)?, until)).filter(|_| at < until)
        }
        HoldState::Held { .. }
        | HoldState::Paying { .. }
        | HoldState::Released { .. }
        | HoldState::Expired { .. }
        | HoldState::Cancelled { .. } => None,
    });
    confirmed.max_by_key(|(_, until)| *until)
}

/// A visitor's session, or their place in the queue.
async fn place(app: &App, event: &EventId, user: &UserId) -> Result<Option<PlaceView>, Problem> {
    match find_place(app, event, user, None).await {
        Ok(view) => Ok(Some(view)),
        Err(problem) if problem.code() == Refusal::PlaceNotFound.code() => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// S3's times are whole seconds; rounded down, so that nobody counts on what is over.
fn seconds(at: Time) -> i64 {
    at.0.div_euclid(1_000)
}

/// Takes a message of the configured gateway in. What it says counts, whichever of the two paths it came by.
async fn hear(app: Arc<App>, headers: &HeaderMap, body: &[u8]) -> Result<Response, Problem> {
    let name = app.sagas.gateway().map_or("none", |gateway| gateway.name());
    take_in(app, name, headers, body).await?;
    Ok(json(StatusCode::OK, &json!({ "received": true })))
}
