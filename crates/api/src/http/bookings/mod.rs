//! Bookings: held, kept, paid at the box office, cancelled, searched, and told of again.

pub mod buyer;
pub mod cancel;
pub mod confirm;
pub mod costs;
pub mod find;
pub mod for_somebody;
pub mod hold;
pub mod keeper;
pub mod kept;
pub mod link;
pub mod mail;
mod naming;
pub mod quote;
pub mod read;
pub mod search;
pub mod shapes;
pub mod summary;
pub mod table;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of bookings.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(hold::hold))
        .routes(routes!(hold::extend))
        .routes(routes!(for_somebody::hold_for_somebody))
        .routes(routes!(quote::quote))
        .routes(routes!(read::bookings))
        .routes(routes!(read::booking))
        .routes(routes!(summary::summary))
        .routes(routes!(confirm::confirm))
        .routes(routes!(confirm::confirm_at_box_office))
        .routes(routes!(cancel::cancel))
        .routes(routes!(cancel::cancel_confirmed))
        .routes(routes!(link::link, link::withdraw_link))
        .routes(routes!(buyer::set_buyer, buyer::erase_buyer))
        .routes(routes!(buyer::correct_buyer))
        .routes(routes!(buyer::erase_buyers))
        .routes(routes!(mail::mail_again))
        .routes(routes!(kept::export_buyers))
        .routes(routes!(search::search_bookings))
        .routes(routes!(search::search_bookings_by_body))
        .routes(routes!(table::bookings_csv))
        .routes(routes!(table::bookings_csv_by_body))
}
