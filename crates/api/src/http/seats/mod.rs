//! Seats: the map, each one's status, and how it came to that.

pub mod history;
pub mod import;
pub mod map;
pub mod shapes;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of seats.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(map::seats))
        .routes(routes!(map::seat_plan))
        .routes(routes!(map::seat_statuses))
        .routes(routes!(map::seats_with_bookings))
        .routes(routes!(import::import_seat_map))
        .routes(routes!(history::seat_history))
}
