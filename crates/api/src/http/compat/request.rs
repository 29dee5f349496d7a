//! `POST /api/booking/request`.

use super::words::{OfEvent, Refused, Word, refused};
use crate::http::body::{JsonBody, json};
use crate::http::caller::Joining;
use crate::http::openapi::EntryProblems;
use crate::http::problem::Problem;
use crate::http::queue::join::{Joined, join_plainly};
use crate::http::state::Sale;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::Refusal;
use onrush_core::view::PlaceState;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The place that was taken.
#[derive(Serialize, ToSchema)]
#[schema(as = InheritedRequested)]
pub struct Requested {
    /// `true`.
    success: bool,
    /// 1 is served next, 0 is in already; null before a draw.
    position: Option<u32>,
}

/// Takes a place in the queue: one a visitor and event. A repeated request returns the place held.
#[utoipa::path(
    post, path = "/api/booking/request", tag = "inherited", operation_id = "inherited_request",
    request_body = OfEvent,
    responses(
        (status = 200, description = "The place", body = Requested),
        EntryProblems,
        (status = 409, description = "`invalid_state`: the event has no waiting room", body = Refused),
    ),
    security(("visitor" = []))
)]
pub async fn request(
    State(sale): State<Arc<Sale>>,
    Joining(user): Joining,
    JsonBody(OfEvent { event_id: event }): JsonBody<OfEvent>,
) -> Result<Response, Problem> {
    let view = match join_plainly(&sale, &event, &user).await {
        Ok(Joined::Taken(view) | Joined::Had(_, view)) => view,
        Ok(Joined::Gone(refusal)) => return Err(refusal.into()),
        Err(problem) if problem.code() == Refusal::NoWaitingRoom.code() => {
            return Ok(refused(Word::InvalidState));
        }
        Err(problem) => return Err(problem),
    };
    let position = match view.state {
        PlaceState::Queued { position, .. } => position,
        // A session that is over still has its slot while a hold of it lives.
        PlaceState::Active { .. } | PlaceState::Ended { .. } => Some(0),
    };
    Ok(json(StatusCode::OK, &Requested { success: true, position }))
}
