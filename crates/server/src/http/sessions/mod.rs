//! Browser sessions: signing in with a key.

pub mod cookie;
pub mod sign_in;

use crate::http::state::App;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of browser sessions.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(sign_in::create, sign_in::show, sign_in::end))
}
