//! `POST /admin/events/{event}/bookings/{booking}/confirm`.

use super::find_booking;
use crate::http::body::{OptionalBody, json};
use crate::http::buyer::{confirm_for, parsed};
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::booking::BookingBody;
use crate::http::shapes::lines::id;
use crate::http::shapes::payment::BuyerBody;
use crate::http::shapes::problem::ProblemBody;
use crate::http::state::App;
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::Command;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// A payment that was taken elsewhere.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakenPayment {
    /// The box office's number for it; may be left out if nothing is to be paid.
    #[schema(value_type = Option<IdText>)]
    payment: Option<String>,
    /// Who bought, and where the tickets go.
    buyer: Option<BuyerBody>,
}

/// Confirms anybody's hold: the box office took the money. While a payment is under way online,
/// that is refused.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/bookings/{booking}/confirm", tag = "admin",
    operation_id = "confirm_at_box_office",
    params(("event" = EventIdText, Path), ("booking" = IdText, Path)),
    request_body = Option<TakenPayment>,
    responses(
        (status = 200, description = "The booking", body = BookingBody),
        WriteProblems,
        (status = 402, description = "`PAYMENT_REQUIRED`",
            content_type = "application/problem+json", body = ProblemBody),
    ),
    security(("admin" = []))
)]
pub async fn confirm(
    State(app): State<Arc<App>>,
    Ids((event, booking)): Ids<(EventId, BookingId)>,
    _: Admin,
    OptionalBody(body): OptionalBody<TakenPayment>,
) -> Result<Response, Problem> {
    let payment: Option<PaymentId> = body.payment.as_deref().map(id).transpose()?;
    let buyer = parsed(body.buyer)?;
    let user = find_booking(&app, &event, booking.clone()).await?.terms.user.clone();
    // Nothing is begun first: what is half done would look like a payment that is under way online.
    let command = Command::Confirm { booking: booking.clone(), user, payment };
    let view = confirm_for(app, event.clone(), booking, buyer, command).await?;
    Ok(json(StatusCode::OK, &BookingBody::new(&event, &view)))
}
