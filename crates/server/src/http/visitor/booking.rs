//! `GET /bookings/{booking}`.

use super::{booking_answer, event_of_booking};
use crate::http::body::json;
use crate::http::caller::Ids;
use crate::http::keeper::{Keeper, Kept};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::booking::BookingBody;
use crate::http::state::App;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::BookingId;
use std::sync::Arc;

/// One of the visitor's own bookings, or the one whose link is shown; also one that ended long ago.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}", tag = "bookings",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "The booking", body = BookingBody), ReadProblems),
    security(("visitor" = []), ("link" = []))
)]
pub async fn booking(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    keeper: Keeper,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    Ok(match keeper.find_ever(&app, &event, &booking).await? {
        Kept::Now(view) => booking_answer(StatusCode::OK, &event, &view),
        Kept::Past(row) => json(StatusCode::OK, &BookingBody::of_past(&row)?),
    })
}
