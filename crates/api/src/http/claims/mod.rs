//! Claims: units taken at once.

pub mod claim;
pub mod shapes;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of claims.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(claim::claim))
        .routes(routes!(claim::claim_view, claim::declaim))
        .routes(routes!(claim::adjust_claimed))
}
