//! `GET /events/{event}/seats/status`.

use crate::http::caller::Ids;
use crate::http::negotiate::{Encoding, is_known, not_modified, tagged, takes};
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::shapes::seats::SeatStatuses;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// The status of every seat, one letter each, in the order of the seat map.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/seats/status", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The statuses", body = SeatStatuses),
        (status = 304,
            description = "The statuses that `If-None-Match` names are as they are now"), EventProblems),
)]
pub async fn seat_statuses(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let snapshot = app.boards.now(&event).await?;
    let tag = snapshot.tag();
    Ok(if is_known(&headers, &tag) {
        not_modified(&tag)
    } else if takes(&headers, "gzip") {
        tagged(snapshot.packed_statuses().into(), Encoding::Gzip, &tag)
    } else {
        tagged(snapshot.statuses().into(), Encoding::Plain, &tag)
    })
}
