//! The drawing of a house: what never changes while its seats are sold, compressed once for everyone.
//!
//! Seats stand in rows, each as lists of what its seats have: that is half as long as an object a
//! seat, and a tenth of it once compressed. Positions are hundredths of the plan's unit, each as the
//! difference to the one before.

use super::snapshot::pack_well;
use crate::plans::{Drawing, DrawnSeat, SeatTraits};
use bytes::Bytes;
use onrush_core::ids::SeatId;
use onrush_core::view::SeatView;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::OnceLock;

/// A house's drawing as it is sent.
pub struct Plan {
    plain: Bytes,
    packed: OnceLock<Bytes>,
    version: Box<str>,
}

impl Plan {
    /// The drawing of these seats, in their order; `categories` as the map tells them.
    pub(super) fn new(views: &[SeatView], categories: &[Value], drawing: Option<&Drawing>) -> Self {
        let drawn: HashMap<&SeatId, &DrawnSeat> = drawing
            .iter()
            .flat_map(|drawing| &drawing.seats)
            .map(|seat| (&seat.id, seat))
            .collect();
        let category_of: HashMap<&str, usize> = (0..)
            .zip(categories)
            .filter_map(|(index, category)| Some((category["name"].as_str()?, index)))
            .collect();
        let mut rows: Vec<Row<'_>> = Vec::new();
        for view in views {
            let seat = drawn.get(&view.seat).copied();
            let place = seat.map(|seat| (&*seat.section, &*seat.row));
            let category = category_of.get(view.category.as_ref()).copied().unwrap_or(0);
            match rows.last_mut() {
                Some(row) if row.place == place => row.seats.push((view, seat, category)),
                Some(_) | None => rows.push(Row { place, seats: vec![(view, seat, category)] }),
            }
        }
        let mut plan = Map::new();
        if let Some(drawing) = drawing {
            plan.insert("name".into(), json!(drawing.name));
            plan.insert("size".into(), json!(drawing.size));
            if !drawing.areas.is_empty() {
                plan.insert("areas".into(), json!(drawing.areas));
            }
        }
        plan.insert("seats".into(), json!(views.len()));
        plan.insert("categories".into(), json!(categories));
        plan.insert("rows".into(), rows.iter().map(Row::told).collect());
        let version = version(&Value::Object(plan.clone()).to_string());
        plan.insert("version".into(), json!(version));
        let plain = Bytes::from(Value::Object(plan).to_string());
        Self { plain, packed: OnceLock::new(), version }
    }

    /// The drawing as JSON.
    #[must_use]
    pub fn plain(&self) -> Bytes {
        self.plain.clone()
    }

    /// The same, compressed; nothing if nobody has done so yet.
    #[must_use]
    pub fn packed(&self) -> Option<Bytes> {
        self.packed.get().cloned()
    }

    /// Compresses it, which takes a while for a large house, unless somebody has.
    #[must_use]
    pub fn pack(&self) -> Bytes {
        self.packed.get_or_init(|| pack_well(&self.plain)).clone()
    }

    /// What it is told apart by.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its ETag.
    #[must_use]
    pub fn tag(&self) -> String {
        format!("\"{}\"", self.version)
    }
}

/// Seats that follow each other in one row of the drawing, or without one.
struct Row<'a> {
    place: Option<(&'a str, &'a str)>,
    seats: Vec<(&'a SeatView, Option<&'a DrawnSeat>, usize)>,
}

impl Row<'_> {
    fn told(&self) -> Value {
        let mut row = Map::new();
        if let Some((section, name)) = self.place {
            row.insert("section".into(), json!(section));
            row.insert("row".into(), json!(name));
        }
        let ids: Vec<&str> = self.seats.iter().map(|(view, ..)| view.seat.as_str()).collect();
        let prefix = common_start(&ids);
        row.insert("prefix".into(), json!(&ids[0][..prefix]));
        row.insert("ids".into(), ids.iter().map(|id| &id[prefix..]).collect());
        let numbers: Option<Vec<&str>> =
            self.seats.iter().map(|(_, seat, _)| seat.map(|seat| &*seat.number)).collect();
        if let Some(numbers) = numbers
            && numbers.iter().zip(&ids).any(|(number, id)| **number != id[prefix..])
        {
            row.insert("numbers".into(), json!(numbers));
        }
        let categories: Vec<usize> = self.seats.iter().map(|(.., category)| *category).collect();
        let is_one = categories.iter().all(|category| *category == categories[0]);
        row.insert(
            "category".into(),
            if is_one { json!(categories[0]) } else { json!(categories) },
        );
        for (name, of) in [("x", (|seat| seat.x) as fn(&DrawnSeat) -> f64), ("y", |seat| seat.y)] {
            let places: Option<Vec<f64>> =
                self.seats.iter().map(|(_, seat, _)| seat.map(of)).collect();
            if let Some(places) = places {
                row.insert(name.into(), json!(differences(&places)));
            }
        }
        let traits: Map<String, Value> = (0_usize..)
            .zip(&self.seats)
            .filter_map(|(index, (_, seat, _))| Some((index, &seat.as_ref()?.traits)))
            .filter(|(_, traits)| **traits != SeatTraits::default())
            .map(|(index, traits)| (index.to_string(), json!(traits)))
            .collect();
        if !traits.is_empty() {
            row.insert("traits".into(), Value::Object(traits));
        }
        Value::Object(row)
    }
}

