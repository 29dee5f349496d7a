//! Sagas: looked at, and helped on where they are stuck.

pub mod act;
pub mod read;
pub mod shapes;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of sagas.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(read::sagas))
        .routes(routes!(read::saga))
        .routes(routes!(act::saga_retry))
        .routes(routes!(act::saga_refund))
        .routes(routes!(act::saga_release))
}
