//! `POST /bookings/{booking}/cancel`.

use super::{booking_answer, event_of_booking, hide_event};
use crate::app::App;
use crate::http::body::{Nothing, OptionalBody};
use crate::http::caller::{Ids, Visitor};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::booking::BookingBody;
use crate::http::shapes::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::command::{CancelTerms, Reason};
use onrush_core::ids::BookingId;
use onrush_core::{Command, Refusal};
use std::sync::Arc;

/// Gives a hold back, or cancels a confirmed booking if the event's rules about refunds allow it; `refund_minor` says what goes back.
#[utoipa::path(
    post, path = "/api/v1/bookings/{booking}/cancel", tag = "bookings",
    params(("booking" = IdText, Path)),
    request_body = Option<Nothing>,
    responses(
        (status = 200, description = "The booking", body = BookingBody),
        WriteProblems,
    ),
    security(("visitor" = []))
)]
pub async fn cancel(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    Visitor(user): Visitor,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let release = Command::Release { booking: booking.clone(), user: user.clone() };
    let mut view = app.run_booking(&event, release).await;
    if view.as_ref().is_err_and(|problem| problem.code() == Refusal::AlreadyConfirmed.code()) {
        let cancel = Command::CancelConfirmed {
            booking,
            reason: Reason { by: user.as_str().into(), why: "cancelled by the buyer".into() },
            terms: CancelTerms::Buyer { user },
        };
        view = app.run_booking(&event, cancel).await;
    }
    let view = view.map_err(|problem| hide_event(problem, Refusal::ReservationNotFound))?;
    Ok(booking_answer(StatusCode::OK, &event, &view))
}
