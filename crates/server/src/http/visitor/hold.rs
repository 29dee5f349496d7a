//! `POST /events/{event}/bookings`.

use super::booking_answer;
use crate::http::body::JsonBytes;
use crate::http::caller::{IdempotencyKey, Ids, Visitor};
use crate::http::faults::odd_answer;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::booking::BookingBody;
use crate::http::shapes::lines::WishBody;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use crate::metrics::count;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use onrush_core::{Command, Reply};
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
