//! Ticket types: set for what there is, and named by those who hold.

use super::Generator;
use crate::random::Random;
use crate::world::{GODS, pool, risky_text, text};
use onrush_core::Command;
use onrush_core::ids::TypeId;
use onrush_core::lines::Lines;
use onrush_core::prices::Priced;
use onrush_core::question::AvailabilityNow;
use onrush_core::snapshot::HoldRow;
use onrush_core::spec::Reason;
use onrush_core::types::{AskedTypes, TicketType, TypeCounts, TypePrice, TypeView};
use std::collections::BTreeMap;

/// Types that commands name; the last one is never set.
const TYPES: [&str; 4] = ["adult", "child", "Concession", "none"];

/// Mostly one of those that are known.
fn type_id(known: &[TypeId], random: &mut Random) -> TypeId {
    if !known.is_empty() && random.percent(97) {
        return random.pick(known).clone();
    }
    random.pick(&TYPES).parse().expect("an id")
}

fn ticket_type(id: &str, random: &mut Random) -> TicketType {
    let price = match random.below(6) {
        0 | 1 => TypePrice::PriceMinor(*random.pick(&[0, 333, 2_500])),
        2 | 3 => TypePrice::PercentBp(*random.pick(&[0, 3_333, 5_000, 10_000])),
        4 => TypePrice::LessMinor(*random.pick(&[0, 150, 1_000_000])),
        _ => {
            let wrong = [TypePrice::PriceMinor(-1), TypePrice::PercentBp(10_001)];
            let is_wrong = random.percent(8);
            if is_wrong { *random.pick(&wrong) } else { TypePrice::PercentBp(7_500) }
        }
    };
    let name =
        if random.percent(85) { "½ Preis, 6–12; a/b %".into() } else { risky_text(random) };
    TicketType {
        id: id.parse().expect("an id"),
        name,
        price,
        min: *random.pick(&[0, 0, 0, 0, 0, 1, 2]),
        max: *random.pick(&[None, None, None, None, Some(2), Some(4)]),
        proof: random.percent(40),
    }
}

impl Generator {
    /// Some events have types from the first.
    pub(super) fn set_up_types(&mut self) {
        if self.random.percent(40) {
            self.set_types_of(Priced::Pool(pool("ga")));
            self.set_types_of(Priced::Category("stalls".into()));
            self.set_types_of(Priced::Category(GODS.into()));
        }
    }

    /// Sets the types of something that there is or not.
    pub(super) fn set_types(&mut self) {
        let random = &mut self.random;
        let of = if random.percent(50) {
            let name: &&str = random.pick(&["ga", "ga", "vip", "vouchers", "nope"]);
            Priced::Pool(pool(name))
        } else {
            Priced::Category((*random.pick(&["stalls", "stalls", GODS, GODS, "nope"])).into())
        };
        self.set_types_of(of);
    }

    fn set_types_of(&mut self, of: Priced) {
        let random = &mut self.random;
        let first = random.below(2) as usize;
        let count = *random.pick(&[0, 1, 2, 3, 3, 3, 3]);
        let ids = TYPES[..3].iter().cycle().skip(first).take(count);
        let mut types: Vec<_> = ids.map(|id| ticket_type(id, random)).collect();
        if random.percent(2) {
            types.extend(types.first().cloned());
        }
        let reason = Reason { by: text(random), why: risky_text(random) };
        self.ask(Command::SetTypes { of, types, reason });
    }

    /// Mostly none where nothing has types; types of units that these lines have, and at times of more
    /// or of others.
    pub(super) fn some_types(&mut self, lines: Option<&Lines>, best: u32) -> AskedTypes {
        let now = self.truth.now();
        let Ok(left) = self.truth.event.ask(now, AvailabilityNow) else {
            return AskedTypes::default();
        };
        let ids = |types: &[TypeView]| types.iter().map(|it| it.ticket_type.id.clone()).collect();
        let of_seats: Vec<TypeId> = left.categories.iter().flat_map(|it| ids(&it.types)).collect();
        let random = &mut self.random;
        let mut pools = BTreeMap::new();
        for line in lines.map_or(&[][..], Lines::pools) {
            let known = left.pools.iter().find(|pool| pool.pool == line.pool);
            let known: Vec<_> = known.map(|pool| ids(&pool.types)).unwrap_or_default();
            if random.percent(if known.is_empty() { 1 } else { 60 }) {
                pools.insert(line.pool.clone(), counts(line.quantity, &known, random));
            }
        }
        let mut seats = BTreeMap::new();
        for seat in lines.map_or(&[][..], Lines::seats) {
            if random.percent(if of_seats.is_empty() { 1 } else { 50 }) {
                seats.insert(seat.clone(), type_id(&of_seats, random));
            }
        }
        let names_best = best > 0 && random.percent(if of_seats.is_empty() { 1 } else { 50 });
        let best = if names_best { counts(best, &of_seats, random) } else { [].into() };
        if random.percent(1) {
            pools.insert(pool("ga"), [(type_id(&[], random), 900)].into());
        }
        AskedTypes::new(pools, seats, best).unwrap_or_default()
    }

    /// The types that were named for this booking, or at times others.
    pub(super) fn types_again(
        &mut self,
        row: &HoldRow,
        lines: Option<&Lines>,
        best: u32,
    ) -> AskedTypes {
        if self.random.percent(20) {
            return self.some_types(lines, best);
        }
        row.terms.types.as_ref().map(|types| types.asked.clone()).unwrap_or_default()
    }
}

/// So many units, or some of them, of one type or of two.
fn counts(quantity: u32, known: &[TypeId], random: &mut Random) -> TypeCounts {
    let mut counts = TypeCounts::new();
    let mut left = quantity;
    for _ in 0..2 {
        let some = random.below(u64::from(left) + 1) as u32;
        if some > 0 {
            *counts.entry(type_id(known, random)).or_default() += some;
            left -= some;
        }
    }
    if random.percent(2) {
        *counts.entry(type_id(known, random)).or_default() += 1;
    }
    counts
}
