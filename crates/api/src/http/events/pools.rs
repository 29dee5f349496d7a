//! Pools: added, resized, explained.

use super::read::{event_answer, run_and_show};
use super::shapes::EventBody;
use super::shapes::stock::PoolBody;
use crate::history::{Step, Subject};
use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Ids, Operator};
use crate::http::faults::refused;
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::Problem;
use crate::http::shapes::lines::id;
use crate::http::shapes::reason::reasoned;
use crate::http::state::{Sale, Units};
use crate::json::ids::{CapacityNumber, EventIdText, IdText, PriceNumber};
use crate::json::whole::Whole;
use crate::prices::check_prices;
use axum::extract::State;
use axum::http::StatusCode;
use onrush_core::ids::{EventId, PoolId};
use onrush_core::question::AvailabilityNow;
use onrush_core::spec::PoolSpec;
use onrush_core::{Command, Refusal};
use onrush_saga::Sagas;
use onrush_store::Ask;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// A new pool.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPool {
    /// Its id.
    #[schema(value_type = IdText)]
    pool: String,
    /// Units there are.
    #[schema(value_type = CapacityNumber)]
    capacity: Whole<u32>,
    /// The price of one unit in minor units; 0 is free of charge.
    #[schema(value_type = PriceNumber)]
    price_minor: Whole<i64>,
}

/// Adds a pool of countable stock.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/pools", tag = "admin",
    params(("event" = EventIdText, Path)),
    request_body = NewPool,
    responses((status = 201, description = "The event", body = EventBody), WriteProblems),
)]
pub async fn add_pool(
    State(sale): State<Arc<Sale>>,
    State(sagas): State<Arc<Sagas>>,
    Ids(event): Ids<EventId>,
    _: Operator,
    JsonBody(NewPool { pool, capacity, price_minor }): JsonBody<NewPool>,
) -> Result<(StatusCode, Json<EventBody>), Problem> {
    let pool = id(&pool).map_err(|problem| problem.about("pool"))?;
    let spec = PoolSpec { pool, capacity: capacity.0, price_minor: price_minor.0 };
    let (_, view) = sale.view_event(&event).await?;
    check_prices(sagas.gateway(), &view.settings, [(spec.pool.as_str(), spec.price_minor)])
        .map_err(|error| Problem::from(error).about("price_minor"))?;
    sale.run::<()>(&event, Command::AddPool { spec }).await?;
    Ok((StatusCode::CREATED, event_answer(&sale, &event).await?))
}

reasoned! {
    /// Another capacity.
    NewCapacity {
        /// Units from now on.
        #[schema(value_type = CapacityNumber)]
        capacity: Whole<u32>,
    }
}

/// Sets how many units a pool has; what is free follows from that.
#[utoipa::path(
    put, path = "/api/v1/admin/events/{event}/pools/{pool}/capacity", tag = "admin",
    params(("event" = EventIdText, Path), ("pool" = IdText, Path)),
    request_body = NewCapacity,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
)]
pub async fn adjust_capacity(
    State(sale): State<Arc<Sale>>,
    Ids((event, pool)): Ids<(EventId, PoolId)>,
    operator: Operator,
    JsonBody(NewCapacity { capacity, why, .. }): JsonBody<NewCapacity>,
) -> Result<Json<EventBody>, Problem> {
    let command =
        Command::AdjustCapacity { pool, capacity: capacity.0, reason: operator.because(why) };
    run_and_show(&sale, &event, command).await
}

/// A pool, and how it came to be what it is.
#[derive(Serialize, ToSchema)]
pub struct PoolHistory {
    #[serde(flatten)]
    pool: PoolBody,
    /// What happened to it: the latest 500 steps, oldest first.
    history: Vec<Step>,
}

/// What is left of a pool, and what happened to it.
///
/// The whole feed is read for it, which takes a few seconds for each million decisions; one
/// question at a time.
#[utoipa::path(
    get, path = "/api/v1/admin/events/{event}/pools/{pool}", tag = "admin",
    params(("event" = EventIdText, Path), ("pool" = IdText, Path)),
    responses((status = 200, description = "The pool", body = PoolHistory), ReadProblems),
)]
pub async fn pool_history(
    State(sale): State<Arc<Sale>>,
    State(units): State<Arc<Units>>,
    Ids((event, pool)): Ids<(EventId, PoolId)>,
    _: Operator,
) -> Result<Json<PoolHistory>, Problem> {
    let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
    let Some(view) = left.pools.iter().find(|view| view.pool == pool) else {
        return Err(refused(Refusal::ZoneNotFound { pool }));
    };
    let history = units.histories.of(&event, Subject::Pool(pool)).await?;
    let (_, event) = sale.view_event(&event).await?;
    let pool = PoolBody::new(view, &event.settings);
    Ok(Json(PoolHistory { pool, history }))
}
