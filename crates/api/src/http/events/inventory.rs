//! All stock, and the organiser's own count of it.

use super::read::is_archived;
use super::shapes::stock::{CategoryBody, EventStock, InventoryStatus, PoolStock};
use crate::http::body::Json;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::Problem;
use crate::http::state::{Nodes, Sale};
use crate::inventory;
use crate::inventory::{SyncDeps, SyncedPool, sync};
use crate::json::ids::EventIdText;
use axum::extract::State;
use onrush_base::cluster_store::WantedPool;
use onrush_core::ids::{EventId, PoolId};
use onrush_core::question::AvailabilityNow;
use onrush_core::view::PoolView;
use onrush_saga::Sagas;
use onrush_store::Ask;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

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
)]
pub async fn inventory_status(
    State(sale): State<Arc<Sale>>,
    State(nodes): State<Arc<Nodes>>,
    _: Operator,
    Strict(query): Strict<InventoryQuery>,
) -> Result<Json<InventoryStatus>, Problem> {
    let (only, is_list) = (query.event.clone(), query.event.is_none());
    let ids = match query.event {
        Some(event) => vec![event],
        None => sale.engine.events().await?.value,
    };
    let mut wanted = match &nodes.cluster {
        Some(cluster) => inventory::read(&**cluster, only).await?,
        None => Vec::new(),
    };
    let mut events = Vec::with_capacity(ids.len());
    for event in ids {
        let (at, view) = match sale.view_event(&event).await {
            Ok(found) => found,
            Err(problem) if is_list && is_archived(&problem) => continue,
            Err(problem) => return Err(problem),
        };
        let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
        let (rows, others) = wanted.into_iter().partition(|row| row.event == event);
        wanted = others;
        let categories = CategoryBody::all(left.categories, &view.settings);
        let (pools, missing_pools) = compared(left.pools, rows);
        events.push(EventStock {
            event,
            phase: view.phase,
            at,
            waiting: view.waiting,
            active: view.active,
            units: view.units.into(),
            pools,
            categories,
            missing_pools,
        });
    }
    Ok(Json(InventoryStatus { events }))
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
    params(InventoryQuery),
    responses((status = 200, description = "What was done about each pool", body = SyncBody), WriteProblems),
)]
pub async fn sync_inventory(
    State(sale): State<Arc<Sale>>,
    State(sagas): State<Arc<Sagas>>,
    State(nodes): State<Arc<Nodes>>,
    operator: Operator,
    Strict(query): Strict<InventoryQuery>,
) -> Result<Json<SyncBody>, Problem> {
    let with = SyncDeps {
        engine: &*sale.engine,
        gateway: sagas.gateway(),
        cluster: nodes.cluster()?,
        by: &operator.key.name,
    };
    let pools = sync(with, query.event).await?;
    Ok(Json(SyncBody { pools }))
}
