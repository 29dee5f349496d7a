//! Ticket types, unit by unit: each unit of an order is bought as something, and how many are of one
//! type is counted whenever that is asked.

use super::organiser::{is_name, is_price};
use super::settings::{check_reason, invalid, step};
use super::{Answer, Oracle};
use onrush_core::Refusal;
use onrush_core::best::BestOrder;
use onrush_core::change::SetupChange;
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{PoolId, SeatId, TypeId};
use onrush_core::lines::Lines;
use onrush_core::prices::Priced;
use onrush_core::spec::Reason;
use onrush_core::types::{
    AskedTypes, HeldType, HeldTypes, TicketType, TypeCounts, TypeList, TypePrice, TypeView,
};
use std::collections::BTreeMap;

/// A unit that has a type.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    /// The number of its line, from 0, pools' and then seats'.
    line: u32,
    of: Priced,
    bought: TicketType,
    price_minor: i64,
}

/// The most that a seat of an order for the best ones costs, by category; what is missing cannot be
/// had.
pub(super) type MostMinor = BTreeMap<Box<str>, i64>;

/// What is wrong with a list of types in itself.
fn is_wrong(types: &[TicketType]) -> bool {
    let wrong = |it: &TicketType| {
        let price = match it.price {
            TypePrice::PriceMinor(minor) | TypePrice::LessMinor(minor) => is_price(minor),
            TypePrice::PercentBp(bp) => bp < 10_001,
        };
        let most = it.max.unwrap_or(1_000);
        let alike = types.iter().filter(|other| other.id == it.id).count();
        let limits = most > 0 && most < 1_001 && it.min <= most;
        alike > 1 || it.name.is_empty() || !is_name(&it.name) || !price || !limits
    };
    types.len() > 20 || types.iter().any(wrong)
}

/// What is said of so many units of a type in one booking.
fn within(of: &Priced, it: &TicketType, asked: usize) -> Result<(), Refusal> {
    let asked = u32::try_from(asked).unwrap_or(u32::MAX);
    if asked >= it.min && asked <= it.max.unwrap_or(u32::MAX) {
        return Ok(());
    }
    let (ticket_type, of) = (it.id.clone(), of.clone());
    Err(Refusal::TypeLimit { ticket_type, of, min: it.min, max: it.max, asked })
}

fn count(units: &[Typed], of: &Priced, id: &TypeId) -> usize {
    units.iter().filter(|unit| unit.of == *of && unit.bought.id == *id).count()
}

/// What is said of these units, by the first type of which there are too few or too many.
pub(super) fn limits(units: &[Typed]) -> Result<(), Refusal> {
    for Typed { of, bought, .. } in units {
        within(of, bought, count(units, of, &bought.id))?;
    }
    Ok(())
}

/// Whether a wish names what this booking was held with.
pub(super) fn names_the_same(terms: &HoldTerms, asked: &AskedTypes) -> bool {
    match &terms.types {
        Some(types) => types.asked == *asked,
        None => *asked == AskedTypes::default(),
    }
}

/// What is said of types that are named for what is not asked for.
pub(super) fn names_what_is_there(
    asked: &AskedTypes,
    lines: Option<&Lines>,
    best: u32,
) -> Result<(), Refusal> {
    let wrong = |field: &str| {
        Err(Refusal::InvalidLines { field: Some(field.to_owned().into()), why: "".into() })
    };
    let units = |counts: &TypeCounts| counts.values().map(|n| *n as usize).sum::<usize>();
    for (pool, counts) in asked.pools() {
        let mut there = 0;
        for line in lines.into_iter().flat_map(Lines::pools).filter(|line| line.pool == *pool) {
            there += line.quantity as usize;
        }
        if units(counts) > there {
            return wrong("types.pools");
        }
    }
    for seat in asked.seats().keys() {
        if !lines.is_some_and(|lines| lines.seats().contains(seat)) {
            return wrong("types.seats");
        }
    }
    if units(asked.best()) > best as usize { wrong("types.best") } else { Ok(()) }
}

