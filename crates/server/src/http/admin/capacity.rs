//! `PUT /admin/events/{event}/pools/{pool}/capacity`.

use super::{reason, run_and_show};
use crate::http::body::JsonBody;
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::event::EventBody;
use crate::http::state::App;
use crate::json::ids::{CapacityNumber, EventIdText, FreeText, IdText};
use crate::json::whole::Whole;
use axum::extract::State;
use axum::response::Response;
use onrush_core::Command;
use onrush_core::ids::{EventId, PoolId};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Another capacity.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCapacity {
    /// Units from now on.
    #[schema(value_type = CapacityNumber)]
    capacity: Whole<u32>,
    /// Who changes it.
    #[schema(value_type = FreeText)]
    by: Box<str>,
    /// Why.
    #[schema(value_type = FreeText)]
    why: Box<str>,
}

/// Sets how many units a pool has; what is free follows from that.
#[utoipa::path(
    put, path = "/api/v1/admin/events/{event}/pools/{pool}/capacity", tag = "admin",
    operation_id = "adjust_capacity",
    params(("event" = EventIdText, Path), ("pool" = IdText, Path)),
    request_body = NewCapacity,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn capacity(
    State(app): State<Arc<App>>,
    Ids((event, pool)): Ids<(EventId, PoolId)>,
    _: Admin,
    JsonBody(NewCapacity { capacity, by, why }): JsonBody<NewCapacity>,
) -> Result<Response, Problem> {
    let command = Command::AdjustCapacity { pool, capacity: capacity.0, reason: reason(by, why) };
    run_and_show(&app, &event, command).await
}
