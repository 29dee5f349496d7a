//! What is asked about ticket types: which there are, and of which the units of a hold are.

use super::decide_organiser::{check_reason, wrong};
use super::{Decision, Event};
use crate::best::BestOrder;
use crate::change::SetupChange;
use crate::ids::{PoolId, SeatId, TypeId};
use crate::limits::{MAX_PRICE_MINOR, MAX_TYPE_BP, MAX_TYPES, MAX_UNITS_PER_HOLD, fits_name};
use crate::lines::Lines;
use crate::prices::Priced;
use crate::refusal::Refusal;
use crate::seats::Category;
use crate::settings::Settings;
use crate::spec::Reason;
use crate::time::Time;
use crate::types::{
    AskedTypes, HeldType, HeldTypes, TicketType, TypeCounts, TypePrice, count_types,
};
use crate::view::Reply;
use std::collections::BTreeMap;

/// A pool or a category.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Of<'a> {
    Category(&'a str),
    Pool(&'a PoolId),
}

impl<'a> From<&'a Priced> for Of<'a> {
    fn from(of: &'a Priced) -> Self {
        match of {
            Priced::Category(name) => Self::Category(name),
            Priced::Pool(pool) => Self::Pool(pool),
        }
    }
}

impl From<Of<'_>> for Priced {
    fn from(of: Of<'_>) -> Self {
        match of {
            Of::Category(name) => Self::Category(name.into()),
            Of::Pool(pool) => Self::Pool(pool.clone()),
        }
    }
}

/// The units of one type in a hold that is about to be placed.
struct Group<'a> {
    of: Of<'a>,
    ticket_type: &'a TicketType,
    price_minor: i64,
    units: Vec<(u32, u32)>,
}

impl Group<'_> {
    fn quantity(&self) -> u32 {
        self.units.iter().map(|(_, quantity)| quantity).sum()
    }
}

/// The units of a hold that have types, by type, each where its first line is.
#[derive(Default)]
pub(super) struct Groups<'a> {
    groups: Vec<Group<'a>>,
    /// Where in the list the group of each type stands.
    by_type: BTreeMap<(Of<'a>, &'a TypeId), usize>,
}

impl<'a> Groups<'a> {
    fn add(
        &mut self,
        of: Of<'a>,
        ticket_type: &'a TicketType,
        price_minor: i64,
        units: (u32, u32),
    ) {
        let nth = *self.by_type.entry((of, &ticket_type.id)).or_insert(self.groups.len());
        match self.groups.get_mut(nth) {
            Some(group) => group.units.push(units),
            None => self.groups.push(Group { of, ticket_type, price_minor, units: vec![units] }),
        }
    }

    /// How many units there are of a type.
    fn quantity(&self, of: Of<'_>, id: &TypeId) -> u32 {
        self.by_type.get(&(of, id)).map_or(0, |nth| self.groups[*nth].quantity())
    }

    /// Checks that there are as many of each type as one booking may have.
    pub(super) fn check_limits(&self) -> Result<(), Refusal> {
        self.groups.iter().try_for_each(|it| check_limit(it.of, it.ticket_type, it.quantity()))
    }

    /// What the booking keeps of it.
    pub(super) fn held(&self, asked: &AskedTypes) -> Option<Box<HeldTypes>> {
        let held = |group: &Group<'_>| {
            let TicketType { id, name, proof, .. } = group.ticket_type.clone();
            HeldType { id, name, proof, price_minor: group.price_minor, units: group.units.clone() }
        };
        let held: Vec<_> = self.groups.iter().map(held).collect();
        (!held.is_empty()).then(|| Box::new(HeldTypes { asked: asked.clone(), held }))
    }
}

fn check_limit(of: Of<'_>, ticket_type: &TicketType, asked: u32) -> Result<(), Refusal> {
    let TicketType { id, min, max, .. } = ticket_type;
    let fits = asked == 0 || *min <= asked && max.is_none_or(|max| asked <= max);
    if fits {
        return Ok(());
    }
    let (ticket_type, of) = (id.clone(), of.into());
    Err(Refusal::TypeLimit { ticket_type, of, min: *min, max: *max, asked })
}

fn find<'a>(of: Of<'_>, types: &'a [TicketType], id: &TypeId) -> Result<&'a TicketType, Refusal> {
    let found = types.iter().find(|known| known.id == *id);
    found.ok_or_else(|| Refusal::TypeNotFound { ticket_type: id.clone(), of: of.into() })
}

fn count<'a>(
    of: Of<'_>,
    types: &'a [TicketType],
    named: Option<&TypeCounts>,
    quantity: u32,
) -> Result<Vec<(&'a TicketType, u32)>, Refusal> {
    let missing = |ticket_type| Refusal::TypeNotFound { ticket_type, of: of.into() };
    count_types(types, named, quantity).map_err(missing)
}

impl Event {
    pub(super) fn decide_set_types(
        &self,
        of: &Priced,
        types: &[TicketType],
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        check_types(types)?;
        self.last_price_minor(of).ok_or_else(|| of.missing())?;
        if self.types.of(of) == types {
            return Ok(Decision::nothing(Reply::Done));
        }
        let (of, types, reason) = (of.clone(), types.to_vec(), reason.clone());
        Ok(Decision::done(SetupChange::TypesSet { of, types, reason }))
    }

