//! `GET /admin/events/{event}/pools/{pool}`.

use crate::history::{Step, Subject};
use crate::http::body::json;
use crate::http::caller::{Admin, Ids};
use crate::http::faults::{odd_answer, refused};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::availability::PoolBody;
use crate::http::state::App;
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{EventId, PoolId};
use onrush_core::{Query, Refusal, View};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

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
    get, path = "/api/v1/admin/events/{event}/pools/{pool}", tag = "admin", operation_id = "pool_history",
    params(("event" = EventIdText, Path), ("pool" = IdText, Path)),
    responses((status = 200, description = "The pool", body = PoolHistory), ReadProblems),
    security(("admin" = []))
)]
pub async fn pool(
    State(app): State<Arc<App>>,
    Ids((event, pool)): Ids<(EventId, PoolId)>,
    _: Admin,
) -> Result<Response, Problem> {
    let answer = app.engine.query(event.clone(), Query::Availability).await?;
    let View::Availability(availability) = answer.value else { return Err(odd_answer()) };
    let Some(view) = availability.pools.iter().find(|view| view.pool == pool) else {
        return Err(refused(Refusal::ZoneNotFound { pool }));
    };
    let history = app.histories.of(&event, Subject::Pool(pool)).await?;
    Ok(json(StatusCode::OK, &PoolHistory { pool: PoolBody::new(view), history }))
}
