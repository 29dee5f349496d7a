//! A visitor's place: looked at, arrived with, left.

use super::shapes::{Left, WhichLook, WhichPlace};
use crate::http::body::{Nothing, OptionalBody, json};
use crate::http::caller::{Event, Ids, Strict, Visitor};
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::Problem;
use crate::http::state::{Sale, Signers};
use crate::json::ids::EventIdText;
use crate::live::place::PlaceBody;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_base::auth::unix_now_s;
use onrush_base::metrics::count;
use onrush_core::ids::{EventId, PlaceId, UserId};
use onrush_core::question::PlaceOf;
use onrush_core::view::PlaceView;
use onrush_core::{Command, Refusal};
use onrush_store::{Ask, Failure};
use std::sync::Arc;

/// A place as its owner sees it, with a pass if they are active.
pub(in crate::http) fn place_body(
    signers: &Signers,
    event: &EventId,
    user: &UserId,
    view: &PlaceView,
) -> PlaceBody {
    PlaceBody::new(view, |place, until| {
        signers.passes.sign(event, user, place, until, unix_now_s())
    })
}

/// A user's place.
pub(in crate::http) async fn find_place(
    sale: &Sale,
    event: &EventId,
    user: &UserId,
    place: Option<PlaceId>,
) -> Result<PlaceView, Problem> {
    Ok(sale.engine.ask(event.clone(), PlaceOf { user: user.clone(), place }).await?.value)
}

/// Who asks is there, with all of their places: writes it down if that is due.
pub(in crate::http) async fn give_sign_of_life(
    sale: &Sale,
    event: &EventId,
    user: &UserId,
    view: &PlaceView,
) {
    if view.state.see_due() {
        let command = Command::See { place: view.place, user: user.clone() };
        // If it fails, the next question is a sign of life as well.
        if let Err(failure) = sale.run::<()>(event, command).await {
            tracing::debug!(%failure, %event, "a sign of life was not written down");
        }
    }
}

/// Where the visitor stands. A sign of life, but not an arrival.
///
/// Who passes `as_of` back sees no position rise because another node of a cluster lags behind.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/queue", tag = "queue",
    params(("event" = EventIdText, Path), WhichLook),
    responses((status = 200, description = "The place", body = PlaceBody), ReadProblems),
    security(("visitor" = []))
)]
pub async fn position(
    State(sale): State<Arc<Sale>>,
    State(signers): State<Arc<Signers>>,
    Event(event): Event,
    Visitor(user): Visitor,
    Strict(WhichLook { place, as_of }): Strict<WhichLook>,
) -> Result<Response, Problem> {
    count(&sale.metrics.positions);
    let question = PlaceOf { user: user.clone(), place };
    let (view, as_of) = match sale.engine.ask_since(event.clone(), question, as_of).await {
        Ok(answer) => (answer.value, answer.as_of),
        Err(Failure::Refused(Refusal::PlaceNotFound)) => {
            return Ok(json(StatusCode::OK, &PlaceBody::NotFound));
        }
        Err(failure) => return Err(failure.into()),
    };
    give_sign_of_life(&sale, &event, &user, &view).await;
    Ok(json(StatusCode::OK, &place_body(&signers, &event, &user, &view).told(as_of)))
}

/// The admitted visitor shows up.
#[utoipa::path(
    post, path = "/api/v1/events/{event}/queue/arrive", tag = "queue",
    params(("event" = EventIdText, Path), WhichPlace),
    request_body = Option<Nothing>,
    responses((status = 200, description = "The session", body = PlaceBody), WriteProblems),
    security(("visitor" = []))
)]
pub async fn arrive(
    State(sale): State<Arc<Sale>>,
    State(signers): State<Arc<Signers>>,
    Ids(event): Ids<EventId>,
    Visitor(user): Visitor,
    Strict(which): Strict<WhichPlace>,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    let place = match which.place {
        Some(place) => place,
        None => find_place(&sale, &event, &user, None).await?.place,
    };
    let view = sale.run(&event, Command::Arrive { place, user: user.clone() }).await?;
    Ok(json(StatusCode::OK, &place_body(&signers, &event, &user, &view)))
}

/// Gives a place or a session up; an active visitor's unpaid holds are released.
#[utoipa::path(
    delete, path = "/api/v1/events/{event}/queue", tag = "queue",
    params(("event" = EventIdText, Path), WhichPlace),
    responses((status = 200, description = "What was left", body = Left), WriteProblems),
    security(("visitor" = []))
)]
pub async fn leave(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
    Visitor(user): Visitor,
    Strict(which): Strict<WhichPlace>,
) -> Result<Response, Problem> {
    let place = match which.place {
        Some(place) => place,
        None => find_place(&sale, &event, &user, None).await?.place,
    };
    let from = sale.run(&event, Command::Leave { place, user }).await?;
    Ok(json(StatusCode::OK, &Left { from }))
}
