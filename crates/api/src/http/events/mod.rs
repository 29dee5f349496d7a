//! Events: what is on sale, on which terms, and how much of it is left.

pub mod archive;
pub mod availability;
pub mod block;
pub mod defaults;
pub mod draw;
pub mod inventory;
pub mod pace;
pub mod phases;
pub mod pools;
pub mod prices;
pub mod read;
pub mod settings;
pub mod shapes;
pub mod texts;
pub mod types;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of events.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(read::events))
        .routes(routes!(read::event))
        .routes(routes!(availability::availability))
        .routes(routes!(pace::pace))
        .routes(routes!(draw::draw))
        .routes(routes!(draw::entrants))
        .routes(routes!(texts::texts))
        .routes(routes!(texts::set_texts))
        .routes(routes!(defaults::event_defaults))
        .routes(routes!(settings::create_event))
        .routes(routes!(settings::change_event))
        .routes(routes!(settings::change_room))
        .routes(routes!(phases::open_prequeue))
        .routes(routes!(phases::close_prequeue))
        .routes(routes!(phases::open_sale))
        .routes(routes!(phases::pause_sale))
        .routes(routes!(phases::resume_sale))
        .routes(routes!(phases::close_sale))
        .routes(routes!(archive::archive_event))
        .routes(routes!(archive::erase_archived))
        .routes(routes!(pools::add_pool))
        .routes(routes!(pools::adjust_capacity))
        .routes(routes!(pools::pool_history))
        .routes(routes!(prices::change_price))
        .routes(routes!(prices::prices))
        .routes(routes!(types::set_types))
        .routes(routes!(types::types))
        .routes(routes!(block::block))
        .routes(routes!(block::unblock))
        .routes(routes!(inventory::inventory_status))
        .routes(routes!(inventory::sync_inventory))
}
