//! `GET /events/{event}/seats`.

use crate::http::caller::Ids;
use crate::http::negotiate::{Encoding, is_known, not_modified, tagged, takes};
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::shapes::seats::SeatMap;
use crate::http::state::App;
use crate::json::ids::EventIdText;
use crate::live::house::MapBody;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::IF_NONE_MATCH;
use axum::response::Response;
use onrush_core::ids::EventId;
use std::sync::Arc;

/// The seat map, with the status of each seat; compressed for whoever takes gzip.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/seats", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The seat map", body = SeatMap),
        (status = 304, description = "The map that `If-None-Match` names is as it is now"), EventProblems),
)]
pub async fn seats(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if headers.contains_key(IF_NONE_MATCH) {
        let tag = app.boards.now(&event).await?.tag();
        if is_known(&headers, &tag) {
            return Ok(not_modified(&tag));
        }
    }
    if takes(&headers, "gzip")
        && let Some((packed, tag)) = app.boards.packed_map(&event).await?
    {
        return Ok(tagged(Body::from(packed), Encoding::Gzip, &tag));
    }
    let snapshot = app.boards.now(&event).await?;
    let tag = snapshot.tag();
    Ok(tagged(Body::new(MapBody::new(snapshot)), Encoding::Plain, &tag))
}
