//! How much one user may take: of the whole event, and of its pools, categories and ticket types.

use super::Event;
use super::decide_types::{Groups, Of};
use crate::best::BestOrder;
use crate::ids::{PoolId, TypeId, UserId};
use crate::lines::Lines;
use crate::prices::Priced;
use crate::refusal::Refusal;
use crate::seats::Category;
use crate::types::{AskedTypes, HeldTypes, count_types, parts};
use crate::user_limits::UserLimit;
use std::cell::LazyCell;
use std::collections::BTreeMap;

/// How many units each limit counts, by what it is of and by type.
struct Counts<'a>(BTreeMap<(Of<'a>, Option<&'a TypeId>), u32>);

impl<'a> Counts<'a> {
    /// None yet of what these limits count.
    fn new(limits: &'a [UserLimit]) -> Self {
        Self(limits.iter().map(|limit| (Self::key(limit), 0)).collect())
    }

    fn key(limit: &'a UserLimit) -> (Of<'a>, Option<&'a TypeId>) {
        (Of::from(&limit.of), limit.ticket_type.as_ref())
    }

    /// Counts units of a type for the limits of that type and of all types together.
    fn add(&mut self, of: Of<'a>, ticket_type: Option<&'a TypeId>, units: u32) {
        for ticket_type in [None].into_iter().chain(ticket_type.map(Some)) {
            if let Some(count) = self.0.get_mut(&(of, ticket_type)) {
                *count += units;
            }
        }
    }

    fn of(&self, limit: &UserLimit) -> u32 {
        self.0[&Counts::key(limit)]
    }
}

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
        if self.limits().is_empty() {
            return Ok(());
        }
        let asked = self.count([(lines, types)]);
        let limits = self.limits().iter().map(|limit| (limit, asked.of(limit)));
        let mut limits = limits.filter(|(_, more)| *more > 0);
        let held = LazyCell::new(|| self.count_of_user(user));
        limits.try_for_each(|(limit, more)| self.check_limit(user, limit, &held, more))
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
        let Some(limit) = self.limits().iter().find(is_its) else { return Ok(()) };
        self.check_limit(user, limit, &self.count_of_user(user), quantity)
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
        let (named, held) = (self.count(beside), self.count_of_user(user));
        let (mut first_refusal, mut suits) = (None, false);
        for (category, price_minor) in self.seats.categories().zip(prices_minor) {
            if price_minor.is_none() {
                continue;
            }
            let counts = (&named, &held);
            let checked = self.check_limits_of_category(user, category, order, asked, counts);
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

    /// Checks a category's limits as if all seats that are left to the rules were of it, beside what
    /// is named and what the user has; it has all types that are named.
    fn check_limits_of_category(
        &self,
        user: &UserId,
        category: &Category,
        order: &BestOrder,
        asked: &AskedTypes,
        (named, held): (&Counts<'_>, &Counts<'_>),
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
            self.check_limit(user, limit, held, chosen + named.of(limit))
        })
    }

    /// Checks one limit for so many units more that it counts, at least one; the user's bookings
    /// have what is counted.
    fn check_limit(
        &self,
        user: &UserId,
        limit: &UserLimit,
        in_bookings: &Counts<'_>,
        more: u32,
    ) -> Result<(), Refusal> {
        let claimed = match (&limit.of, &limit.ticket_type) {
            (Priced::Pool(pool), None) => self.claims.units_of(user, pool),
            (Priced::Pool(_) | Priced::Category(_), _) => 0,
        };
        let (held, limit_units) = (in_bookings.of(limit) + claimed, limit.max_per_user);
        if held.saturating_add(more) <= limit_units {
            return Ok(());
        }
        let (of, ticket_type) = (Some(limit.of.clone()), limit.ticket_type.clone());
        Err(Refusal::UserLimitExceeded { limit: limit_units, held, of, ticket_type })
    }

    /// What the user's bookings have that limits count.
    fn count_of_user(&self, user: &UserId) -> Counts<'_> {
        let last_hold = self.user(user).and_then(|user| user.last_hold);
        let bookings = self.bookings.of_user(last_hold).map(|idx| &self.bookings[idx]);
        let with_units = bookings.filter(|hold| hold.state.has_units());
        self.count(with_units.map(|hold| (&hold.terms.lines, hold.terms.types.as_deref())))
    }

    /// What these lines have that limits count; all seats among them exist.
    fn count<'a>(
        &'a self,
        all: impl IntoIterator<Item = (&'a Lines, Option<&'a HeldTypes>)>,
    ) -> Counts<'a> {
        let mut counts = Counts::new(self.limits());
        for (lines, types) in all {
            let pools = lines.pools();
            for part in parts(lines, types) {
                let line = part.line as usize;
                let of = match pools.get(line) {
                    Some(line) => Of::Pool(&line.pool),
                    None => {
                        let seat = self.seats.get(&lines.seats()[line - pools.len()]);
                        let seat = seat.expect("seats of lines exist");
                        Of::Category(&self.seats.category_of(seat).name)
                    }
                };
                counts.add(of, part.held.map(|held| &held.id), part.quantity);
            }
        }
        counts
    }

    fn limits(&self) -> &[UserLimit] {
        self.settings.as_ref().map_or(&[], |settings| settings.limits.as_slice())
    }
}
