//! What people and services did with their keys: written down, listed, forgotten in the end.

pub mod list;
pub mod note;
pub mod table;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of what was done with keys.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new().routes(routes!(list::actions)).routes(routes!(table::actions_csv))
}
