//! Seat maps: the pretix seating-plan JSON, and the drawing of it that is kept beside the journal.
//!
//! The rules know seats by id and price category. Where a seat is drawn is nobody's business but
//! the picture's, so the coordinates stay out of the journal: `<data>/plans/plan-<event>.json`.

mod areas;
mod best;
mod dir;

pub use areas::Area;
pub use dir::PlanDir;

use crate::json::ids::{FreeText, IdText, LabelText, RankNumber, TextOrNumber};
use crate::json::object::Object;
use crate::json::whole::Whole;
use areas::{MAX_AREAS, PlanArea};
use onrush_core::ids::SeatId;
use onrush_core::limits::{
    MAX_CATEGORIES_PER_EVENT, MAX_PRICE_MINOR, MAX_SEAT_RANK, MAX_SEATS_PER_EVENT, MAX_TEXT_CHARS,
    fits_name, fits_text,
};
use onrush_core::spec::{Access, CategorySpec, SeatSpec};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use utoipa::ToSchema;

/// How far from the origin anything may be drawn, in the plan's own units.
const MAX_COORDINATE: f64 = 1_000_000.0;

/// A seating plan as pretix draws it; what is not named here is ignored.
#[derive(Debug, Deserialize, ToSchema)]
pub struct Plan {
    #[serde(default)]
    #[schema(value_type = LabelText)]
    name: String,
    #[schema(value_type = Size)]
    size: Object<Size>,
    #[schema(value_type = Vec<PlanCategory>)]
    categories: Vec<Object<PlanCategory>>,
    /// At least one of them has a row with a seat.
    #[schema(value_type = Vec<Zone>)]
    zones: Vec<Object<Zone>>,
}