/// How many bytes all of these begin with alike; ids are ASCII.
fn common_start(ids: &[&str]) -> usize {
    let alike = |one: &str, other: &str| {
        one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
    };
    ids.iter().map(|id| alike(ids[0], id)).min().unwrap_or(0)
}

/// Hundredths, each as the difference to the one before.
fn differences(places: &[f64]) -> Vec<i64> {
    let mut before = 0;
    let hundredths = places.iter().map(|place| (place * 100.0).round() as i64);
    hundredths.map(|place| place - std::mem::replace(&mut before, place)).collect()
}

fn version(text: &str) -> Box<str> {
    let mut version = String::new();
    for byte in &Sha256::digest(text.as_bytes())[..12] {
        write!(version, "{byte:02x}").expect("a text takes everything");
    }
    version.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::Plan as Imported;
    use std::collections::BTreeMap;

    fn views(ids: &[&str]) -> Vec<SeatView> {
        let view = |id: &&str| SeatView {
            seat: id.parse().unwrap(),
            category: "Stalls".into(),
            status: onrush_core::view::SeatStatus::Free,
            booking: None,
            why: None,
            channel: None,
        };
        ids.iter().map(view).collect()
    }

    fn drawing() -> Drawing {
        let seat = |id: &str, number: &str, x: f64| {
            json!({"seat_guid": id, "seat_number": number, "position": {"x": x, "y": 0},
                "category": "Stalls", "wheelchair": id == "L-A-1"})
        };
        let plan = json!({
            "name": "Hall", "size": {"width": 100, "height": 50},
            "categories": [{"name": "Stalls", "color": "#a33"}],
            "zones": [{"name": "Left", "position": {"x": 10, "y": 1.25},
                "areas": [{"shape": "circle", "circle": {"radius": 3}}],
                "rows": [{"row_number": "A", "seats":
                    [seat("L-A-1", "1", 0.0), seat("L-A-2", "2", 1.5)]},
                    {"row_number": "B", "seats": [seat("L-B-1", "11", 0.0)]}]}]
        });
        let plan: Imported = serde_json::from_value(plan).unwrap();
        plan.import(&BTreeMap::from([("Stalls".to_owned(), 900)])).unwrap().drawing
    }

    #[test]
    fn rows_tell_their_seats_in_lists() {
        let categories = [json!({"name": "Stalls", "price_minor": 900, "color": "#a33"})];
        let (views, drawing) = (views(&["L-A-1", "L-A-2", "L-B-1", "new"]), drawing());
        let plan = Plan::new(&views, &categories, Some(&drawing));
        let told: Value = serde_json::from_slice(&plan.plain()).unwrap();
        let expected = json!({"name": "Hall", "size": {"width": 100.0, "height": 50.0}, "seats": 4,
            "version": plan.version(), "categories": categories,
            "areas": [{"x": 10.0, "y": 1.25, "outline": {"ellipse": [3.0, 3.0]}}],
            "rows": [
                {"section": "Left", "row": "A", "prefix": "L-A-", "ids": ["1", "2"], "category": 0,
                    "x": [1000, 150], "y": [125, 0], "traits": {"0": {"wheelchair": true}}},
                {"section": "Left", "row": "B", "prefix": "L-B-1", "ids": [""], "numbers": ["11"],
                    "category": 0, "x": [1000], "y": [125]},
                {"prefix": "new", "ids": [""], "category": 0}]});
        assert_eq!(told, expected);
        assert_eq!(Plan::new(&views, &categories, Some(&drawing)).tag(), plan.tag());
        assert_ne!(Plan::new(&views[..2], &categories, Some(&drawing)).tag(), plan.tag());
    }
}
