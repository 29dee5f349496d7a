//! Messages that people and other systems are told.

pub mod dead_letters;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of messages.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(dead_letters::dead_messages))
        .routes(routes!(dead_letters::replay_messages))
}
