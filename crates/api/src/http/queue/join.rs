//! Taking a place in the queue.

use super::place::{find_place, place_body};
use crate::http::body::{Nothing, OptionalBody, json};
use crate::http::caller::{Event, Joining, OptionalKey};
use crate::http::openapi::EntryProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::{Sale, Signers};
use crate::json::ids::EventIdText;
use crate::live::place::PlaceBody;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_base::metrics::count;
use onrush_core::ids::{EventId, PlaceId, UserId};
use onrush_core::view::{PlaceState, PlaceView};
use onrush_core::{Command, Refusal};
use onrush_store::Failure;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Takes a place in the queue. The place's id is derived from visitor, event and key, so a retry is
/// recognised.
///
/// A key is known for a day after its place is gone: then another key takes another place.
#[utoipa::path(
    post, path = "/api/v1/events/{event}/queue", tag = "queue",
    params(("event" = EventIdText, Path), OptionalKey),
    request_body = Option<Nothing>,
    responses(
        (status = 202, description = "A place was taken", body = PlaceBody),
        (status = 200, description = "No key was sent, and the visitor has a place already",
            body = PlaceBody),
        EntryProblems,
    ),
    security(("visitor" = []))
)]
pub async fn join(
    State(sale): State<Arc<Sale>>,
    State(signers): State<Arc<Signers>>,
    Event(event): Event,
    Joining(user): Joining,
    OptionalKey(key): OptionalKey,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    let joined = match &key {
        Some(key) => join_under(&sale, &event, &user, key.as_str()).await?,
        None => join_plainly(&sale, &event, &user).await?,
    };
    match joined {
        Joined::Taken(view) => {
            let body = place_body(&signers, &event, &user, &view);
            Ok(json(StatusCode::ACCEPTED, &body))
        }
        Joined::Had(_, view) if key.is_none() => {
            Ok(json(StatusCode::OK, &place_body(&signers, &event, &user, &view)))
        }
        Joined::Had(refusal, view) => {
            let body = serde_json::to_value(place_body(&signers, &event, &user, &view));
            let Ok(Value::Object(mut facts)) = body else {
                panic!("a place is an object: {body:?}")
            };
            // A problem's `status` is the HTTP status.
            if let Some(status) = facts.remove("status") {
                facts.insert("place_status".into(), status);
            }
            Err(Problem::from(refusal).with(facts).saying(match view.state {
                PlaceState::Queued { .. } | PlaceState::Active { .. } => {
                    "you have a place; go on with the one in this answer"
                }
                PlaceState::Ended { .. } => {
                    "your session is over and what you hold keeps its slot; pay for it or give it \
                     back, then join again"
                }
            }))
        }
        Joined::Gone(refusal) => {
            let facts = Map::from_iter([("place_status".to_owned(), "gone".into())]);
            Err(Problem::from(refusal).with(facts).saying(
                "this request was accepted before, and its place is gone; join again with a new key",
            ))
        }
    }
}

/// What a request to join comes to.
pub(in crate::http) enum Joined {
    /// A place was taken.
    Taken(PlaceView),
    /// The visitor has one: the refusal that says so, and the place.
    Had(Refusal, PlaceView),
    /// This very request was accepted before, and its place is gone.
    Gone(Refusal),
}

/// A place that goes between the refusal and the look at it makes room for another: then it is
/// asked for once more.
const TRIES: usize = 3;

/// Joins with a key: the place's id is derived from visitor, event and key, so a retry is recognised.
async fn join_under(
    sale: &Sale,
    event: &EventId,
    user: &UserId,
    key: &str,
) -> Result<Joined, Problem> {
    take(sale, event, user, sale.names.place(event, user.as_str(), key)).await
}

/// Joins without a key: whoever has a place gets it. Else each joining is a request of its
/// own, and what is asked within one second is the same request.
pub(in crate::http) async fn join_plainly(
    sale: &Sale,
    event: &EventId,
    user: &UserId,
) -> Result<Joined, Problem> {
    match find_place(sale, event, user, None).await {
        // The rules say whether it may be joined at all, and that this place is there.
        Ok(view) => match take(sale, event, user, view.place).await? {
            Joined::Gone(_) => {}
            joined @ (Joined::Taken(_) | Joined::Had(..)) => return Ok(joined),
        },
        Err(problem) if problem.code() == Refusal::PlaceNotFound.code() => {}
        Err(problem) => return Err(problem),
    }
    let second = sale.clock.now().0.div_euclid(1_000);
    for again in 0..MOST_IN_A_SECOND {
        // No `Idempotency-Key` has a space in it, so no place with a key has this name.
        let name = format!("joined at {second} {again}");
        match take(sale, event, user, sale.names.place(event, user.as_str(), &name)).await? {
            // Left again within the second.
            Joined::Gone(_) => {}
            joined @ (Joined::Taken(_) | Joined::Had(..)) => return Ok(joined),
        }
    }
    let why = "you joined and left too often; try again in a moment";
    Err(Problem::new(Code::RateLimited, why))
}

/// How often one visitor can join without a key, and leave again, within a second.
const MOST_IN_A_SECOND: u32 = 16;

async fn take(
    sale: &Sale,
    event: &EventId,
    user: &UserId,
    place: PlaceId,
) -> Result<Joined, Problem> {
    for _ in 0..TRIES {
        let command = Command::Join { place, user: user.clone() };
        let (had, refusal) = match sale.run(event, command).await {
            Ok(view) => {
                count(&sale.metrics.joins);
                return Ok(Joined::Taken(view));
            }
            Err(Failure::Refused(
                refusal @ (Refusal::Duplicate { place } | Refusal::AlreadyInQueue { place }),
            )) => (place, refusal),
            Err(failure) => return Err(failure.into()),
        };
        match find_place(sale, event, user, Some(had)).await {
            Ok(view) => return Ok(Joined::Had(refusal, view)),
            Err(problem) if problem.code() != Refusal::PlaceNotFound.code() => return Err(problem),
            Err(_) if matches!(refusal, Refusal::Duplicate { .. }) => {
                return Ok(Joined::Gone(refusal));
            }
            Err(_) => {}
        }
    }
    Err(Problem::new(Code::Busy, "your places come and go; ask again in a moment"))
}
