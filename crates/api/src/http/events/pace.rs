//! How fast the line moves.

use crate::http::body::json;
use crate::http::caller::Ids;
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::state::{Sale, Streams};
use crate::json::ids::{EventIdText, TimeMs};
use crate::json::sale::{AdmissionName, PhaseName, UnitsBody};
use crate::live::pace::PerMin;
use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use onrush_core::ids::EventId;
use onrush_core::view::AdmissionState;
use onrush_core::{Phase, Time};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// How long ago the event may have been looked at: as long as the answer may be kept.
const GOOD_FOR: Duration = Duration::from_secs(1);

/// How fast an event's line moves, and what is left: the same for everybody who waits.
#[derive(Serialize, ToSchema)]
pub struct Pace {
    /// The event.
    #[schema(value_type = EventIdText)]
    event: EventId,
    /// The engine's time.
    #[schema(value_type = TimeMs)]
    at: Time,
    /// Where the sale stands.
    #[schema(value_type = PhaseName)]
    phase: Phase,
    /// Whether those who wait can be let in to anything.
    #[schema(value_type = AdmissionName)]
    admission: AdmissionState,
    /// People waiting.
    waiting: u32,
    /// Slots of the room in use.
    active: u32,
    /// Units of pools and seats together. Somebody whose position is above `free` and `held`
    /// together waits behind more people than there is left for.
    units: UnitsBody,
    /// Missing while too little is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    per_min: Option<PaceRange>,
}

/// How many places the line moves on in a minute, of late. Position `p` waits between `p / to` and
/// `p / from` minutes.
#[derive(Serialize, ToSchema)]
pub struct PaceRange {
    /// At least, most likely; above 0.
    #[schema(exclusive_minimum = 0)]
    from: f64,
    /// At most, most likely.
    #[schema(exclusive_minimum = 0)]
    to: f64,
}

/// How fast the line moves.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/pace", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The pace; good for a second", body = Pace), EventProblems),
)]
pub async fn pace(
    State(sale): State<Arc<Sale>>,
    State(streams): State<Arc<Streams>>,
    Ids(event): Ids<EventId>,
) -> Result<Response, Problem> {
    let seen = sale.looks.event(&event, GOOD_FOR).await?;
    let (at, view) = (seen.at, &seen.value);
    let per_min = streams.samples.paces.per_min(&event, at).map(|PerMin { from, to }| {
        // A hundredth is as much as anyone can use; the slow end stays above 0.
        PaceRange { from: (from * 100.0).round().max(1.0) / 100.0, to: (to * 100.0).ceil() / 100.0 }
    });
    let body = Pace {
        event,
        at,
        phase: view.phase,
        admission: view.admission,
        waiting: view.waiting,
        active: view.active,
        units: view.units.into(),
        per_min,
    };
    let mut response = json(StatusCode::OK, &body);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("max-age=1"));
    Ok(response)
}
