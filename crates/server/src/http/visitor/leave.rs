//! `DELETE /events/{event}/queue`.

use super::find_place;
use crate::http::body::json;
use crate::http::caller::{Ids, Strict, Visitor};
use crate::http::faults::odd_answer;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::place::{Left, WhichPlace};
use crate::http::state::App;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use onrush_core::{Command, Reply};
use std::sync::Arc;

/// Gives a place or a session up (S3.9); an active visitor's unpaid holds are released.
#[utoipa::path(
    delete, path = "/api/v1/events/{event}/queue", tag = "queue",
    params(("event" = EventIdText, Path), WhichPlace),
    responses((status = 200, description = "What was left", body = Left), WriteProblems),
    security(("visitor" = []))
)]
pub async fn leave(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    Visitor(user): Visitor,
    Strict(which): Strict<WhichPlace>,
) -> Result<Response, Problem> {
    let place = match which.place {
        Some(place) => place,
        None => find_place(&app, &event, &user, None).await?.place,
    };
    match app.run(&event, Command::Leave { place, user }).await? {
        Reply::Left(from) => Ok(json(StatusCode::OK, &Left { from })),
        Reply::Done | Reply::Place(_) | Reply::Hold(_) | Reply::Claim(_) | Reply::Removed(_) => {
            Err(odd_answer())
        }
    }
}