/// Width and height in the plan's own units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = PlanSize)]
pub struct Size {
    /// Across.
    #[schema(minimum = -1_000_000, maximum = 1_000_000)]
    pub width: f64,
    /// Down.
    #[schema(minimum = -1_000_000, maximum = 1_000_000)]
    pub height: f64,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct PlanCategory {
    #[schema(value_type = FreeText)]
    name: String,
    #[serde(default)]
    #[schema(value_type = LabelText)]
    color: String,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Zone {
    #[serde(default)]
    #[schema(value_type = LabelText)]
    name: String,
    #[serde(default)]
    #[schema(value_type = Position)]
    position: Object<Position>,
    #[serde(default)]
    #[schema(value_type = Vec<Row>)]
    rows: Vec<Object<Row>>,
    /// What is drawn beside the seats, such as the stage.
    #[serde(default)]
    #[schema(value_type = Vec<PlanArea>)]
    areas: Vec<Object<PlanArea>>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Row {
    #[serde(default)]
    #[schema(value_type = Option<TextOrNumber>)]
    row_number: Option<Label>,
    #[serde(default)]
    #[schema(value_type = Position)]
    position: Object<Position>,
    #[serde(default)]
    #[schema(value_type = Vec<PlanSeat>)]
    seats: Vec<Object<PlanSeat>>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct PlanSeat {
    #[schema(value_type = IdText)]
    seat_guid: String,
    #[serde(default)]
    #[schema(value_type = Option<TextOrNumber>)]
    seat_number: Option<Label>,
    #[serde(default)]
    #[schema(value_type = Position)]
    position: Object<Position>,
    #[serde(default)]
    #[schema(value_type = LabelText)]
    category: String,
    /// How good it is: the lower, the better. What a plan leaves out is made from its drawing.
    #[serde(default)]
    #[schema(value_type = Option<RankNumber>)]
    rank: Option<Whole<u32>>,
    /// It is a place for somebody in a wheelchair.
    #[serde(default)]
    wheelchair: bool,
    /// The wheelchair place, by its `seat_guid`, whose companion it is kept for.
    #[serde(default)]
    #[schema(value_type = Option<IdText>)]
    companion_of: Option<String>,
    /// It is reached without steps.
    #[serde(default)]
    easy_access: bool,
    /// Something stands in its view.
    #[serde(default)]
    restricted_view: bool,
}

impl PlanSeat {
    fn access(&self) -> Result<Access, String> {
        match (self.wheelchair, &self.companion_of) {
            (false, None) => Ok(Access::Anyone),
            (true, None) => Ok(Access::Wheelchair),
            (false, Some(place)) => {
                let wrong = |error| format!("seat {:?}: companion_of: {error}", self.seat_guid);
                place.parse().map(Access::CompanionOf).map_err(wrong)
            }
            (true, Some(_)) => Err(format!(
                "seat {:?}: a wheelchair place is no companion's seat; use one of wheelchair and \
                 companion_of",
                self.seat_guid
            )),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
pub(crate) struct Position {
    #[schema(minimum = -1_000_000, maximum = 1_000_000)]
    x: f64,
    #[schema(minimum = -1_000_000, maximum = 1_000_000)]
    y: f64,
}

/// A row's or seat's number: most plans write a text, some a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Label {
    Text(String),
    Number(Whole<i32>),
}

impl Label {
    fn text(label: Option<&Self>) -> Box<str> {
        match label {
            None => Box::default(),
            Some(Self::Text(text)) => text.as_str().into(),
            Some(Self::Number(number)) => number.0.to_string().into(),
        }
    }
}

/// What a plan and its prices come to.
#[derive(Debug)]
pub struct Import {
    /// The price categories that seats are in, in the plan's order.
    pub categories: Vec<CategorySpec>,
    /// The seats, in the plan's order.
    pub seats: Vec<SeatSpec>,
    /// The drawing.
    pub drawing: Drawing,
    /// Which of the seats have a rank that was made, as the plan gives none.
    is_made: Vec<bool>,
}

impl Import {
    /// The same for an event that has a drawing: ranks that are made come after all of its seats, or
    /// else a balcony that is sent later would be as good as the first rows there.
    #[must_use]
    pub fn after(mut self, present: Option<&Drawing>) -> Self {
        let first = present.map_or(0, Drawing::ranks);
        for (seat, _) in self.seats.iter_mut().zip(&self.is_made).filter(|(_, is_made)| **is_made) {
            seat.rank = seat.rank.saturating_add(first).min(MAX_SEAT_RANK);
        }
        let last = self.seats.iter().map(|seat| seat.rank).max();
        self.drawing.ranks = last.map(|last| first.max(last.saturating_add(1)));
        self
    }
}

/// Where everything is drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawing {
    /// The plan's name.
    pub name: String,
    /// The plan's size.
    pub size: Size,
    /// The categories' colours.
    pub categories: Vec<DrawnCategory>,
    /// The seats.
    pub seats: Vec<DrawnSeat>,
    /// What is drawn beside them; an older version kept none.
    #[serde(default)]
    pub areas: Vec<Area>,
    /// One more than the last rank of a seat; an older version kept none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ranks: Option<u32>,
}

/// A category's colour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawnCategory {
    /// The category.
    pub name: String,
    /// A CSS colour, as the plan has it.
    pub color: String,
}

/// A seat in the drawing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnSeat {
    /// Its id.
    pub id: SeatId,
    /// The zone it is in.
    pub section: Box<str>,
    /// Its row.
    pub row: Box<str>,
    /// Its number in the row.
    pub number: Box<str>,
    /// Its price category.
    pub category: Box<str>,
    /// From the left, in the plan's units.
    pub x: f64,
    /// From the top, in the plan's units.
    pub y: f64,
    /// What is special about it.
    #[serde(flatten)]
    pub traits: SeatTraits,
}

/// What buyers are told of a seat beside where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatTraits {
    /// It is a wheelchair place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wheelchair: bool,
    /// The wheelchair place whose companion it is kept for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub companion_of: Option<SeatId>,
    /// It is reached without steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub easy_access: bool,
    /// Something stands in its view.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restricted_view: bool,
}

impl Plan {
    fn seats(&self) -> impl Iterator<Item = &PlanSeat> {
        let rows = self.zones.iter().flat_map(|Object(zone)| &zone.rows);
        rows.flat_map(|Object(row)| &row.seats).map(|Object(seat)| seat)
    }

    /// The seats, with the price of each category by name.
    ///
    /// # Errors
    /// What is wrong with the plan or the prices, as a sentence that names the seat or category.
    pub fn import(&self, prices: &BTreeMap<String, i64>) -> Result<Import, String> {
        // Before anything is looked up among them: some programs export a category for each seat.
        let count = self.categories.len();
        if count > MAX_CATEGORIES_PER_EVENT {
            return Err(format!(
                "the plan has {count} categories; use at most {MAX_CATEGORIES_PER_EVENT}"
            ));
        }
        let mut drawing = Drawing {
            name: text(&self.name, "the plan's name")?.into(),
            size: Size {
                width: coordinate(self.size.0.width)?,
                height: coordinate(self.size.0.height)?,
            },
            ..Drawing::default()
        };
        let mut seats = Vec::new();
        let mut seen = HashSet::new();
        let mut used = HashSet::new();
        let mut starts = best::RowStarts::default();
        for Object(zone) in &self.zones {
            let section = text(&zone.name, "a zone's name")?;
            for Object(area) in &zone.areas {
                drawing.areas.extend(area.import(zone.position.0)?);
            }
            if drawing.areas.len() > MAX_AREAS {
                return Err(format!("the plan has more than {MAX_AREAS} areas; use fewer"));
            }
            for Object(row) in &zone.rows {
                let row_number = Label::text(row.row_number.as_ref());
                let from = seats.len();
                for Object(seat) in &row.seats {
                    let id: SeatId = seat
                        .seat_guid
                        .parse()
                        .map_err(|error| format!("seat {:?}: {error}", seat.seat_guid))?;
                    if !seen.insert(id.clone()) {
                        return Err(format!(
                            "seat {id} is in the plan twice; give each its own seat_guid"
                        ));
                    }
                    let category = text(&seat.category, "a category's name")?;
                    used.insert(category);
                    let number = Label::text(seat.seat_number.as_ref());
                    let positions = [zone.position.0, row.position.0, seat.position.0];
                    let sum = |part: fn(Position) -> f64| {
                        positions.map(part).into_iter().map(coordinate).sum::<Result<f64, _>>()
                    };
                    let access = seat.access()?;
                    seats.push(SeatSpec {
                        seat: id.clone(),
                        section: section.into(),
                        row: text(&row_number, "a row's number")?.into(),
                        number: text(&number, "a seat's number")?.into(),
                        category: category.into(),
                        rank: 0,
                        aisle: false,
                        access: access.clone(),
                    });
                    drawing.seats.push(DrawnSeat {
                        id,
                        section: section.into(),
                        row: row_number.clone(),
                        number,
                        category: category.into(),
                        x: sum(|position| position.x)?,
                        y: sum(|position| position.y)?,
                        traits: SeatTraits {
                            wheelchair: access == Access::Wheelchair,
                            companion_of: match access {
                                Access::CompanionOf(place) => Some(place),
                                Access::Anyone | Access::Wheelchair => None,
                            },
                            easy_access: seat.easy_access,
                            restricted_view: seat.restricted_view,
                        },
                    });
                }
                if seats.len() > from {
                    starts.add(from, &row_number);
                }
            }
        }
        if seats.is_empty() || seats.len() > MAX_SEATS_PER_EVENT {
            return Err(format!(
                "the plan has {} seats; use 1 to {MAX_SEATS_PER_EVENT}",
                seats.len()
            ));
        }
        let mut categories = Vec::new();
        for Object(category) in &self.categories {
            drawing.categories.push(DrawnCategory {
                name: text(&category.name, "a category's name")?.to_owned(),
                color: areas::colour(Some(&category.color))?.unwrap_or_default(),
            });
            if used.remove(category.name.as_str()) {
                categories.push(priced(&category.name, prices)?);
            }
        }
        if let Some(unknown) = used.iter().min() {
            return Err(format!(
                "category {unknown:?} of a seat is not among the plan's categories"
            ));
        }
        let in_use = |name: &str| categories.iter().any(|category| &*category.name == name);
        match prices.keys().find(|name| !in_use(name)) {
            Some(name) => Err(format!("prices: no seat of the plan is in category {name:?}")),
            None => {
                let given = || self.seats().map(|seat| seat.rank.map(|rank| rank.0));
                let is_made = given().map(|rank| rank.is_none()).collect();
                best::mark_aisles(&mut seats, &starts, &drawing.seats);
                best::rank(&mut seats, given(), &starts, &categories, &drawing);
                Ok(Import { categories, seats, drawing, is_made })
            }
        }
    }
}

/// A coordinate or a length, if it is a sane one: sums of boundless ones might be no numbers.
fn coordinate(number: f64) -> Result<f64, String> {
    if (-MAX_COORDINATE..=MAX_COORDINATE).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{number} is too far out; use -{MAX_COORDINATE} to {MAX_COORDINATE}"))
    }
}

fn priced(name: &str, prices: &BTreeMap<String, i64>) -> Result<CategorySpec, String> {
    match prices.get(name) {
        Some(price_minor @ 0..=MAX_PRICE_MINOR) => {
            Ok(CategorySpec { name: name.into(), price_minor: *price_minor })
        }
        Some(_) => {
            Err(format!("prices: category {name:?} needs 0 to {MAX_PRICE_MINOR} minor units"))
        }
        None => Err(format!("prices: category {name:?} has no price; 0 is free of charge")),
    }
}

fn text<'a>(text: &'a str, what: &str) -> Result<&'a str, String> {
    if fits_name(text) {
        Ok(text)
    } else if fits_text(text) {
        Err(format!("{what}: {text:?} has signs that turn the text around; leave them out"))
    } else {
        Err(format!("{what} is too long; use at most {MAX_TEXT_CHARS} characters"))
    }
}

impl Drawing {
    /// Both drawings, the later one's where they differ.
    fn with(mut self, later: Self) -> Self {
        let replaced: HashSet<&SeatId> = later.seats.iter().map(|seat| &seat.id).collect();
        self.seats.retain(|seat| !replaced.contains(&seat.id));
        self.categories.retain(|old| later.categories.iter().all(|new| new.name != old.name));
        self.seats.extend(later.seats);
        self.categories.extend(later.categories);
        let fresh: Vec<Area> =
            later.areas.into_iter().filter(|area| !self.areas.contains(area)).collect();
        self.areas.extend(fresh);
        Self { name: later.name, size: later.size, ranks: self.ranks.max(later.ranks), ..self }
    }

    /// One more than the last rank of its seats. Of an older version's, at most as many as were made:
    /// what its plan gave is not known.
    fn ranks(&self) -> u32 {
        let at_most = || u32::try_from(self.seats.len() * best::STEPS).unwrap_or(u32::MAX);
        self.ranks.unwrap_or_else(at_most)
    }
}

#[cfg(test)]
mod tests;
