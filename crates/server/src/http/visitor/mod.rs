//! What visitors may ask for.

pub mod arrive;
pub mod availability;
pub mod booking;
pub mod bookings;
pub mod cancel;
pub mod carried;
pub mod carry;
pub mod claim;
pub mod claim_view;
pub mod confirm;
pub mod declaim;
pub mod draw;
pub mod entrants;
pub mod erase_buyer;
pub mod event;
pub mod events;
pub mod extend;
pub mod guest;
pub mod hold;
pub mod join;
pub mod keys;
pub mod leave;
pub mod link;
mod owned;
pub mod pace;
pub mod pay;
pub mod payment;
pub mod position;
pub mod renew;
pub mod seat_statuses;
pub mod seats;
pub mod set_buyer;
pub mod stream_ticket;
pub mod texts;
pub mod ticket_picture;
pub mod tickets;

use crate::auth::names::event_of;
use crate::auth::unix_now_s;
use crate::http::body::json;
use crate::http::faults::odd_answer;
use crate::http::problem::Problem;
use crate::http::shapes::booking::BookingBody;
use crate::http::state::App;
use crate::live::place::PlaceBody;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, ClaimId, EventId, PlaceId, UserId};
use onrush_core::view::{HoldView, PlaceView};
use onrush_core::{Query, Refusal, Time, View};

/// A place as its owner sees it, with a pass if they are active.
fn place_body(app: &App, event: &EventId, user: &UserId, view: &PlaceView) -> PlaceBody {
    PlaceBody::new(view, |place, until| app.passes.sign(event, user, place, until, unix_now_s()))
}

/// A user's place.
pub(in crate::http) async fn find_place(
    app: &App,
    event: &EventId,
    user: &UserId,
    place: Option<PlaceId>,
) -> Result<PlaceView, Problem> {
    let query = Query::Place { user: user.clone(), place };
    match app.engine.query(event.clone(), query).await?.value {
        View::Place(view) => Ok(view),
        View::Event(_)
        | View::Availability(_)
        | View::Seats(_)
        | View::Booking(_)
        | View::Bookings(_)
        | View::Claim(_)
        | View::Bans(_) => Err(odd_answer()),
    }
}

/// A visitor's own booking.
async fn find_own_booking(
    app: &App,
    event: &EventId,
    booking: &BookingId,
    user: &UserId,
) -> Result<HoldView, Problem> {
    let query = Query::Booking { booking: booking.clone(), user: Some(user.clone()) };
    let answer = app.engine.query(event.clone(), query).await.map_err(Problem::from);
    match answer.map_err(|problem| hide_event(problem, Refusal::ReservationNotFound))?.value {
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

/// The event that a booking's id names; an id of another form was never given to anyone.
fn event_of_booking(booking: &BookingId) -> Result<EventId, Problem> {
    event_of(booking.as_str()).ok_or_else(|| Refusal::ReservationNotFound.into())
}

/// The event that a claim's id names.
fn event_of_claim(claim: &ClaimId) -> Result<EventId, Problem> {
    event_of(claim.as_str()).ok_or_else(|| Refusal::ClaimNotFound.into())
}

/// An unknown event in a booking's id means that there is no such booking.
pub(in crate::http) fn hide_event(problem: Problem, instead: Refusal) -> Problem {
    if problem.code() == Refusal::EventNotFound.code() { instead.into() } else { problem }
}

/// When a booking was confirmed.
fn confirmed_at(view: &HoldView) -> Result<Time, Problem> {
    match &view.state {
        HoldState::Confirmed { at, payment: _ } => Ok(*at),
        state @ (HoldState::Held { .. }
        | HoldState::Paying { .. }
        | HoldState::Released { .. }
        | HoldState::Expired { .. }
        | HoldState::Cancelled { .. }) => {
            Err(Refusal::InvalidStatus { booking_status: state.status() }.into())
        }
    }
}

fn booking_answer(status: StatusCode, event: &EventId, view: &HoldView) -> Response {
    json(status, &BookingBody::new(event, view))
}
