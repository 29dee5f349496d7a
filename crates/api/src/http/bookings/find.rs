//! Finding a booking by its id, and showing it.

use super::shapes::BookingBody;
use crate::http::body::json;
use crate::http::faults::hide_event;
use crate::http::problem::Problem;
use crate::http::state::Sale;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_base::auth::names::event_of;
use onrush_core::Refusal;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::question::BookingOf;
use onrush_core::view::HoldView;
use onrush_store::Ask;

/// The event that a booking's id names; an id of another form was never given to anyone.
pub(in crate::http) fn event_of_booking(booking: &BookingId) -> Result<EventId, Problem> {
    event_of(booking.as_str()).ok_or_else(|| Refusal::ReservationNotFound.into())
}

/// A booking of this visitor, or anybody's.
pub(super) async fn find_booking(
    sale: &Sale,
    event: &EventId,
    booking: &BookingId,
    user: Option<&UserId>,
) -> Result<HoldView, Problem> {
    let question = BookingOf { booking: booking.clone(), user: user.cloned() };
    Ok(sale.engine.ask(event.clone(), question).await?.value)
}

/// Anybody's booking, by its id alone, and its event.
pub(super) async fn find_anybodys(
    sale: &Sale,
    booking: &BookingId,
) -> Result<(EventId, HoldView), Problem> {
    let event = event_of_booking(booking)?;
    let found = find_booking(sale, &event, booking, None).await;
    let view = found.map_err(|problem| hide_event(problem, Refusal::ReservationNotFound))?;
    Ok((event, view))
}

pub(super) fn booking_answer(event: &EventId, view: &HoldView) -> Response {
    json(StatusCode::OK, &BookingBody::new(event, view))
}
