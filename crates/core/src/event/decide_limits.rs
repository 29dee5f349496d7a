//! How much one user may take: of the whole event, and of its pools, categories and ticket types.

use super::Event;
use super::decide_types::Groups;
use crate::best::BestOrder;
use crate::ids::{PoolId, UserId};
use crate::lines::Lines;
use crate::prices::Priced;
use crate::refusal::Refusal;
use crate::seats::Category;
use crate::types::{AskedTypes, HeldTypes, count_types, parts};
use crate::user_limits::UserLimit;

impl Event {
    /// Checks the limit of the whole event.
    pub(super) fn check_user_limit(&self, user: &UserId, more: u32) -> Result<(), Refusal> {
        let limit = self.settings.as_ref().and_then(|settings| settings.max_per_user);
        let Some(limit) = limit else { return Ok(()) };
        let held = self.user(user).map_or(0, |user| user.units);
        if held.saturating_add(more) > limit {
            return Err(Refusal::UserLimitExceeded { limit, held, of: None, ticket_type: None });
        }
        Ok(())
    }

    /// Checks the limits of all pools, categories and types that these lines have units of; all of
    /// them exist.
    pub(super) fn check_limits(
        &self,
        user: &UserId,
        lines: &Lines,
        types: Option<&HeldTypes>,
    ) -> Result<(), Refusal> {
        self.limits()
            .iter()
            .try_for_each(|limit| self.check_limit(user, limit, self.units_of(limit, lines, types)))
    }

    /// The same for units of a pool that are claimed. They have no type.
    pub(super) fn check_limits_of_claim(
        &self,
        user: &UserId,
        pool: &PoolId,
        quantity: u32,
    ) -> Result<(), Refusal> {
        let is_its = |limit: &&UserLimit| {
            matches!(&limit.of, Priced::Pool(of) if of == pool) && limit.ticket_type.is_none()
        };
        let mut limits = self.limits().iter().filter(is_its);
        limits.try_for_each(|limit| self.check_limit(user, limit, quantity))
    }

    /// The same for an order that leaves seats to the rules. They are of categories whose limits
    /// allow it, if all of them were of one: of others the price is taken away.
    pub(super) fn check_limits_of_best(
        &self,
        user: &UserId,
        order: &BestOrder,
        asked: &AskedTypes,
        beside: &Groups<'_>,
        prices_minor: &mut [Option<i64>],
    ) -> Result<(), Refusal> {
        if self.limits().is_empty() {
            return Ok(());
        }
        let types = beside.held(asked);
        let beside = order.beside().map(|lines| (lines, types.as_deref()));
        if let Some((lines, types)) = beside {
            self.check_limits(user, lines, types)?;
        }
        let (mut first_refusal, mut suits) = (None, false);
        for (category, price_minor) in self.seats.categories().zip(prices_minor) {
            if price_minor.is_none() {
                continue;
            }
            let checked = self.check_limits_of_category(user, category, order, asked, beside);
            if order.best().may_be_of(&category.name) {
                match &checked {
                    Ok(()) => suits = true,
                    Err(refusal) => first_refusal = first_refusal.or(Some(refusal.clone())),
                }
            }
            if checked.is_err() {
                *price_minor = None;
            }
        }
        match first_refusal {
            Some(refusal) if !suits => Err(refusal),
            Some(_) | None => Ok(()),
        }
    }

    /// Checks a category's limits as if all seats that are left to the rules were of it; it has all
    /// types that are named.
    fn check_limits_of_category(
        &self,
        user: &UserId,
        category: &Category,
        order: &BestOrder,
        asked: &AskedTypes,
        beside: Option<(&Lines, Option<&HeldTypes>)>,
    ) -> Result<(), Refusal> {
        let is_its = |limit: &&UserLimit| matches!(&limit.of, Priced::Category(of) if **of == *category.name);
        self.limits().iter().filter(is_its).try_for_each(|limit| {
            let quantity = order.best().quantity();
            let types = self.types.of_category(&category.name);
            let counts = count_types(types, Some(asked.best()), quantity).unwrap_or_default();
            let chosen = limit.ticket_type.as_ref().map_or(quantity, |id| {
                let count = counts.iter().find(|(known, _)| known.id == *id);
                count.map_or(0, |(_, count)| *count)
            });
            if chosen == 0 {
                return Ok(());
            }
            let named = beside.map(|(lines, types)| self.units_of(limit, lines, types));
            self.check_limit(user, limit, chosen + named.unwrap_or(0))
        })
    }

    /// Checks one limit for so many units more that it counts.
    fn check_limit(&self, user: &UserId, limit: &UserLimit, more: u32) -> Result<(), Refusal> {
        if more == 0 {
            return Ok(());
        }
        let last_hold = self.user(user).and_then(|user| user.last_hold);
        let bookings = self.bookings.of_user(last_hold).map(|idx| &self.bookings[idx]);
        let with_units = bookings.filter(|hold| hold.state.has_units());
        let in_bookings: u32 = with_units
            .map(|hold| self.units_of(limit, &hold.terms.lines, hold.terms.types.as_deref()))
            .sum();
        let claimed = match (&limit.of, &limit.ticket_type) {
            (Priced::Pool(pool), None) => self.claims.units_of(user, pool),
            (Priced::Pool(_) | Priced::Category(_), _) => 0,
        };
        let (held, limit_units) = (in_bookings + claimed, limit.max_per_user);
        if held.saturating_add(more) <= limit_units {
            return Ok(());
        }
        let (of, ticket_type) = (Some(limit.of.clone()), limit.ticket_type.clone());
        Err(Refusal::UserLimitExceeded { limit: limit_units, held, of, ticket_type })
    }

    /// How many of these units a limit counts; all seats among them exist.
    fn units_of(&self, limit: &UserLimit, lines: &Lines, types: Option<&HeldTypes>) -> u32 {
        let is_its = |line: u32| {
            let (line, pools) = (line as usize, lines.pools());
            match (&limit.of, pools.get(line)) {
                (Priced::Pool(pool), Some(line)) => line.pool == *pool,
                (Priced::Category(name), None) => {
                    let seat = self.seats.get(&lines.seats()[line - pools.len()]);
                    let seat = seat.expect("seats of lines exist");
                    *self.seats.category_of(seat).name == **name
                }
                (Priced::Pool(_), None) | (Priced::Category(_), Some(_)) => false,
            }
        };
        let counted = parts(lines, types).filter(|part| {
            let of_type = part.held.map(|held| &held.id);
            let is_typed = limit.ticket_type.is_none() || limit.ticket_type.as_ref() == of_type;
            is_typed && is_its(part.line)
        });
        counted.map(|part| part.quantity).sum()
    }

    fn limits(&self) -> &[UserLimit] {
        self.settings.as_ref().map_or(&[], |settings| settings.limits.as_slice())
    }
}
