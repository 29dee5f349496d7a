//! `POST /bookings/{booking}/confirm`.

use super::{booking_answer, event_of_booking, hide_event};
use crate::app::App;
use crate::http::body::{Nothing, OptionalBody};
use crate::http::caller::{Ids, Visitor};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::booking::BookingBody;
use crate::http::shapes::ids::{IdText, ProblemBody};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::BookingId;
use onrush_core::{Command, Refusal};
use std::sync::Arc;

/// Makes a hold final if nothing is to be paid.
#[utoipa::path(
    post, path = "/api/v1/bookings/{booking}/confirm", tag = "bookings",
    params(("booking" = IdText, Path)),
    request_body = Option<Nothing>,
    responses(
        (status = 200, description = "The booking", body = BookingBody),
        WriteProblems,
        (status = 402, description = "`PAYMENT_REQUIRED`", content_type = "application/problem+json", body = ProblemBody),
    ),
    security(("visitor" = []))
)]
pub async fn confirm(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    Visitor(user): Visitor,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let command = Command::Confirm { booking, user, payment: None };
    let view = app.run_booking(&event, command).await;
    let view = view.map_err(|problem| hide_event(problem, Refusal::ReservationNotFound))?;
    Ok(booking_answer(StatusCode::OK, &event, &view))
}
