//! `GET /api/seats/available`.

use super::words::OfEvent;
use crate::http::body::json;
use crate::http::caller::Strict;
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::state::Units;
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{EventId, SeatId};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The seats that nobody has.
#[derive(Serialize, ToSchema)]
#[schema(as = InheritedSeats)]
pub struct Available<'a> {
    /// The event.
    #[schema(value_type = EventIdText)]
    event_id: EventId,
    /// Their ids, in the order of the seat map.
    #[schema(value_type = Vec<IdText>)]
    seats: Vec<&'a SeatId>,
}

/// The seats that can be selected now.
#[utoipa::path(
    get, path = "/api/seats/available", tag = "inherited", operation_id = "inherited_seats",
    params(OfEvent),
    responses((status = 200, description = "The free seats", body = Available), EventProblems),
)]
pub async fn seats(
    State(units): State<Arc<Units>>,
    Strict(OfEvent { event_id }): Strict<OfEvent>,
) -> Result<Response, Problem> {
    let snapshot = units.boards.now(&event_id).await?;
    Ok(json(StatusCode::OK, &Available { event_id, seats: snapshot.free().collect() }))
}
