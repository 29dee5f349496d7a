//! `POST /admin/events/{event}/pools`.

use super::event_answer;
use crate::http::body::JsonBody;
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::event::EventBody;
use crate::http::shapes::lines::id;
use crate::http::state::App;
use crate::json::ids::{CapacityNumber, EventIdText, IdText, PriceNumber};
use crate::json::whole::Whole;
use crate::prices::check_prices;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::Command;
use onrush_core::ids::EventId;
use onrush_core::spec::PoolSpec;
use serde::Deserialize;
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
    security(("admin" = []))
)]
pub async fn add_pool(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    _: Admin,
    JsonBody(NewPool { pool, capacity, price_minor }): JsonBody<NewPool>,
) -> Result<Response, Problem> {
    let spec = PoolSpec { pool: id(&pool)?, capacity: capacity.0, price_minor: price_minor.0 };
    let (_, view) = app.view_event(&event).await?;
    check_prices(app.sagas.gateway(), &view.settings, [(spec.pool.as_str(), spec.price_minor)])?;
    app.run(&event, Command::AddPool { spec }).await?;
    event_answer(&app, StatusCode::CREATED, &event).await
}
