//! The inherited paths, with the fields and the inherited words, over the same commands as `/api/v1`.
//! They are served where `booking_paths` is set.

pub mod cancel;
pub mod payment;
pub mod position;
pub mod request;
pub mod seats;
pub mod select_seat;
mod state;
pub mod words;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The inherited paths.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(request::request))
        .routes(routes!(position::position))
        .routes(routes!(select_seat::select_seat))
        .routes(routes!(payment::initiate))
        .routes(routes!(payment::success))
        .routes(routes!(payment::failure))
        .routes(routes!(cancel::cancel))
        .routes(routes!(seats::seats))
}
