//! A visitor holds, and gives a hold more time.

use super::find::{booking_answer, event_of_booking, find_own_booking};
use super::shapes::BookingBody;
use crate::http::body::{JsonBytes, Nothing, OptionalBytes};
use crate::http::caller::{IdempotencyKey, Ids, OptionalKey, Visitor};
use crate::http::faults::hide_event;
use crate::http::faults::odd_answer;
use crate::http::once::{Purpose, Scope, once_if_keyed};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::lines::WishBody;
use crate::http::state::App;
use crate::json::ids::{EventIdText, IdText};
use crate::metrics::count;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::{Command, Refusal, Reply};
use onrush_store::Failure;
use std::sync::Arc;

/// Holds units of pools, seats and stays, all or nothing.
///
/// The booking's id is derived from visitor, event and key: the same key and the same wish again
/// get the same booking.
#[utoipa::path(
    post, path = "/api/v1/events/{event}/bookings", tag = "bookings",
    params(
        ("event" = EventIdText, Path),
        ("Idempotency-Key" = String, Header, min_length = 1, max_length = 255, pattern = "^[!-~]+$"),
    ),
    request_body = WishBody,
    responses((status = 201, description = "Held", body = BookingBody), WriteProblems),
    security(("visitor" = []))
)]
pub async fn hold(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    Visitor(user): Visitor,
    key: IdempotencyKey,
    body: JsonBytes,
) -> Result<Response, Problem> {
    let lines = body.parse::<WishBody<'_>>()?.lines()?;
    let booking = app.names.booking(&event, user.as_str(), key.as_str());
    let command = Command::Hold { booking, user, lines };
    match app.engine.execute(event.clone(), command).await {
        Ok(answer) => {
            crate::saga::kill::reached("answering:Hold");
            count(&app.metrics.holds_accepted);
            match answer.value {
                Reply::Hold(view) => Ok(booking_answer(StatusCode::CREATED, &event, &view)),
                Reply::Done
                | Reply::Place(_)
                | Reply::Left(_)
                | Reply::Claim(_)
                | Reply::Removed(_) => Err(odd_answer()),
            }
        }
        Err(failure) => {
            if matches!(failure, Failure::Refused(_)) {
                count(&app.metrics.holds_refused);
            }
            Err(failure.into())
        }
    }
}

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
