//! `POST /api/booking/request`.

use super::{OfEvent, Refused, Word, refused};
use crate::app::{App, odd_answer};
use crate::http::body::{JsonBody, json};
use crate::http::caller::Joining;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::visitor::find_place;
use crate::metrics::count;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::view::PlaceState;
use onrush_core::{Command, Refusal, Reply};
use onrush_store::Failure;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The place that was taken.
#[derive(Serialize, ToSchema)]
#[schema(as = S3Requested)]
pub struct Requested {
    /// `true`.
    success: bool,
    /// 1 is served next, 0 is in already; null before a draw.
    position: Option<u32>,
}

/// Takes a place in the queue: one a visitor and event. A repeated request returns the place held (S3.1).
#[utoipa::path(
    post, path = "/api/booking/request", tag = "s3", operation_id = "s3_request",
    request_body = OfEvent,
    responses(
        (status = 200, description = "The place", body = Requested),
        WriteProblems,
        (status = 409, description = "`invalid_state`: the event has no waiting room", body = Refused),
    ),
    security(("visitor" = []))
)]
pub async fn request(
    State(app): State<Arc<App>>,
    Joining(user): Joining,
    JsonBody(OfEvent { event_id: event }): JsonBody<OfEvent>,
) -> Result<Response, Problem> {
    let place = app.names.place(&event, user.as_str(), "");
    let state = match app.run(&event, Command::Join { place, user: user.clone() }).await {
        Ok(Reply::Place(view)) => {
            count(&app.metrics.joins);
            Some(view.state)
        }
        Ok(Reply::Done | Reply::Left(_) | Reply::Hold(_) | Reply::Claim(_)) => {
            return Err(odd_answer());
        }
        Err(Failure::Refused(Refusal::Duplicate { place } | Refusal::AlreadyInQueue { place })) => {
            // A session that is over still has its slot while its hold lives, and no place to be shown.
            find_place(&app, &event, &user, Some(place)).await.ok().map(|view| view.state)
        }
        Err(Failure::Refused(Refusal::InvalidState { .. })) => {
            return Ok(refused(Word::InvalidState));
        }
        Err(failure) => return Err(failure.into()),
    };
    let position = match state {
        Some(PlaceState::Queued { position, .. }) => position,
        Some(PlaceState::Active { .. }) | None => Some(0),
    };
    Ok(json(StatusCode::OK, &Requested { success: true, position }))
}
