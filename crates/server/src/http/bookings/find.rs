//! Finding a booking: the visitor's own, or anybody's.

use super::shapes::BookingBody;
use crate::auth::names::event_of;
use crate::http::body::json;
use crate::http::faults::hide_event;
use crate::http::faults::odd_answer;
use crate::http::problem::Problem;
use crate::http::state::App;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::view::HoldView;
use onrush_core::{Query, Refusal, View};

/// A visitor's own booking.
pub(in crate::http) async fn find_own_booking(
    app: &App,
    event: &EventId,
    booking: &BookingId,
    user: &UserId,
) -> Result<HoldView, Problem> {
    let query = Query::Booking { booking: booking.clone(), user: Some(user.clone()) };
    let answer = app.engine.query(event.clone(), query).await.map_err(Problem::from);
    let View::Booking(view) =
        answer.map_err(|problem| hide_event(problem, Refusal::ReservationNotFound))?.value
    else {
        return Err(odd_answer());
    };
    Ok(view)
}

/// The event that a booking's id names; an id of another form was never given to anyone.
pub(in crate::http) fn event_of_booking(booking: &BookingId) -> Result<EventId, Problem> {
    event_of(booking.as_str()).ok_or_else(|| Refusal::ReservationNotFound.into())
}

pub(in crate::http) fn booking_answer(
    status: StatusCode,
    event: &EventId,
    view: &HoldView,
) -> Response {
    json(status, &BookingBody::new(event, view))
}

/// Anybody's booking.
pub(in crate::http) async fn find_booking(
    app: &App,
    event: &EventId,
    booking: BookingId,
) -> Result<HoldView, Problem> {
    let query = Query::Booking { booking, user: None };
    let View::Booking(view) = app.engine.query(event.clone(), query).await?.value else {
        return Err(odd_answer());
    };
    Ok(view)
}
