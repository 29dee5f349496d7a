//! JSON bodies of requests: what visitors want to hold, what organisers take off sale and set.

use super::{assert_problem, extracted};
use crate::verdict::Verdict;
use onrush_api::http::body::{JsonBody, JsonBytes, OptionalBytes};
use onrush_api::http::events::shapes::settings::SettingsChange;
use onrush_api::http::problem::Problem;
use onrush_api::http::shapes::lines::{UnitsAndReason, WishBody};
use onrush_core::limits::{MAX_LINES_PER_HOLD, MAX_UNITS_PER_HOLD};
use onrush_core::lines::Lines;
use serde_json::Value;

/// How a member begins whose text `serde_json::Value` reads as JSON, if it is an object's first.
const LIBRARY_OWN: &[u8] = b"$serde_json::private";

/// Reads the body as each of these.
///
/// # Panics
/// If lines do not come back as they were written, a problem says nothing, or two ways to write one
/// body are taken for two bodies.
pub fn target(bytes: &[u8]) -> Verdict {
    let wish = lines(bytes, |body| body.parse::<WishBody<'_>>()?.lines());
    let units = lines(bytes, |body| body.parse::<UnitsAndReason<'_>>()?.split().map(|it| it.0));
    let settings = extracted::<JsonBody<SettingsChange>>(bytes).map(|_| ());
    if let Err(problem) = &settings {
        assert_problem(problem, bytes);
    }
    check_canonical(bytes);
    wish.or(units).or(Verdict::on(&settings))
}

fn lines(bytes: &[u8], read: impl Fn(&JsonBytes) -> Result<Lines, Problem>) -> Verdict {
    let read = |bytes: &[u8]| read(&extracted::<JsonBytes>(bytes)?);
    let lines = read(bytes);
    match &lines {
        Ok(lines) => check(lines),
        Err(problem) => assert_problem(problem, bytes),
    }
    Verdict::on(&lines)
}

fn check(lines: &Lines) {
    assert!((1..=MAX_UNITS_PER_HOLD).contains(&lines.units()), "too many units, or none");
    assert!(lines.pools().len() + lines.seats().len() <= MAX_LINES_PER_HOLD, "too many lines");
    assert!(lines.pools().windows(2).all(|pair| pair[0].pool < pair[1].pool), "pools not in order");
    assert!(lines.seats().is_sorted_by(|a, b| a < b), "seats not in order");
    let text = serde_json::to_vec(lines).expect("lines can be written");
    let wish = extracted::<JsonBytes>(&text).expect("lines are a body");
    let wish = wish.parse::<WishBody<'_>>().expect("lines are a wish");
    assert_eq!(wish.lines().as_ref().ok(), Some(lines), "a visitor cannot wish for them again");
    let kept: Lines = serde_json::from_slice(&text).expect("lines that were kept are read");
    assert_eq!(kept, *lines, "the journal reads other lines");
}

/// A body is the same one however it is indented; fractions are left out, since the last digit of a
/// double may change when it is written anew, and so is what `serde_json::Value` reads otherwise
/// than it was written.
fn check_canonical(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    if has_fraction(&value) {
        return;
    }
    let canonical = |bytes: &[u8]| extracted::<OptionalBytes>(bytes).map(|body| body.canonical());
    let Ok(first) = canonical(bytes) else { return };
    assert_eq!(canonical(&first).as_ref().ok(), Some(&first), "a body's text is another body");
    if first.windows(LIBRARY_OWN.len()).any(|part| part == LIBRARY_OWN) {
        return;
    }
    let indented = serde_json::to_vec_pretty(&value).expect("JSON can be written");
    if let Ok(second) = canonical(&indented) {
        assert_eq!(first, second, "one body is taken for two");
    }
}

fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => false,
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fraction),
        Value::Object(members) => members.values().any(has_fraction),
    }
}
