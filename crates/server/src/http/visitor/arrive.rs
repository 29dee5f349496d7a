//! `POST /events/{event}/queue/arrive`.

use super::{find_place, place_body};
use crate::http::body::{Nothing, OptionalBody, json};
use crate::http::caller::{Ids, Strict, Visitor};
use crate::http::faults::odd_answer;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::place::WhichPlace;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use crate::live::place::PlaceBody;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use onrush_core::{Command, Reply};
use std::sync::Arc;

/// The admitted visitor shows up.
#[utoipa::path(
    post, path = "/api/v1/events/{event}/queue/arrive", tag = "queue",
    params(("event" = EventIdText, Path), WhichPlace),
    request_body = Option<Nothing>,
    responses((status = 200, description = "The session", body = PlaceBody), WriteProblems),
    security(("visitor" = []))
)]
pub async fn arrive(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    Visitor(user): Visitor,
    Strict(which): Strict<WhichPlace>,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    let place = match which.place {
        Some(place) => place,
        None => find_place(&app, &event, &user, None).await?.place,
    };
    match app.run(&event, Command::Arrive { place, user: user.clone() }).await? {
        Reply::Place(view) => Ok(json(StatusCode::OK, &place_body(&app, &event, &user, &view))),
        Reply::Done | Reply::Left(_) | Reply::Hold(_) | Reply::Claim(_) | Reply::Removed(_) => {
            Err(odd_answer())
        }
    }
}
