//! Seat maps with the status of each seat. They are written piece by piece (see
//! [`crate::live::seats`]); these types describe the result.

use crate::json::ids::{EventIdText, IdText, TimeMs};
use crate::json::words::words;
use crate::plans::Area;
use onrush_core::view::SeatStatus;
use std::collections::BTreeMap;
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
    /// The wheelchair place whose companion it is kept for: it is held together with that one only,
    /// until that one is sold without it.
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

words!(
    /// The status of a seat.
    SeatStatusName, "SeatStatus", SeatStatus
);

/// What never changes about a house while its seats are sold. Its rows' seats, one after the other,
/// are in the order of the statuses.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is written in live/plan.rs")]
pub struct SeatPlan {
    /// What it is told apart by: statuses name the one they are of.
    version: String,
    /// The plan's name; missing where no map was imported.
    #[schema(nullable = false)]
    name: Option<String>,
    /// The plan's size; missing where no map was imported.
    #[schema(nullable = false)]
    size: Option<Size>,
    /// What is drawn beside the seats; missing if nothing is.
    #[schema(nullable = false)]
    areas: Option<Vec<Area>>,
    /// How many seats there are.
    seats: u32,
    categories: Vec<MapCategory>,
    rows: Vec<PlanRow>,
}

/// Seats that follow each other in one row. Positions are hundredths of the plan's unit: the first
/// seat's, then the difference to the seat before.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is written in live/plan.rs")]
#[schema(as = SeatPlanRow)]
pub struct PlanRow {
    /// Missing, like all that a drawing says, where no map has these seats.
    #[schema(nullable = false)]
    section: Option<String>,
    #[schema(nullable = false)]
    row: Option<String>,
    /// What all ids of the row begin with.
    prefix: String,
    /// The rest of each id.
    ids: Vec<String>,
    /// Missing where each is the rest of the seat's id.
    #[schema(nullable = false)]
    numbers: Option<Vec<String>>,
    /// The category's place in `categories`: one for all seats, or one each.
    category: OneOrEach,
    #[schema(nullable = false)]
    x: Option<Vec<i64>>,
    #[schema(nullable = false)]
    y: Option<Vec<i64>>,
    /// What is special about seats, by their places in the row; missing if nothing is.
    #[schema(nullable = false)]
    traits: Option<BTreeMap<String, PlanTraits>>,
}

/// A category's place: one for all seats of a row, or one each.
#[derive(ToSchema)]
#[schema(as = OneOrEachCategory)]
#[serde(untagged)]
pub enum OneOrEach {
    /// All seats'.
    One(u32),
    /// Each seat's.
    Each(Vec<u32>),
}

/// What is special about a seat.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what is written in live/plan.rs")]
#[schema(as = SeatTraits)]
pub struct PlanTraits {
    /// It is a wheelchair place.
    #[schema(nullable = false)]
    wheelchair: Option<bool>,
    /// The wheelchair place whose companion it is kept for, until that one is sold without it.
    #[schema(value_type = Option<IdText>, nullable = false)]
    companion_of: Option<String>,
    /// It is reached without steps.
    #[schema(nullable = false)]
    easy_access: Option<bool>,
    /// Something stands in its view.
    #[schema(nullable = false)]
    restricted_view: Option<bool>,
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
    /// The `version` of the drawing whose seats these are.
    plan: String,
    /// One letter each: `f`ree, `h`eld, `s`old, `b`locked.
    #[schema(pattern = "^[fhsb]*$")]
    status: String,
}
