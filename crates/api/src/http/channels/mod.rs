//! Channels: stock that is set aside, who may take from it, and what is left of it.

pub mod codes;
pub mod mine;
pub mod organiser;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of channels.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(mine::my_channels))
        .routes(routes!(organiser::channels))
        .routes(routes!(organiser::set_channel))
        .routes(routes!(organiser::release_channel))
        .routes(routes!(organiser::allot))
}
