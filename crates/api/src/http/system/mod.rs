//! The server itself: is it alive, is it ready, how is it doing, what did it decide.

pub mod feed;
pub mod flags;
pub mod health;
pub mod metrics;
pub mod operator;
mod render;
mod sheet;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of the organiser to look into the server.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(feed::feed))
        .routes(routes!(flags::flags))
        .routes(routes!(flags::set_flag))
}
