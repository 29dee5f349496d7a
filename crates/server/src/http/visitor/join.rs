//! `POST /events/{event}/queue`.

use super::{find_place, place_body};
use crate::app::{App, odd_answer};
use crate::http::body::{Nothing, OptionalBody, json};
use crate::http::caller::{Ids, Joining, OptionalKey};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::ids::EventIdText;
use crate::http::shapes::place::PlaceBody;
use crate::metrics::count;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use onrush_core::{Command, Refusal, Reply};
use onrush_store::Failure;
use serde_json::Value;
use std::sync::Arc;

/// Takes a place in the queue. The place's id is derived from visitor, event and key, so a retry is recognised (S4.2).
#[utoipa::path(
    post, path = "/api/v1/events/{event}/queue", tag = "queue",
    params(
        ("event" = EventIdText, Path),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, pattern = "^[!-~]+$"),
    ),
    request_body = Option<Nothing>,
    responses(
        (status = 202, description = "A place was taken", body = PlaceBody),
        (status = 200, description = "No key was sent, and the visitor has a place already", body = PlaceBody),
        WriteProblems,
    ),
    security(("visitor" = []))
)]
pub async fn join(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    Joining(user): Joining,
    OptionalKey(key): OptionalKey,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    let text = key.as_ref().map_or("", |key| key.as_str());
    let place = app.names.place(&event, user.as_str(), text);
    let command = Command::Join { place, user: user.clone() };
    let (taken, refusal) = match app.engine.execute(event.clone(), command).await {
        Ok(answer) => match answer.value {
            Reply::Place(view) => {
                count(&app.metrics.joins);
                let body = place_body(&app, &event, &user, &view);
                return Ok(json(StatusCode::ACCEPTED, &body));
            }
            Reply::Done | Reply::Left(_) | Reply::Hold(_) | Reply::Claim(_) => {
                return Err(odd_answer());
            }
        },
        Err(Failure::Refused(refusal)) => match refusal {
            Refusal::Duplicate { place } | Refusal::AlreadyInQueue { place } => (place, refusal),
            other => return Err(other.into()),
        },
        Err(failure) => return Err(failure.into()),
    };
    let Ok(view) = find_place(&app, &event, &user, Some(taken)).await else {
        return Err(refusal.into());
    };
    let body = place_body(&app, &event, &user, &view);
    if key.is_none() {
        return Ok(json(StatusCode::OK, &body));
    }
    let mut facts = match serde_json::to_value(&body) {
        Ok(Value::Object(facts)) => facts,
        Ok(_) | Err(_) => return Err(odd_answer()),
    };
    // A problem's `status` is the HTTP status.
    if let Some(status) = facts.remove("status") {
        facts.insert("place_status".into(), status);
    }
    Err(Problem::from(refusal).with(facts))
}
