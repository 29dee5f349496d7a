//! `POST /admin/events/{event}/bookings/{booking}/cancel`.

use super::{find_booking, reason, teach_steps};
use crate::http::body::{JsonBody, json};
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::booking::BookingBody;
use crate::http::state::App;
use crate::json::ids::{EventIdText, FreeText, IdText};
use crate::json::whole::Whole;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::Command;
use onrush_core::command::CancelTerms;
use onrush_core::ids::{BookingId, EventId};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Who cancels, and why.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancellation {
    /// Who.
    #[schema(value_type = FreeText)]
    by: Box<str>,
    /// Why.
    #[schema(value_type = FreeText)]
    why: Box<str>,
    /// What goes back to the buyer, in minor units; all that was paid if left out.
    #[schema(value_type = Option<i64>, minimum = 0, nullable = false)]
    refund_minor: Option<Whole<i64>>,
}

/// Takes a confirmed booking back; its units are free again.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/bookings/{booking}/cancel", tag = "admin",
    operation_id = "cancel_confirmed",
    params(("event" = EventIdText, Path), ("booking" = IdText, Path)),
    request_body = Cancellation,
    responses((status = 200, description = "The booking", body = BookingBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn cancel(
    State(app): State<Arc<App>>,
    Ids((event, booking)): Ids<(EventId, BookingId)>,
    _: Admin,
    JsonBody(Cancellation { by, why, refund_minor }): JsonBody<Cancellation>,
) -> Result<Response, Problem> {
    let refund_minor = refund_minor.map(|Whole(refund_minor)| refund_minor);
    let command = Command::CancelConfirmed {
        booking: booking.clone(),
        reason: reason(by, why),
        terms: CancelTerms::Organiser { refund_minor },
    };
    teach_steps(&app, &event).await;
    app.run(&event, command).await?;
    let view = find_booking(&app, &event, booking).await?;
    Ok(json(StatusCode::OK, &BookingBody::new(&event, &view)))
}