    /// The types of lines whose pools and seats exist, where `pools` and `seats` name some.
    pub(super) fn groups<'a>(
        &'a self,
        at: Time,
        lines: &Lines,
        pools: &BTreeMap<PoolId, TypeCounts>,
        seats: &BTreeMap<SeatId, TypeId>,
    ) -> Result<Groups<'a>, Refusal> {
        let mut groups = Groups::default();
        if self.types.is_empty() && pools.is_empty() && seats.is_empty() {
            return Ok(groups);
        }
        let step_minor = self.step_minor();
        for (nth, line) in (0..).zip(lines.pools()) {
            let pool = self.stock.get(&line.pool).expect("pools of lines were looked up");
            let (of, types) = (Of::Pool(&pool.spec.pool), self.types.of_pool(&line.pool));
            let counts = count(of, types, pools.get(&line.pool), line.quantity)?;
            let base_minor = self.pool_price_minor(pool, at);
            for (it, quantity) in counts {
                groups.add(of, it, it.price.of_minor(base_minor, step_minor), (nth, quantity));
            }
        }
        let first = u32::try_from(lines.pools().len()).expect("a hold has few lines");
        for (nth, seat) in (first..).zip(lines.seats()) {
            let found = self.seats.get(seat).expect("seats of lines were looked up");
            let category = self.seats.category_of(found);
            let (of, types) =
                (Of::Category(&category.name), self.types.of_category(&category.name));
            let it = match seats.get(seat) {
                Some(named) => find(of, types, named)?,
                None => match types.first() {
                    Some(first) => first,
                    None => continue,
                },
            };
            let base_minor = self.category_price_minor(category, at);
            groups.add(of, it, it.price.of_minor(base_minor, step_minor), (nth, 1));
        }
        Ok(groups)
    }

    /// The types of what is named beside these seats, which were chosen for an order, and of these;
    /// checked, whether there are as many of each as one booking may have.
    pub(super) fn groups_of_best(
        &self,
        at: Time,
        lines: &Lines,
        chosen: &[SeatId],
        asked: &AskedTypes,
    ) -> Result<Groups<'_>, Refusal> {
        if self.types.is_empty() && asked.is_empty() {
            return Ok(Groups::default());
        }
        let groups = self.groups(at, lines, asked.pools(), &asked.with_chosen(chosen))?;
        groups.check_limits()?;
        Ok(groups)
    }

    /// What a seat of each category costs that the rules choose for an order, in the order they were
    /// added: the dearest, where it has several types. `None` is for categories that lack a type that
    /// is named, or that allow other numbers of one, if all these seats were theirs.
    pub(super) fn best_prices_minor(
        &self,
        at: Time,
        order: &BestOrder,
        asked: &AskedTypes,
        beside: &Groups<'_>,
    ) -> Result<Vec<Option<i64>>, Refusal> {
        let (mut prices_minor, mut first_refusal) = (Vec::new(), None);
        let mut suits = false;
        for category in self.seats.categories() {
            let price_minor = self.dearest_minor(at, category, order, asked, beside);
            if order.best().may_be_of(&category.name) {
                match &price_minor {
                    Ok(_) => suits = true,
                    Err(refusal) => first_refusal = first_refusal.or(Some(refusal.clone())),
                }
            }
            prices_minor.push(price_minor.ok());
        }
        match first_refusal {
            Some(refusal) if !suits => Err(refusal),
            Some(_) | None => Ok(prices_minor),
        }
    }

    fn dearest_minor(
        &self,
        at: Time,
        category: &Category,
        order: &BestOrder,
        asked: &AskedTypes,
        beside: &Groups<'_>,
    ) -> Result<i64, Refusal> {
        let base_minor = self.category_price_minor(category, at);
        let of = Of::Category(&category.name);
        let types = self.types.of_category(&category.name);
        let counts = count(of, types, Some(asked.best()), order.best().quantity())?;
        let mut dearest_minor = None;
        for (it, quantity) in counts {
            check_limit(of, it, quantity + beside.quantity(of, &it.id))?;
            let price_minor = it.price.of_minor(base_minor, self.step_minor());
            dearest_minor = dearest_minor.max(Some(price_minor));
        }
        Ok(dearest_minor.unwrap_or(base_minor))
    }

    /// What all amounts are multiples of.
    pub(super) fn step_minor(&self) -> i64 {
        self.settings.as_ref().map_or(1, Settings::step_minor)
    }
}

/// Checks what is wrong with types in themselves.
fn check_types(types: &[TicketType]) -> Result<(), Refusal> {
    if types.len() > MAX_TYPES {
        return wrong("types", "types: name at most 20");
    }
    let is_twice = |(nth, it): (usize, &TicketType)| types[..nth].iter().any(|by| by.id == it.id);
    if types.iter().enumerate().any(is_twice) {
        return wrong("types", "types: use each id once");
    }
    for it in types {
        if it.name.is_empty() || !fits_name(&it.name) {
            return wrong(
                "types",
                "types: name: use 1 to 500 characters, none that turns the text around",
            );
        }
        let is_price = match it.price {
            TypePrice::PriceMinor(minor) | TypePrice::LessMinor(minor) => {
                (0..=MAX_PRICE_MINOR).contains(&minor)
            }
            TypePrice::PercentBp(bp) => bp <= MAX_TYPE_BP,
        };
        if !is_price {
            return wrong(
                "types",
                "types: price: use 0 to 1000000000000 minor units, or 0 to 10000 basis points",
            );
        }
        let most = it.max.unwrap_or(MAX_UNITS_PER_HOLD);
        if it.min > most || !(1..=MAX_UNITS_PER_HOLD).contains(&most) {
            return wrong("types", "types: max: use 1 to 1000, and min: 0 to max");
        }
    }
    Ok(())
}
