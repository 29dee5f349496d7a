//! The waiting room, as a visitor goes through it.

pub mod join;
pub mod place;
pub mod shapes;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of the queue.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(join::join, place::position, place::leave))
        .routes(routes!(place::arrive))
}
