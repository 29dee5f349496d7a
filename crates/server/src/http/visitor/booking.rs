//! `GET /bookings/{booking}`.

use super::{booking_answer, event_of_booking, hide_event};
use crate::app::{App, odd_answer};
use crate::http::caller::{Ids, Visitor};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::booking::BookingBody;
use crate::http::shapes::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::BookingId;
use onrush_core::{Query, Refusal, View};
use std::sync::Arc;

/// One of the visitor's own bookings.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}", tag = "bookings",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "The booking", body = BookingBody), ReadProblems),
    security(("visitor" = []))
)]
pub async fn booking(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    Visitor(user): Visitor,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let query = Query::Booking { booking, user: Some(user) };
    let answer = app.engine.query(event.clone(), query).await;
    match answer.map_err(|f| hide_event(f.into(), Refusal::ReservationNotFound))?.value {
        View::Booking(view) => Ok(booking_answer(StatusCode::OK, &event, &view)),
        View::Event(_)
        | View::Availability(_)
        | View::Seats(_)
        | View::Place(_)
        | View::Bookings(_)
        | View::Claim(_)
        | View::Bans(_) => Err(odd_answer()),
    }
}
