//! Seating plans, as organisers upload them: an imported one, drawn anew, is the same import.

use super::{assert_problem, extracted};
use crate::verdict::{Verdict, assert_sentence};
use onrush_api::http::body::JsonBody;
use onrush_api::json::whole::Whole;
use onrush_api::plans::{Drawing, DrawnSeat, Import, Plan};
use onrush_core::spec::SeatSpec;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

/// How far out one position of a plan may be.
const FAR: f64 = 1_000_000.0;

/// The body that a plan comes in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    plan: Plan,
    prices: BTreeMap<String, Whole<i64>>,
}

/// How many seats each row of the body has: an import names rows, and two can have one name.
#[derive(Deserialize)]
struct Lengths {
    plan: LengthsOfPlan,
}

#[derive(Deserialize)]
struct LengthsOfPlan {
    #[serde(default)]
    zones: Vec<LengthsOfZone>,
}

#[derive(Deserialize)]
struct LengthsOfZone {
    #[serde(default)]
    rows: Vec<LengthOfRow>,
}

#[derive(Deserialize)]
struct LengthOfRow {
    #[serde(default)]
    seats: Vec<IgnoredAny>,
}

/// Reads the body and imports its plan.
///
/// # Panics
/// If the import contradicts itself, or comes out otherwise when it is drawn anew.
pub fn target(bytes: &[u8]) -> Verdict {
    let JsonBody(Body { plan, prices }) = match extracted::<JsonBody<Body>>(bytes) {
        Ok(body) => body,
        Err(problem) => {
            assert_problem(&problem, bytes);
            return Verdict::Refused;
        }
    };
    let prices: BTreeMap<String, i64> =
        prices.into_iter().map(|(name, price)| (name, price.0)).collect();
    let imported = plan.import(&prices);
    match &imported {
        Ok(import) => {
            let lengths: Lengths = serde_json::from_slice(bytes).expect("a plan was read");
            let rows = lengths.plan.zones.into_iter().flat_map(|zone| zone.rows);
            let lengths: Vec<usize> =
                rows.map(|row| row.seats.len()).filter(|length| *length > 0).collect();
            check(import, &lengths, &prices);
        }
        Err(why) => assert_sentence(why),
    }
    Verdict::on(&imported)
}

fn check(import: &Import, lengths: &[usize], prices: &BTreeMap<String, i64>) {
    let ids: BTreeSet<_> = import.seats.iter().map(|seat| &seat.seat).collect();
    assert_eq!(ids.len(), import.seats.len(), "a seat is in it twice");
    assert_eq!(import.seats.len(), import.drawing.seats.len());
    assert_eq!(import.seats.len(), lengths.iter().sum::<usize>());
    let names: BTreeSet<_> = import.categories.iter().map(|category| &*category.name).collect();
    assert_eq!(names.len(), import.categories.len(), "a category is in it twice");
    for category in &import.categories {
        assert_eq!(prices.get(&*category.name), Some(&category.price_minor));
    }
    for (seat, drawn) in import.seats.iter().zip(&import.drawing.seats) {
        assert_eq!(seat.seat, drawn.id);
        assert!(names.contains(&*seat.category), "a seat has no price");
        assert!(drawn.x.abs() <= 3.0 * FAR && drawn.y.abs() <= 3.0 * FAR, "drawn too far out");
    }
    let again = serde_json::to_vec(&json!({"plan": plan(import, lengths), "prices": prices}));
    let again = again.expect("a plan can be written");
    let again = serde_json::from_slice::<Body>(&again).expect("a plan that was written is read");
    let again = again.plan.import(prices).expect("a plan that was imported is imported again");
    assert_eq!(alike(&again), alike(import));
    assert_eq!(again.categories, import.categories);
    let mut seats_alone = import.drawing.clone();
    seats_alone.areas.clear();
    assert!(is_about(&again.drawing, &seats_alone), "it is drawn otherwise");
    let kept = serde_json::to_vec(&import.drawing).expect("a drawing can be written");
    let mut kept: Drawing = serde_json::from_slice(&kept).expect("a drawing that was kept is read");
    assert_eq!(kept.areas.len(), import.drawing.areas.len());
    kept.areas.clear();
    assert!(is_about(&kept, &seats_alone), "it is kept otherwise");
}

/// The seats as they are imported again: with their aisles where whole numbers were added up, as
/// the last digit of others may tip a distance that is just about an aisle.
fn alike(import: &Import) -> Vec<SeatSpec> {
    let is_whole = |seat: &DrawnSeat| seat.x.fract() == 0.0 && seat.y.fract() == 0.0;
    let is_exact = import.drawing.seats.iter().all(is_whole);
    let alike = |seat: &SeatSpec| SeatSpec { aisle: seat.aisle && is_exact, ..seat.clone() };
    import.seats.iter().map(alike).collect()
}

/// The plan that an import of rows of such lengths could be of: each row in a zone of its own.
fn plan(import: &Import, lengths: &[usize]) -> Value {
    let mut seats: Vec<(&SeatSpec, &DrawnSeat)> =
        import.seats.iter().zip(&import.drawing.seats).collect();
    let mut zones = Vec::new();
    for length in lengths {
        let rest = seats.split_off(*length);
        let row = mem::replace(&mut seats, rest);
        let middle = |of: fn(&DrawnSeat) -> f64| {
            let places = || row.iter().map(|(_, seat)| of(seat));
            (places().fold(f64::MAX, f64::min) + places().fold(f64::MIN, f64::max)) / 2.0
        };
        let ((x1, x2), (y1, y2)) = (halves(middle(|seat| seat.x)), halves(middle(|seat| seat.y)));
        let first = row[0].1;
        let seats = row.iter().map(|(seat, drawn)| {
            let at = json!({"x": near(drawn.x - x1 - x2), "y": near(drawn.y - y1 - y2)});
            json!({
                "seat_guid": drawn.id,
                "seat_number": drawn.number,
                "position": at,
                "category": drawn.category,
                "rank": seat.rank,
                "wheelchair": drawn.traits.wheelchair,
                "companion_of": drawn.traits.companion_of,
                "easy_access": drawn.traits.easy_access,
                "restricted_view": drawn.traits.restricted_view,
            })
        });
        zones.push(json!({
            "name": first.section,
            "position": {"x": x1, "y": y1},
            "rows": [{
                "row_number": first.row,
                "position": {"x": x2, "y": y2},
                "seats": seats.collect::<Vec<_>>(),
            }],
        }));
    }
    json!({
        "name": import.drawing.name,
        "size": import.drawing.size,
        "categories": import.drawing.categories,
        "zones": zones,
    })
}

fn near(number: f64) -> f64 {
    number.clamp(-FAR, FAR)
}

/// Two positions, neither of them too far out, that add up to about this one: what is left to each
/// seat of a row is not too far out either, if this is the middle of the row.
fn halves(middle: f64) -> (f64, f64) {
    (near(middle), near(middle - near(middle)))
}

/// Whether two drawings are the same, apart from the last digits of positions: JSON's numbers are
/// read to the nearest double but one.
fn is_about(one: &Drawing, other: &Drawing) -> bool {
    let near = |one: f64, other: f64| (one - other).abs() <= 1e-6;
    let mut moved = one.clone();
    for (seat, there) in moved.seats.iter_mut().zip(&other.seats) {
        if near(seat.x, there.x) && near(seat.y, there.y) {
            (seat.x, seat.y) = (there.x, there.y);
        }
    }
    if near(one.size.width, other.size.width) && near(one.size.height, other.size.height) {
        moved.size = other.size;
    }
    moved == *other
}
