//! Ticket types of a whole server's sale: which there are, who names them, and what they are told.

use super::world::World;
use crate::chance::Chance;
use onrush_core::lines::Lines;
use serde_json::{Value, json};

/// Of what there may be types, as the organiser names it.
pub(super) fn all_of(world: &World) -> Vec<Value> {
    let mut all = vec![json!({ "pool": world.pool.as_str() })];
    if world.seats > 0 {
        all.push(json!({ "category": "stalls" }));
    }
    all
}

/// Types that are to be set: adults first, and mostly children.
pub(super) fn list(chance: &mut Chance) -> Vec<Value> {
    let adult = match chance.below(4) {
        0 => json!({ "id": "adult", "less_minor": 100 }),
        _ => json!({ "id": "adult", "percent_bp": 10_000 }),
    };
    let child = match chance.below(6) {
        0 => return vec![adult],
        1 => json!({ "id": "child", "price_minor": 700, "proof": true }),
        2 => json!({ "id": "child", "less_minor": 300, "max": 2 }),
        3 => json!({ "id": "child", "percent_bp": 3_333, "min": 2 }),
        _ => json!({ "id": "child", "percent_bp": 5_000, "proof": true }),
    };
    vec![adult, child]
}

/// The same, as it is asked for under this word: with names that no list has had.
pub(super) fn body(of: &Value, types: &[Value], word: &str) -> Value {
    let mut body = of.clone();
    let mut types = types.to_vec();
    types.iter_mut().for_each(|it| it["name"] = format!("Ticket, {word}").into());
    body["types"] = types.into();
    body["by"] = "Ann".into();
    body["why"] = word.into();
    body
}

/// The types that a buyer names for what they want: none, children, or what there never is.
pub(super) fn named(chance: &mut Chance, lines: &Lines) -> Option<Value> {
    if chance.percent(40) {
        return None;
    }
    let name = if chance.percent(4) { "nobody" } else { "child" };
    if let Some(line) = lines.pools().first() {
        let count = 1 + chance.below(line.quantity);
        return Some(json!({ "pools": { (line.pool.as_str()): { (name): count } } }));
    }
    let seat = chance.pick(lines.seats());
    Some(json!({ "seats": { (seat.as_str()): name } }))
}

/// What is wrong with an answer to a hold for which these types were named.
pub(super) fn complaint(named: &Value, held: &Value) -> Option<String> {
    let none = Vec::new();
    let types = held["types"].as_array().unwrap_or(&none);
    let has = |name: &str| types.iter().find(|it| it["type"]["id"] == name);
    let pools = named["pools"].as_object().into_iter().flatten();
    let counts = pools.flat_map(|(pool, counts)| {
        let counts = counts.as_object().into_iter().flatten();
        counts.map(move |(name, count)| has(name).is_some_and(|it| it["pools"][pool] == *count))
    });
    let seats = named["seats"].as_object().into_iter().flatten().map(|(seat, name)| {
        let its = has(name.as_str().unwrap_or_default()).and_then(|it| it["seats"].as_array());
        its.is_some_and(|its| its.contains(&seat.as_str().into()))
    });
    let is_so = counts.chain(seats).all(|is_so| is_so);
    (!is_so).then(|| format!("a hold with the types {named} was answered {held}"))
}
