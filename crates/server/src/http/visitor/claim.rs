//! `POST /events/{event}/pools/{pool}/claims`.

use crate::http::body::{JsonBody, json};
use crate::http::caller::{IdempotencyKey, Ids, Visitor};
use crate::http::faults::odd_answer;
use crate::http::first_answer::first_answer;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::claim::{ClaimBody, NewClaim};
use crate::http::state::App;
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{EventId, PoolId};
use onrush_core::{Command, Reply};
use std::sync::Arc;

/// Takes units of a pool at once (S2.1). The same key again gets the first answer (S2.2).
///
/// Refusals are given again, too, and so is a claim whose units are back: to try again, use a new key.
#[utoipa::path(
    post, path = "/api/v1/events/{event}/pools/{pool}/claims", tag = "claims",
    params(
        ("event" = EventIdText, Path), ("pool" = IdText, Path),
        ("Idempotency-Key" = String, Header, min_length = 1, max_length = 255, pattern = "^[!-~]+$"),
    ),
    request_body = NewClaim,
    responses((status = 201, description = "Claimed", body = ClaimBody), WriteProblems),
    security(("visitor" = []))
)]
pub async fn claim(
    State(app): State<Arc<App>>,
    Ids((event, pool)): Ids<(EventId, PoolId)>,
    Visitor(user): Visitor,
    key: IdempotencyKey,
    JsonBody(body): JsonBody<NewClaim>,
) -> Result<Response, Problem> {
    let claim = app.names.claim(&event, user.as_str(), key.as_str());
    let (quantity, ttl_ms) = (body.quantity.units()?, body.ttl_ms.map(|ttl_ms| ttl_ms.0));
    let scope = format!("claim {event} {user}");
    let asked = format!("{pool} {quantity} {ttl_ms:?}");
    let asker = user.to_string();
    let command = Command::Claim { claim, user, pool, quantity, ttl_ms };
    let work = take(app.clone(), event, command);
    first_answer(app, scope, &asker, key.as_str(), asked.as_bytes(), work).await
}

async fn take(app: Arc<App>, event: EventId, command: Command) -> Result<Response, Problem> {
    match app.run(&event, command).await? {
        Reply::Claim(view) => Ok(json(StatusCode::CREATED, &ClaimBody::new(&event, &view))),
        Reply::Done | Reply::Place(_) | Reply::Left(_) | Reply::Hold(_) | Reply::Removed(_) => {
            Err(odd_answer())
        }
    }
}
