//! `PUT /bookings/{booking}/buyer`.

use super::{event_of_booking, find_own_booking};
use crate::http::body::{JsonBody, json};
use crate::http::caller::{Ids, Visitor};
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::payment::BuyerBody;
use crate::http::state::App;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::Refusal;
use onrush_core::hold::HoldState;
use onrush_core::ids::BookingId;
use std::sync::Arc;

/// Says who buys: where mail about the booking goes, and whose name the door reads. Again: the last
/// one counts.
///
/// The confirmation is mailed as soon as the booking is confirmed: name the buyer before.
#[utoipa::path(
    put, path = "/api/v1/bookings/{booking}/buyer", tag = "bookings",
    params(("booking" = IdText, Path)),
    request_body = BuyerBody,
    responses((status = 200, description = "The buyer", body = BuyerBody), WriteProblems),
    security(("visitor" = []))
)]
pub async fn set_buyer(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    Visitor(user): Visitor,
    JsonBody(body): JsonBody<BuyerBody>,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let buyer = body.buyer().map_err(|why| Problem::new(Code::InvalidBody, why))?;
    let view = find_own_booking(&app, &event, &booking, &user).await?;
    match &view.state {
        HoldState::Held { .. } | HoldState::Paying { .. } | HoldState::Confirmed { .. } => {}
        state @ (HoldState::Released { .. }
        | HoldState::Expired { .. }
        | HoldState::Cancelled { .. }) => {
            return Err(Refusal::InvalidStatus { booking_status: state.status() }.into());
        }
    }
    app.ledger.set_buyer(&booking, buyer.clone()).await?;
    Ok(json(StatusCode::OK, &BuyerBody::from(buyer)))
}
