//! `DELETE /bookings/{booking}/buyer`.

use super::{event_of_booking, find_own_booking};
use crate::http::body::json;
use crate::http::caller::{Ids, Visitor};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::state::App;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::Refusal;
use onrush_core::ids::BookingId;
use onrush_ledger::booking::BuyerOf;
use serde_json::json;
use std::sync::Arc;

/// Forgets who pays for a booking: name, mail address and language. The booking stays; no mail is
/// sent for it any more.
#[utoipa::path(
    delete, path = "/api/v1/bookings/{booking}/buyer", tag = "bookings",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "How many bookings' buyers were erased",
        body = serde_json::Value), ReadProblems),
    security(("visitor" = []))
)]
pub async fn erase_buyer(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    Visitor(user): Visitor,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    match find_own_booking(&app, &event, &booking, &user).await {
        Ok(_) => {}
        // The engine forgets what ended long ago; the ledger knows whose it was, and who paid.
        Err(problem) if problem.code() == Refusal::ReservationNotFound.code() => {
            let known = app.ledger.booking(&booking).await?;
            if known.is_none_or(|known| known.user != user) {
                return Err(problem);
            }
        }
        Err(problem) => return Err(problem),
    }
    let erased = app.ledger.erase_buyer(BuyerOf::Booking(booking)).await?;
    Ok(json(StatusCode::OK, &json!({ "erased": erased })))
}