/// What a booking keeps of the types of its units.
pub(super) fn kept(units: &[Typed], asked: &AskedTypes) -> Option<Box<HeldTypes>> {
    let mut held: Vec<(&Priced, HeldType)> = Vec::new();
    for unit in units {
        let same = |(of, it): &&mut (&Priced, HeldType)| **of == unit.of && it.id == unit.bought.id;
        match held.iter_mut().find(same) {
            Some((_, it)) => match it.units.last_mut() {
                Some((line, quantity)) if *line == unit.line => *quantity += 1,
                Some(_) | None => it.units.push((unit.line, 1)),
            },
            None => {
                let TicketType { id, name, proof, .. } = unit.bought.clone();
                let (price_minor, units) = (unit.price_minor, vec![(unit.line, 1)]);
                held.push((&unit.of, HeldType { id, name, proof, price_minor, units }));
            }
        }
    }
    let held: Vec<_> = held.into_iter().map(|(_, it)| it).collect();
    if held.is_empty() {
        return None;
    }
    Some(Box::new(HeldTypes { asked: asked.clone(), held }))
}

impl Oracle {
    fn types_of(&self, of: &Priced) -> &[TicketType] {
        let known = self.types.iter().find(|list| list.of == *of);
        known.map_or(&[], |list| list.types.as_slice())
    }

    /// What a unit of a type costs where one without costs `base_minor`.
    fn price_by(&self, price: TypePrice, base_minor: i64) -> i64 {
        match price {
            TypePrice::PriceMinor(minor) => minor,
            TypePrice::LessMinor(less) if less > base_minor => 0,
            TypePrice::LessMinor(less) => base_minor - less,
            TypePrice::PercentBp(bp) => {
                // In whole steps; half a step counts as one.
                let step = i128::from(step(self.settings()));
                let exact = i128::from(base_minor) * i128::from(bp);
                let (steps, rest) = (exact / (10_000 * step), exact % (10_000 * step));
                let steps = steps + i128::from(2 * rest >= 10_000 * step);
                i64::try_from(steps * step).unwrap_or(i64::MAX)
            }
        }
    }

    /// The price of one unit for whoever names no type.
    pub(super) fn price_unnamed(&self, of: &Priced) -> i64 {
        let base_minor = self.price_of(of);
        let first = self.types_of(of).first();
        first.map_or(base_minor, |first| self.price_by(first.price, base_minor))
    }

    /// The types of a pool or category, with what they cost at a price.
    pub(super) fn type_views(&self, of: &Priced, base_minor: i64) -> Vec<TypeView> {
        let types = self.types_of(of).iter();
        let view = |it: &TicketType| {
            let price_minor = self.price_by(it.price, base_minor);
            TypeView { ticket_type: it.clone(), price_minor }
        };
        types.map(view).collect()
    }

