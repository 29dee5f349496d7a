//! Seat maps with the status of each seat. They are written piece by piece (see
//! [`crate::live::seats`]); these types describe the result.

use crate::json::ids::{EventIdText, IdText, TimeMs};
use utoipa::ToSchema;

/// The seat map.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is written from fragments")]
pub struct SeatMap {
    #[schema(value_type = EventIdText)]
    event: String,
    /// The engine's time.
    #[schema(value_type = TimeMs)]
    at: i64,
    /// The plan's name; missing where no map was imported.
    #[schema(nullable = false)]
    name: Option<String>,
    /// The plan's size; missing where no map was imported.
    #[schema(nullable = false)]
    size: Option<Size>,
    categories: Vec<MapCategory>,
    seats: Vec<MapSeat>,
}

/// The size of the plan, in its own units.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is written from fragments")]
pub struct Size {
    width: f64,
    height: f64,
}

/// A price category.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is written from fragments")]
pub struct MapCategory {
    name: String,
    #[schema(nullable = false)]
    color: Option<String>,
    /// What one seat costs before fees, in minor units.
    price_minor: i64,
    /// The same with the percentage fee on it.
    all_in_minor: i64,
}

/// A seat.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is written from fragments")]
pub struct MapSeat {
    #[schema(value_type = IdText)]
    id: String,
    #[schema(nullable = false)]
    section: Option<String>,
    #[schema(nullable = false)]
    row: Option<String>,
    #[schema(nullable = false)]
    number: Option<String>,
    category: String,
    #[schema(nullable = false)]
    x: Option<f64>,
    #[schema(nullable = false)]
    y: Option<f64>,
    /// It is a wheelchair place; missing if it is not.
    #[schema(nullable = false)]
    wheelchair: Option<bool>,
    /// The wheelchair place whose companion it is kept for: it is held together with that one only.
    #[schema(value_type = Option<IdText>, nullable = false)]
    companion_of: Option<String>,
    /// It is reached without steps; missing if that is not said.
    #[schema(nullable = false)]
    easy_access: Option<bool>,
    /// Something stands in its view; missing if nothing does.
    #[schema(nullable = false)]
    restricted_view: Option<bool>,
    status: SeatStatusName,
    /// The booking that holds or has it (for the organiser).
    #[schema(value_type = Option<IdText>, nullable = false)]
    booking: Option<String>,
    /// Why it is blocked (for the organiser).
    #[schema(nullable = false)]
    why: Option<String>,
}

/// The status of a seat.
#[derive(ToSchema)]
#[schema(as = SeatStatus, rename_all = "snake_case")]
pub enum SeatStatusName {
    /// On sale.
    Free,
    /// In a hold.
    Held,
    /// Confirmed.
    Sold,
    /// Off sale.
    Blocked,
}

/// The status of every seat, in the order of the seat map.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is written from fragments")]
pub struct SeatStatuses {
    #[schema(value_type = EventIdText)]
    event: String,
    /// The engine's time.
    #[schema(value_type = TimeMs)]
    at: i64,
    /// How many there are.
    seats: u32,
    /// One letter each: `f`ree, `h`eld, `s`old, `b`locked.
    #[schema(pattern = "^[fhsb]*$")]
    status: String,
}
