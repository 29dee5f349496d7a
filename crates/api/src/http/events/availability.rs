//! What is left of an event.

use super::shapes::stock::Availability;
use crate::http::body::Json;
use crate::http::caller::Ids;
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::state::Sale;
use crate::json::ids::EventIdText;
use axum::extract::State;
use onrush_core::ids::EventId;
use std::sync::Arc;
use std::time::Duration;

/// What is left of an event, and for how much: by pool, and by category of seats.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/availability", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "What is left", body = Availability), EventProblems),
)]
pub async fn availability(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
) -> Result<Json<Availability>, Problem> {
    let settings = &sale.looks.event(&event, Duration::ZERO).await?.value.settings;
    let left = sale.looks.left(&event).await?;
    let left = Availability::new(event, left.at, &left.value, settings);
    Ok(Json(left))
}