    pub(super) fn set_types(
        &mut self,
        of: &Priced,
        types: &[TicketType],
        reason: &Reason,
    ) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        if is_wrong(types) {
            return Err(invalid(Some("types")));
        }
        match of {
            Priced::Category(name) => {
                if !self.categories.iter().any(|category| category.name == *name) {
                    return Err(Refusal::CategoryNotFound { category: name.clone() });
                }
            }
            Priced::Pool(pool) => {
                if self.pool(pool).is_none() {
                    return Err(Refusal::ZoneNotFound { pool: pool.clone() });
                }
            }
        }
        if *self.types_of(of) == *types {
            return Self::done();
        }
        self.types.retain(|list| list.of != *of);
        if !types.is_empty() {
            self.types.push(TypeList { of: of.clone(), types: types.to_vec() });
        }
        let (of, types, reason) = (of.clone(), types.to_vec(), reason.clone());
        self.change(SetupChange::TypesSet { of, types, reason });
        Self::done()
    }

    /// What each of so many units is bought as, in the order of the list.
    pub(super) fn each_type(
        &self,
        of: &Priced,
        named: Option<&TypeCounts>,
        quantity: u32,
    ) -> Result<Vec<&TicketType>, Refusal> {
        let known = self.types_of(of);
        let mut names: Vec<&TypeId> = Vec::new();
        for (id, count) in named.into_iter().flatten() {
            if known.iter().all(|it| it.id != *id) {
                return Err(Refusal::TypeNotFound { ticket_type: id.clone(), of: of.clone() });
            }
            names.extend((0..*count).map(|_| id));
        }
        if let Some(first) = known.first() {
            names.resize(quantity as usize, &first.id);
        }
        let mut each = Vec::new();
        for it in known {
            each.extend(names.iter().filter(|name| ***name == it.id).map(|_| it));
        }
        Ok(each)
    }

    /// All units of these lines that have a type, line by line.
    pub(super) fn typed(
        &self,
        lines: &Lines,
        pools: &BTreeMap<PoolId, TypeCounts>,
        seats: &BTreeMap<SeatId, TypeId>,
    ) -> Result<Vec<Typed>, Refusal> {
        let mut units = Vec::new();
        let mut line = 0;
        for wanted in lines.pools() {
            let of = Priced::Pool(wanted.pool.clone());
            for it in self.each_type(&of, pools.get(&wanted.pool), wanted.quantity)? {
                units.push(self.bought_as(line, &of, it));
            }
            line += 1;
        }
        for wanted in lines.seats() {
            let seat = self.seat(wanted).expect("it was looked for before");
            let of = Priced::Category(seat.spec.category.clone());
            let named = seats.get(wanted).map(|id| TypeCounts::from([(id.clone(), 1)]));
            for it in self.each_type(&of, named.as_ref(), 1)? {
                units.push(self.bought_as(line, &of, it));
            }
            line += 1;
        }
        Ok(units)
    }

    fn bought_as(&self, line: u32, of: &Priced, it: &TicketType) -> Typed {
        let price_minor = self.price_by(it.price, self.price_of(of));
        Typed { line, of: of.clone(), bought: it.clone(), price_minor }
    }

    /// What the best seats of an order may cost in each category, with so much beside them.
    pub(super) fn most_minor(
        &self,
        order: &BestOrder,
        asked: &AskedTypes,
        beside: &[Typed],
    ) -> Result<MostMinor, Refusal> {
        let mut most_minor = MostMinor::new();
        let (mut first_no, mut some) = (None, false);
        for category in &self.categories {
            let wished = order.best().categories();
            let may_be = wished.is_empty() || wished.contains(&category.name);
            match self.dearest(&category.name, order, asked, beside) {
                Ok(minor) => {
                    most_minor.insert(category.name.clone(), minor);
                    some = some || may_be;
                }
                Err(no) if may_be && first_no.is_none() => first_no = Some(no),
                Err(_) => {}
            }
        }
        match first_no {
            Some(no) if !some => Err(no),
            Some(_) | None => Ok(most_minor),
        }
    }

    /// The dearest seat of a category, if all that an order leaves to the rules were of it.
    fn dearest(
        &self,
        category: &str,
        order: &BestOrder,
        asked: &AskedTypes,
        beside: &[Typed],
    ) -> Result<i64, Refusal> {
        let of = Priced::Category(category.into());
        let each = self.each_type(&of, Some(asked.best()), order.best().quantity())?;
        for it in &each {
            let here = each.iter().filter(|other| other.id == it.id).count();
            within(&of, it, here + count(beside, &of, &it.id))?;
        }
        let base_minor = self.price_of(&of);
        let dearest = each.iter().map(|it| self.price_by(it.price, base_minor)).max();
        Ok(dearest.unwrap_or(base_minor))
    }

    /// The units of an order whose seats were chosen, and what is said of too few or too many.
    pub(super) fn typed_with(
        &self,
        lines: &Lines,
        chosen: &[SeatId],
        asked: &AskedTypes,
    ) -> Result<Vec<Typed>, Refusal> {
        // From the last seat on backwards, and from the last named type on.
        let mut seats = asked.seats().clone();
        let mut last: Vec<&SeatId> = chosen.iter().collect();
        last.sort();
        for (id, count) in asked.best().iter().rev() {
            for _ in 0..*count {
                let seat = last.pop().expect("no more types are named than seats are chosen");
                seats.insert(seat.clone(), id.clone());
            }
        }
        let units = self.typed(lines, asked.pools(), &seats)?;
        limits(&units)?;
        Ok(units)
    }

    /// Whether an order can have these seats, by the types it names.
    pub(super) fn can_be_typed(
        &self,
        order: &BestOrder,
        chosen: &[SeatId],
        asked: &AskedTypes,
    ) -> bool {
        let pools = order.beside().map_or(&[][..], Lines::pools);
        let mut seats = order.beside().map_or(&[][..], Lines::seats).to_vec();
        seats.extend_from_slice(chosen);
        let lines = Lines::new(pools.to_vec(), seats);
        lines.is_ok_and(|lines| self.typed_with(&lines, chosen, asked).is_ok())
    }
}
