//! `GET /admin/inventory-status`.

use crate::commons::WantedPool;
use crate::http::body::json;
use crate::http::caller::{Admin, Strict};
use crate::http::faults::odd_answer;
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::availability::{EventStock, InventoryStatus, PoolStock};
use crate::http::state::App;
use crate::inventory;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{EventId, PoolId};
use onrush_core::view::PoolView;
use onrush_core::{Query, View};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::IntoParams;

/// Of which event.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InventoryQuery {
    /// Only of this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
}

/// All stock: every unit is free, held, sold or blocked, with the reasons.
#[utoipa::path(
    get, path = "/api/v1/admin/inventory-status", tag = "admin",
    params(InventoryQuery),
    responses((status = 200, description = "The stock", body = InventoryStatus), ReadProblems),
    security(("admin" = []))
)]
pub async fn inventory_status(
    State(app): State<Arc<App>>,
    _: Admin,
    Strict(query): Strict<InventoryQuery>,
) -> Result<Response, Problem> {
    let only = query.event.clone();
    let ids = match query.event {
        Some(event) => vec![event],
        None => app.engine.events().await?.value,
    };
    let mut wanted = match &app.commons {
        Some(commons) => inventory::read(&**commons, only).await?,
        None => Vec::new(),
    };
    let mut events = Vec::with_capacity(ids.len());
    for event in ids {
        let (at, view) = app.view_event(&event).await?;
        let answer = app.engine.query(event.clone(), Query::Availability).await?;
        let View::Availability(left) = answer.value else { return Err(odd_answer()) };
        let (rows, others) = wanted.into_iter().partition(|row| row.event == event);
        wanted = others;
        let (pools, missing_pools) = compared(left.pools, rows);
        events.push(EventStock {
            event,
            phase: view.phase,
            at,
            waiting: view.waiting,
            active: view.active,
            units: view.units.into(),
            pools,
            categories: left.categories.into_iter().map(Into::into).collect(),
            missing_pools,
        });
    }
    Ok(json(StatusCode::OK, &InventoryStatus { events }))
}

/// The pools with how each differs from what is wanted, and the ids of those that are wanted and not there.
fn compared(pools: Vec<PoolView>, wanted: Vec<WantedPool>) -> (Vec<PoolStock>, Vec<PoolId>) {
    let mut wanted: BTreeMap<PoolId, WantedPool> =
        wanted.into_iter().map(|row| (row.pool.clone(), row)).collect();
    let stock = |pool: PoolView| {
        let drift = wanted.remove(&pool.pool).and_then(|row| inventory::drift(&pool, &row));
        PoolStock::new(pool, drift)
    };
    let stock = pools.into_iter().map(stock).collect();
    (stock, wanted.into_keys().collect())
}
