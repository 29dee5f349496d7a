//! `POST /api/booking/cancel`.

use super::state::{Chosen, bookings, chosen, place};
use super::words::{OfEvent, Refused, Word, refused};
use crate::http::body::{JsonBody, json};
use crate::http::caller::Visitor;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::queue::shapes::LeftFromText;
use crate::http::state::Sale;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::view::{HoldView, LeftFrom, PlaceState};
use onrush_core::{Command, Refusal};
use onrush_store::Failure;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What was given up.
#[derive(Serialize, ToSchema)]
#[schema(as = InheritedCancelled)]
pub struct Cancelled {
    /// `true`.
    success: bool,
    /// `queue` or `active`.
    #[schema(value_type = LeftFromText)]
    from: LeftFrom,
}

/// Gives the place up, or the session and the selected seat; not while a payment is under way.
#[utoipa::path(
    post, path = "/api/booking/cancel", tag = "inherited", operation_id = "inherited_cancel",
    request_body = OfEvent,
    responses(
        (status = 200, description = "What was given up", body = Cancelled),
        WriteProblems,
        (status = 409, description = "`cannot_cancel`, `not_found`", body = Refused),
    ),
    security(("visitor" = []))
)]
pub async fn cancel(
    State(sale): State<Arc<Sale>>,
    Visitor(user): Visitor,
    JsonBody(OfEvent { event_id: event }): JsonBody<OfEvent>,
) -> Result<Response, Problem> {
    let (at, holds) = bookings(&sale, &event, &user).await?;
    let chosen = chosen(&holds, at);
    if chosen.as_ref().is_some_and(|chosen| chosen.paying) {
        return Ok(refused(Word::CannotCancel));
    }
    let release = |chosen: Chosen<'_>, user| {
        let booking = chosen.hold.terms.booking.clone();
        sale.run::<HoldView>(&event, Command::Release { booking, user })
    };
    let given_up = match (place(&sale, &event, &user).await?, chosen) {
        // The session is over, and the seat is still held.
        (None, Some(chosen)) => release(chosen, user).await.map(|_| LeftFrom::Active),
        (Some(view), Some(chosen)) if matches!(view.state, PlaceState::Queued { .. }) => {
            release(chosen, user).await.map(|_| LeftFrom::Active)
        }
        (Some(view), _) => sale.run(&event, Command::Leave { place: view.place, user }).await,
        (None, None) => return Ok(refused(Word::NotFound)),
    };
    let from = match given_up {
        Ok(from) => from,
        Err(Failure::Refused(refusal)) => {
            return match refusal {
                Refusal::CannotCancel => Ok(refused(Word::CannotCancel)),
                // It ended meanwhile.
                Refusal::PlaceNotFound
                | Refusal::ReservationNotFound
                | Refusal::HoldExpired
                | Refusal::AlreadyReleased
                | Refusal::AlreadyConfirmed => Ok(refused(Word::NotFound)),
                other => Err(other.into()),
            };
        }
        Err(failure) => return Err(failure.into()),
    };
    Ok(json(StatusCode::OK, &Cancelled { success: true, from }))
}
