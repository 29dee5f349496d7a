//! The seat map, and the status of every seat.

use super::shapes::{SeatMap, SeatPlan, SeatStatuses};
use crate::http::body::json_bytes;
use crate::http::caller::{Ids, Operator, Strict};
use crate::http::faults::broken;
use crate::http::negotiate::{Encoding, is_known, not_modified, tagged, takes};
use crate::http::openapi::{EventProblems, ReadProblems};
use crate::http::problem::Problem;
use crate::http::state::Units;
use crate::json::ids::{EventIdText, TimeMs};
use crate::live::house::map_body;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::IF_NONE_MATCH;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use onrush_base::beside::beside;
use onrush_core::Time;
use onrush_core::ids::EventId;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// The seat map, with the status of each seat; compressed for whoever takes gzip.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/seats", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The seat map", body = SeatMap),
        (status = 304, description = "The map that `If-None-Match` names is as it is now"), EventProblems),
)]
pub async fn seats(
    State(units): State<Arc<Units>>,
    Ids(event): Ids<EventId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if headers.contains_key(IF_NONE_MATCH) {
        let tag = units.boards.lately(&event).await?.tag();
        if is_known(&headers, &tag) {
            return Ok(not_modified(&tag));
        }
    }
    if takes(&headers, "gzip")
        && let Some((packed, tag)) = units.boards.packed_map(&event).await?
    {
        return Ok(tagged(Body::from(packed), Encoding::Gzip, &tag));
    }
    let snapshot = units.boards.lately(&event).await?;
    let tag = snapshot.tag();
    Ok(tagged(Body::new(map_body(snapshot)), Encoding::Plain, &tag))
}

/// How old statuses may be.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StatusQuery {
    /// The answer is of no earlier time, and may have to wait for that; a time to come counts as
    /// now. Left out, it may be up to two seconds old.
    #[param(value_type = Option<TimeMs>, nullable = false)]
    since: Option<i64>,
}

/// The status of every seat, one letter each, in the order of the seat map.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/seats/status", tag = "events",
    params(("event" = EventIdText, Path), StatusQuery),
    responses((status = 200, description = "The statuses", body = SeatStatuses),
        (status = 304,
            description = "The statuses that `If-None-Match` names are as they are now"), EventProblems),
)]
pub async fn seat_statuses(
    State(units): State<Arc<Units>>,
    Ids(event): Ids<EventId>,
    Strict(StatusQuery { since }): Strict<StatusQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let snapshot = match since {
        Some(since) => units.boards.since(&event, Time(since)).await?,
        None => units.boards.lately(&event).await?,
    };
    let tag = snapshot.tag();
    Ok(if is_known(&headers, &tag) {
        not_modified(&tag)
    } else if takes(&headers, "gzip") {
        tagged(snapshot.packed_statuses().into(), Encoding::Gzip, &tag)
    } else {
        tagged(snapshot.statuses().into(), Encoding::Plain, &tag)
    })
}

/// The drawing of the house: what never changes while its seats are sold, in the order of the
/// statuses. Compressed once, for whoever takes gzip.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/seats/plan", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The drawing", body = SeatPlan),
        (status = 304, description = "The drawing that `If-None-Match` names is still so"), EventProblems),
)]
pub async fn seat_plan(
    State(units): State<Arc<Units>>,
    Ids(event): Ids<EventId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let snapshot = units.boards.drawn(&event).await?;
    let tag = snapshot.plan().tag();
    if is_known(&headers, &tag) {
        return Ok(not_modified(&tag));
    }
    if !takes(&headers, "gzip") {
        return Ok(tagged(snapshot.plan().plain().into(), Encoding::Plain, &tag));
    }
    let packed = match snapshot.plan().packed() {
        Some(packed) => packed,
        // Only while the process stops there is no answer.
        None => match beside(move || snapshot.plan().pack()).await {
            Ok(packed) => packed,
            Err(error) => return Err(broken("compressing the drawing", &error)),
        },
    };
    Ok(tagged(packed.into(), Encoding::Gzip, &tag))
}

/// The seat map, with the booking that has a seat, or why it is blocked.
#[utoipa::path(
    get, path = "/api/v1/admin/events/{event}/seats", tag = "admin",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The seat map", body = SeatMap), ReadProblems),
)]
pub async fn seats_with_bookings(
    State(units): State<Arc<Units>>,
    Ids(event): Ids<EventId>,
    _: Operator,
) -> Result<Response, Problem> {
    Ok(json_bytes(StatusCode::OK, units.boards.for_organiser(&event).await?))
}
