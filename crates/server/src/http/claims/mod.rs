//! Claims: units taken at once.

pub mod claim;
mod first_answer;
pub mod shapes;

use crate::http::state::App;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of claims.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(claim::claim))
        .routes(routes!(claim::claim_view, claim::declaim))
        .routes(routes!(claim::adjust_claimed))
}
