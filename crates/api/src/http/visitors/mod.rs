//! Visitors: their tokens, their other devices, and those who are kept out.

pub mod carry;
pub mod guest;
mod owned;
pub mod remove;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of visitors.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(guest::guest))
        .routes(routes!(guest::renew))
        .routes(routes!(carry::carry))
        .routes(routes!(carry::carried))
        .routes(routes!(remove::remove_visitor))
        .routes(routes!(remove::unban_visitor))
        .routes(routes!(remove::bans))
}
