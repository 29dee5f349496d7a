//! Live updates over HTTP.

pub mod samples;
pub mod sse;
pub mod stream_ticket;
pub mod ws;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of streams.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(stream_ticket::stream_ticket))
        .routes(routes!(sse::stream))
        .routes(routes!(ws::ws))
        .routes(routes!(samples::live_samples))
}
