//! Seating plans, as organisers upload them: an imported one, drawn anew, is the same import.

use super::{assert_problem, extracted};
use crate::verdict::{Verdict, assert_sentence};
use onrush_api::http::body::JsonBody;
use onrush_api::json::whole::Whole;
use onrush_api::plans::{Drawing, Import, Plan};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How far out one position of a plan may be.
const FAR: f64 = 1_000_000.0;

/// The body that a plan comes in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    plan: Plan,
    prices: BTreeMap<String, Whole<i64>>,
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
        Ok(import) => check(import, &prices),
        Err(why) => assert_sentence(why),
    }
    Verdict::on(&imported)
}

fn check(import: &Import, prices: &BTreeMap<String, i64>) {
    let ids: BTreeSet<_> = import.seats.iter().map(|seat| &seat.seat).collect();
    assert_eq!(ids.len(), import.seats.len(), "a seat is in it twice");
    assert_eq!(import.seats.len(), import.drawing.seats.len());
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
    let again = serde_json::to_vec(&json!({"plan": plan(import), "prices": prices}));
    let again = again.expect("a plan can be written");
    let again = serde_json::from_slice::<Body>(&again).expect("a plan that was written is read");
    let again = again.plan.import(prices).expect("a plan that was imported is imported again");
    assert_eq!(again.seats, import.seats);
    assert_eq!(again.categories, import.categories);
    assert!(is_about(&again.drawing, &import.drawing), "it is drawn otherwise");
    let kept = serde_json::to_vec(&import.drawing).expect("a drawing can be written");
    let kept = serde_json::from_slice(&kept).expect("a drawing that was kept is read");
    assert!(is_about(&kept, &import.drawing), "it is kept otherwise");
}

/// The plan that an import could be of: each seat in a zone and a row of its own.
fn plan(import: &Import) -> Value {
    let zones = import.drawing.seats.iter().map(|seat| {
        let [(x1, y1), (x2, y2), (x3, y3)] = parts(seat.x, seat.y);
        json!({
            "name": seat.section,
            "position": {"x": x1, "y": y1},
            "rows": [{
                "row_number": seat.row,
                "position": {"x": x2, "y": y2},
                "seats": [{
                    "seat_guid": seat.id,
                    "seat_number": seat.number,
                    "position": {"x": x3, "y": y3},
                    "category": seat.category,
                }],
            }],
        })
    });
    json!({
        "name": import.drawing.name,
        "size": import.drawing.size,
        "categories": import.drawing.categories,
        "zones": zones.collect::<Vec<_>>(),
    })
}

/// Three positions that add up to one, none of which is too far out.
fn parts(x: f64, y: f64) -> [(f64, f64); 3] {
    let near = |number: f64| number.clamp(-FAR, FAR);
    let (x2, y2) = (near(x - near(x)), near(y - near(y)));
    [(near(x), near(y)), (x2, y2), (x - near(x) - x2, y - near(y) - y2)]
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
