//! `GET /bookings/{booking}`.

use super::{booking_answer, find_own_booking};
use crate::app::App;
use crate::http::caller::{Ids, Visitor};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::booking::BookingBody;
use crate::http::shapes::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::BookingId;
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
    let (event, view) = find_own_booking(&app, booking, user).await?;
    Ok(booking_answer(StatusCode::OK, &event, &view))
}
