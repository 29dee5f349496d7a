//! Ticket types that the organiser sets up, and that buyers name.

use crate::chance::Chance;
use crate::floor::Floor;
use crate::organiser::reason;
use crate::plan::id;
use onrush_core::Command;
use onrush_core::ids::{PoolId, TypeId};
use onrush_core::limits::{MAX_PRICE_MINOR, MAX_TYPE_BP};
use onrush_core::lines::Lines;
use onrush_core::prices::Priced;
use onrush_core::types::{AskedTypes, TicketType, TypeCounts, TypePrice};
use std::collections::BTreeMap;

/// Types, as far as names go.
const NAMES: [&str; 4] = ["adult", "child", "group", "senior"];

/// Sets up a list of types for this, now and then one that cannot be.
pub(crate) fn set(chance: &mut Chance, of: Priced) -> Command {
    let types = if chance.percent(8) { wrong(chance) } else { list(chance) };
    Command::SetTypes { of, types, reason: reason(chance) }
}

/// Changes the types of something that is on sale, or that is not.
pub(crate) fn change(chance: &mut Chance, floor: &Floor, categories: &[Priced]) -> Command {
    let pools = floor.pools.iter().cloned().map(Priced::Pool);
    let missing = [Priced::Pool(id("no")), Priced::Category("no such".into())];
    let all: Vec<_> = pools.chain(categories.iter().cloned()).collect();
    let of = if chance.percent(5) { chance.pick(&missing) } else { chance.pick(&all) }.clone();
    let known = floor.types.get(&of).cloned();
    let types = match chance.below(10) {
        0 => known.unwrap_or_default(),
        1 => Vec::new(),
        _ => return set(chance, of),
    };
    Command::SetTypes { of, types, reason: reason(chance) }
}

fn list(chance: &mut Chance) -> Vec<TicketType> {
    let count = *chance.pick(&[1, 2, 2, 3, 4]);
    let from = chance.below(2) as usize;
    let names = NAMES.iter().cycle().skip(from).take(count).enumerate();
    let one = |(nth, name): (usize, &&str)| {
        // Of the first are all who name none: they shall seldom be too many.
        let is_bounded = chance.percent(if nth == 0 { 12 } else { 50 });
        let bounds = [(2, None), (0, Some(1)), (1, Some(2)), (2, Some(3)), (3, Some(5))];
        let (min, max) = if is_bounded { *chance.pick(&bounds) } else { (0, None) };
        TicketType {
            id: id(name),
            name: (*name).into(),
            price: price(chance),
            min,
            max,
            proof: chance.percent(40),
        }
    };
    names.map(one).collect()
}

fn price(chance: &mut Chance) -> TypePrice {
    match chance.below(4) {
        0 => TypePrice::PriceMinor(*chance.pick(&[0, 700, 12_345])),
        1 => TypePrice::LessMinor(*chance.pick(&[0, 200, 5_000])),
        _ => TypePrice::PercentBp(*chance.pick(&[MAX_TYPE_BP, MAX_TYPE_BP, 5_000, 3_333, 0])),
    }
}

/// A list that has something wrong.
fn wrong(chance: &mut Chance) -> Vec<TicketType> {
    let mut types = list(chance);
    let it = &mut types[0];
    match chance.below(8) {
        0 => it.name = "".into(),
        1 => it.name = "Adult\u{202e}".into(),
        2 => it.price = TypePrice::PriceMinor(MAX_PRICE_MINOR + 1),
        3 => it.price = TypePrice::LessMinor(-1),
        4 => it.price = TypePrice::PercentBp(MAX_TYPE_BP + 1),
        5 => (it.min, it.max) = (3, Some(2)),
        6 => it.max = Some(*chance.pick(&[0, 1_001])),
        _ => {
            let again = it.clone();
            types.push(again);
        }
    }
    types
}

/// The types that somebody names for what they want: none, some, and now and then what cannot be.
pub(crate) fn named(
    chance: &mut Chance,
    floor: &Floor,
    lines: Option<&Lines>,
    best: u32,
) -> AskedTypes {
    if floor.types.is_empty() || chance.percent(30) {
        return AskedTypes::default();
    }
    let mut pools: BTreeMap<PoolId, TypeCounts> = BTreeMap::new();
    for line in lines.map_or(&[][..], Lines::pools) {
        let of = Priced::Pool(line.pool.clone());
        pools.insert(line.pool.clone(), some(chance, floor.types.get(&of), line.quantity));
    }
    let mut seats = BTreeMap::new();
    for seat in lines.map_or(&[][..], Lines::seats) {
        let known = floor.category_of.get(seat).and_then(|of| floor.types.get(of));
        let one = some(chance, known, 1);
        seats.extend(one.into_keys().map(|name| (seat.clone(), name)));
    }
    let categories = floor.types.iter().filter(|(of, _)| matches!(of, Priced::Category(_)));
    let categories: Vec<_> = categories.map(|(_, types)| types).collect();
    let of_best = chance.any_of(&categories).copied();
    let mut best = some(chance, of_best, best);
    match chance.below(40) {
        0 => best = one_of(chance),
        1 => drop(pools.insert(id("ga"), one_of(chance))),
        2 => drop(seats.insert(id("A-1"), id("nobody"))),
        3 => {
            let counts = pools.values_mut().chain([&mut best]);
            counts.for_each(|counts| counts.extend(one_of(chance)));
        }
        _ => {}
    }
    AskedTypes::new(pools, seats, best).unwrap_or_default()
}

/// One unit of a type that there may be.
fn one_of(chance: &mut Chance) -> TypeCounts {
    let name = chance.pick(&["adult", "child", "nobody"]);
    [(id(name), 1)].into()
}

/// At most so many units of some of these types.
fn some(chance: &mut Chance, types: Option<&Vec<TicketType>>, quantity: u32) -> TypeCounts {
    let (mut counts, mut left) = (TypeCounts::new(), quantity);
    for it in types.into_iter().flatten() {
        if left > 0 && chance.percent(55) {
            let count = if chance.percent(40) { left } else { 1 + chance.below(left) };
            counts.insert(TypeId::clone(&it.id), count);
            left -= count;
        }
    }
    counts
}
