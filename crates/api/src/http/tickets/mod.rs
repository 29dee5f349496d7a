//! Tickets: shown, scanned, revoked, and the keys they are signed with.

pub mod check_in;
pub mod keys;
pub mod read;
pub mod revoked;
pub mod shapes;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of tickets.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(read::tickets))
        .routes(routes!(read::ticket_picture))
        .routes(routes!(check_in::check_in))
        .routes(routes!(revoked::revoked))
        .routes(routes!(keys::keys))
}
