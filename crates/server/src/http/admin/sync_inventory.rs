//! `POST /admin/sync-inventory` (S0.6).

use crate::http::body::json;
use crate::http::caller::{Admin, Strict};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::state::App;
use crate::inventory::{SyncDeps, SyncedPool, sync};
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Of which event.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SyncQuery {
    /// Only of this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
}

/// What a sync did.
#[derive(Serialize, ToSchema)]
pub struct SyncBody {
    /// Each pool of the inventory, by event and pool.
    pools: Vec<SyncedPool>,
}

/// Brings every pool of the inventory in PostgreSQL into the engine. Safe while the sale runs: it
/// sets capacities, and what is free follows from what is held and sold.
#[utoipa::path(
    post, path = "/api/v1/admin/sync-inventory", tag = "admin",
    params(SyncQuery),
    responses((status = 200, description = "What was done about each pool", body = SyncBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn sync_inventory(
    State(app): State<Arc<App>>,
    _: Admin,
    Strict(query): Strict<SyncQuery>,
) -> Result<Response, Problem> {
    let with =
        SyncDeps { engine: &*app.engine, gateway: app.sagas.gateway(), commons: app.shared()? };
    let pools = sync(with, query.event).await?;
    Ok(json(StatusCode::OK, &SyncBody { pools }))
}
