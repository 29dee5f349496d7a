//! Messages that people and other systems are told.

pub mod dead_letters;

use crate::http::state::App;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of messages.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(dead_letters::dead_messages))
        .routes(routes!(dead_letters::replay_messages))
}
