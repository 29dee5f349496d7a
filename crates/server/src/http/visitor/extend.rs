//! `POST /bookings/{booking}/extend`.

use super::{booking_answer, event_of_booking, find_own_booking, hide_event};
use crate::http::body::{Nothing, OptionalBytes};
use crate::http::caller::{Ids, OptionalKey, Visitor};
use crate::http::once::{Purpose, Scope, once_if_keyed};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::booking::BookingBody;
use crate::http::state::App;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::{Command, Refusal};
use std::sync::Arc;

/// Gives a hold more time, as often as the event allows. The same key again gets the first answer,
/// and no more time.
#[utoipa::path(
    post, path = "/api/v1/bookings/{booking}/extend", tag = "bookings",
    params(
        ("booking" = IdText, Path),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, pattern = "^[!-~]+$"),
    ),
    request_body = Option<Nothing>,
    responses(
        (status = 200, description = "The booking", body = BookingBody),
        WriteProblems,
    ),
    security(("visitor" = []))
)]
pub async fn extend(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    Visitor(user): Visitor,
    key: OptionalKey,
    body: OptionalBytes,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    body.parse::<Nothing>()?;
    if key.0.is_some() {
        // A key is noted down only for whoever may use it.
        find_own_booking(&app, &event, &booking, &user).await?;
    }
    let work = give_time(app.clone(), event, booking.clone(), user.clone());
    let purpose = Purpose::More;
    let scope = Scope { what: "extend", booking: &booking, user: &user, purpose };
    once_if_keyed(app, scope, &key, &body.canonical(), work).await
}

async fn give_time(
    app: Arc<App>,
    event: EventId,
    booking: BookingId,
    user: UserId,
) -> Result<Response, Problem> {
    let command = Command::Extend { booking, user };
    let view = app.run_booking(&event, command).await;
    let view = view.map_err(|problem| hide_event(problem, Refusal::ReservationNotFound))?;
    Ok(booking_answer(StatusCode::OK, &event, &view))
}
