//! What things cost, at a time.

use super::Event;
use crate::lines::Lines;
use crate::prices::{Priced, price_at};
use crate::refusal::Refusal;
use crate::seats::Category;
use crate::stock::Pool;
use crate::time::Time;
use crate::types::{HeldTypes, TypeView};
use crate::view::{CategoryView, PoolView};

fn priced_pool(pool: &Pool) -> Priced {
    Priced::Pool(pool.spec.pool.clone())
}

fn priced_category(category: &Category) -> Priced {
    Priced::Category(category.name.as_ref().into())
}

impl Priced {
    /// That there is no such thing.
    pub(crate) fn missing(&self) -> Refusal {
        match self {
            Self::Category(name) => Refusal::CategoryNotFound { category: name.clone() },
            Self::Pool(pool) => Refusal::ZoneNotFound { pool: pool.clone() },
        }
    }
}

impl Event {
    /// The price of one unit, which is `last_minor` by the last change.
    fn price_minor(&self, of: impl FnOnce() -> Priced, last_minor: i64, at: Time) -> i64 {
        if self.prices.is_empty() {
            return last_minor;
        }
        price_at(last_minor, self.prices.later(&of()), at)
    }

    /// The price of one unit of a pool.
    pub(super) fn pool_price_minor(&self, pool: &Pool, at: Time) -> i64 {
        self.price_minor(|| priced_pool(pool), pool.spec.price_minor, at)
    }

    pub(super) fn category_price_minor(&self, category: &Category, at: Time) -> i64 {
        self.price_minor(|| priced_category(category), category.price_minor, at)
    }

    /// The price of one unit of a pool whose type nobody names.
    pub(super) fn untyped_price_minor(&self, pool: &Pool, at: Time) -> i64 {
        let base_minor = self.pool_price_minor(pool, at);
        let first = self.types.of_pool(&pool.spec.pool).first();
        first.map_or(base_minor, |first| first.price.of_minor(base_minor, self.step_minor()))
    }

    /// The price of one unit of each line, pools' and then seats', whatever its type, unless all are
    /// the first ones that these had; and the price of all of it, with what the types cost.
    pub(super) fn prices_minor(
        &self,
        lines: &Lines,
        types: Option<&HeldTypes>,
        at: Time,
    ) -> (Vec<i64>, i64) {
        let pools = lines.pools().iter().filter_map(|line| {
            let pool = self.stock.get(&line.pool)?;
            let price_minor = self.pool_price_minor(pool, at);
            let is_first = self.is_first(|| priced_pool(pool), price_minor);
            Some((price_minor, line.quantity, is_first))
        });
        let seats = lines.seats().iter().filter_map(|seat| {
            let category = self.seats.category_of(self.seats.get(seat)?);
            let price_minor = self.category_price_minor(category, at);
            let is_first = self.is_first(|| priced_category(category), price_minor);
            Some((price_minor, 1, is_first))
        });
        let (mut each_minor, mut are_first) = (Vec::new(), true);
        let mut sum_minor = types.map_or(0, HeldTypes::price_minor);
        let typed = types.map(HeldTypes::units_by_line).unwrap_or_default();
        for (line, (price_minor, quantity, is_first)) in (0..).zip(pools.chain(seats)) {
            each_minor.push(price_minor);
            are_first &= is_first;
            if !typed.contains_key(&line) {
                sum_minor += price_minor * i64::from(quantity);
            }
        }
        if are_first {
            each_minor.clear();
        }
        (each_minor, sum_minor)
    }

    fn is_first(&self, of: impl FnOnce() -> Priced, price_minor: i64) -> bool {
        self.prices.is_empty()
            || self.prices.ladder(&of()).is_none_or(|ladder| ladder.first_minor == price_minor)
    }

    /// The price of one unit by the last change; `None` if there is no such thing.
    pub(crate) fn last_price_minor(&self, of: &Priced) -> Option<i64> {
        match of {
            Priced::Category(name) => Some(self.seats.category(name)?.price_minor),
            Priced::Pool(pool) => Some(self.stock.get(pool)?.spec.price_minor),
        }
    }

    /// Gives what is known to exist another price.
    pub(super) fn set_price(&mut self, of: &Priced, before_minor: i64, price_minor: i64) {
        let last_minor = self.last_price_minor(of);
        assert_eq!(last_minor, Some(before_minor), "the journal knows the price before");
        match of {
            Priced::Category(name) => self.seats.set_price(name, price_minor),
            Priced::Pool(pool) => {
                self.stock.change(pool, |pool| pool.spec.price_minor = price_minor);
            }
        }
    }

    pub(super) fn view_pool(&self, pool: &Pool) -> PoolView {
        let types = self.types.of_pool(&pool.spec.pool);
        let types = TypeView::all(types, pool.spec.price_minor, self.step_minor());
        PoolView { types, ..pool.view(self.prices.ladder(&priced_pool(pool))) }
    }

    pub(super) fn view_category(&self, category: &Category) -> CategoryView {
        let types = self.types.of_category(&category.name);
        let types = TypeView::all(types, category.price_minor, self.step_minor());
        let ladder = self.prices.ladder(&priced_category(category));
        CategoryView { types, ..category.view(ladder, &self.channels) }
    }
}
