//! Limits per person on pools, categories and types: unit by unit, whatever was asked before.

use super::types::{MostMinor, Typed, kept};
use super::{Oracle, books};
use onrush_core::Refusal;
use onrush_core::best::BestOrder;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{TypeId, UserId};
use onrush_core::lines::Lines;
use onrush_core::prices::Priced;
use onrush_core::types::{AskedTypes, HeldTypes};
use onrush_core::user_limits::UserLimit;
use onrush_core::view::ClaimState;

/// What one unit is of, and what it is bought as.
pub(super) type Unit = (Priced, Option<TypeId>);

fn counts(limit: &UserLimit, units: &[Unit]) -> u32 {
    let mut count = 0;
    for (of, bought_as) in units {
        let any_type = limit.ticket_type.is_none();
        if limit.of == *of && (any_type || limit.ticket_type == *bought_as) {
            count += 1;
        }
    }
    count
}

/// Which member of a list of limits is wrong, as settings have it.
pub(super) fn wrong_limit(limits: &[UserLimit]) -> Option<String> {
    if limits.len() > 100 {
        return Some("limits".to_owned());
    }
    let mut before: Vec<(&Priced, &Option<TypeId>)> = Vec::new();
    for (nth, limit) in limits.iter().enumerate() {
        if let Priced::Category(name) = &limit.of
            && !(1..=500).contains(&name.chars().count())
        {
            return Some(format!("limits[{nth}].of"));
        }
        if limit.max_per_user == 0 || limit.max_per_user > 1_000 {
            return Some(format!("limits[{nth}].max_per_user"));
        }
        if before.contains(&(&limit.of, &limit.ticket_type)) {
            return Some(format!("limits[{nth}].of"));
        }
        before.push((&limit.of, &limit.ticket_type));
    }
    None
}

impl Oracle {
    /// Each unit of these lines.
    fn each_unit(&self, lines: &Lines, types: Option<&HeldTypes>) -> Vec<Unit> {
        let pools = lines.pools().iter();
        let mut wanted: Vec<_> =
            pools.map(|line| (Priced::Pool(line.pool.clone()), line.quantity)).collect();
        for seat in lines.seats() {
            let seat = self.seat(seat).expect("it was looked for before");
            wanted.push((Priced::Category(seat.spec.category.clone()), 1));
        }
        let mut units = Vec::new();
        for (line, (of, quantity)) in (0..).zip(wanted) {
            let mut left = quantity;
            for held in types.into_iter().flat_map(|types| &types.held) {
                for (_, quantity) in held.units.iter().filter(|(of, _)| *of == line) {
                    units.extend((0..*quantity).map(|_| (of.clone(), Some(held.id.clone()))));
                    left -= quantity;
                }
            }
            units.extend((0..left).map(|_| (of.clone(), None)));
        }
        units
    }

    /// Each unit that the user holds, pays for, has bought or claimed.
    fn units_had(&self, user: &UserId) -> Vec<Unit> {
        let mut units = Vec::new();
        for id in self.of_user.get(user).into_iter().flatten() {
            let books::Booking { terms, state, .. } = &self.bookings[id];
            match state.status() {
                HoldStatus::Held | HoldStatus::Paying | HoldStatus::Confirmed => {
                    units.extend(self.each_unit(&terms.lines, terms.types.as_deref()));
                }
                HoldStatus::Released | HoldStatus::Expired | HoldStatus::Cancelled => {}
            }
        }
        for claim in self.claims.values().filter(|claim| claim.user.as_ref() == Some(user)) {
            if let ClaimState::Claimed { .. } = claim.state {
                let of = Priced::Pool(claim.pool.clone());
                units.extend((0..claim.amount).map(|_| (of.clone(), None)));
            }
        }
        units
    }

    fn within(&self, user: &UserId, wanted: &[Unit]) -> Result<(), Refusal> {
        for limit in &self.settings().limits {
            let more = counts(limit, wanted);
            if more == 0 {
                continue;
            }
            let held = counts(limit, &self.units_had(user));
            let UserLimit { of, ticket_type, max_per_user: limit } = limit.clone();
            if held + more > limit {
                return Err(Refusal::UserLimitExceeded { limit, held, of: Some(of), ticket_type });
            }
        }
        Ok(())
    }

    /// What is said of a user who would have too much of a pool, a category or a type.
    pub(super) fn within_limits(
        &self,
        user: &UserId,
        lines: &Lines,
        types: Option<&HeldTypes>,
    ) -> Result<(), Refusal> {
        self.within(user, &self.each_unit(lines, types))
    }

    /// The same of claimed units, which have no type.
    pub(super) fn within_limits_of_claim(
        &self,
        user: &UserId,
        pool: &Priced,
        quantity: u32,
    ) -> Result<(), Refusal> {
        let units: Vec<Unit> = (0..quantity).map(|_| (pool.clone(), None)).collect();
        self.within(user, &units)
    }

    /// The same of an order that leaves seats to the rules: categories of which they could not all be
    /// cannot be had.
    pub(super) fn within_limits_of_best(
        &self,
        user: &UserId,
        order: &BestOrder,
        asked: &AskedTypes,
        named: &[Typed],
        most_minor: &mut MostMinor,
    ) -> Result<(), Refusal> {
        let beside = match order.beside() {
            Some(lines) => self.each_unit(lines, kept(named, asked).as_deref()),
            None => Vec::new(),
        };
        self.within(user, &beside)?;
        let (mut first_no, mut some) = (None, false);
        for category in &self.categories {
            if !most_minor.contains_key(&category.name) {
                continue;
            }
            let of = Priced::Category(category.name.clone());
            let quantity = order.best().quantity();
            let each = self.each_type(&of, Some(asked.best()), quantity)?;
            let mut ids: Vec<_> = each.into_iter().map(|it| Some(it.id.clone())).collect();
            ids.resize(quantity as usize, None);
            let mut all: Vec<Unit> = ids.into_iter().map(|id| (of.clone(), id)).collect();
            all.extend(beside.iter().filter(|(other, _)| *other == of).cloned());
            let wished = order.best().categories();
            let may_be = wished.is_empty() || wished.contains(&category.name);
            match self.within(user, &all) {
                Ok(()) => some = some || may_be,
                Err(no) => {
                    most_minor.remove(&category.name);
                    if may_be && first_no.is_none() {
                        first_no = Some(no);
                    }
                }
            }
        }
        match first_no {
            Some(no) if !some => Err(no),
            Some(_) | None => Ok(()),
        }
    }
}
