//! Payments and refunds, the gateway that makes them, and what its own desk did.

pub mod desk;
pub mod gateway;
pub mod lists;
pub mod pay;
pub mod shapes;
pub mod webhook;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of payments.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(pay::pay, pay::payment))
        .routes(routes!(webhook::webhook))
        .routes(routes!(lists::payments))
        .routes(routes!(lists::refunds))
        .routes(routes!(gateway::gateway_health))
        .routes(routes!(desk::desk_entries))
        .routes(routes!(desk::settle_desk_entry))
}
