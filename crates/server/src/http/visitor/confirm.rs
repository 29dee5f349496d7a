//! `POST /bookings/{booking}/confirm`.

use super::{booking_answer, event_of_booking, find_own_booking, hide_event};
use crate::http::body::OptionalBody;
use crate::http::buyer::{confirm_for, parsed};
use crate::http::caller::{Ids, Visitor};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::booking::BookingBody;
use crate::http::shapes::payment::BuyerBody;
use crate::http::shapes::problem::ProblemBody;
use crate::http::state::App;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::BookingId;
use onrush_core::{Command, Refusal};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What a booking is confirmed with.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// Who it is for, and where the confirmation goes.
    buyer: Option<BuyerBody>,
}

/// Makes a hold final if nothing is to be paid.
#[utoipa::path(
    post, path = "/api/v1/bookings/{booking}/confirm", tag = "bookings",
    params(("booking" = IdText, Path)),
    request_body = Option<Confirmation>,
    responses(
        (status = 200, description = "The booking", body = BookingBody),
        WriteProblems,
        (status = 402, description = "`PAYMENT_REQUIRED`",
            content_type = "application/problem+json", body = ProblemBody),
    ),
    security(("visitor" = []))
)]
pub async fn confirm(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    Visitor(user): Visitor,
    OptionalBody(body): OptionalBody<Confirmation>,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let buyer = parsed(body.buyer)?;
    if buyer.is_some() {
        // Nobody names the buyer of somebody else's booking.
        find_own_booking(&app, &event, &booking, &user).await?;
    }
    let command = Command::Confirm { booking: booking.clone(), user, payment: None };
    let view = confirm_for(app, event.clone(), booking, buyer, command).await;
    let view = view.map_err(|problem| hide_event(problem, Refusal::ReservationNotFound))?;
    Ok(booking_answer(StatusCode::OK, &event, &view))
}
