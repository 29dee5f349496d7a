//! What things cost, and when: every price there ever was or is to be, from when on.

use super::organiser::is_price;
use super::settings::{check_reason, invalid};
use super::{Answer, Oracle};
use onrush_core::change::SetupChange;
use onrush_core::lines::Lines;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::spec::Reason;
use onrush_core::types::HeldTypes;
use onrush_core::{Refusal, Time};

/// The prices of one thing.
#[derive(Clone, Debug)]
pub(super) struct Tariff {
    of: Priced,
    /// In order; the first holds from the beginning.
    prices: Vec<PriceStep>,
    /// Which of them the last change told of.
    told: usize,
}

impl Tariff {
    fn coming(&self) -> &[PriceStep] {
        &self.prices[self.told + 1..]
    }
}

impl Oracle {
    fn tariff(&self, of: &Priced) -> Option<&Tariff> {
        self.tariffs.iter().find(|tariff| tariff.of == *of)
    }

    fn last_price(&mut self, of: &Priced) -> Option<&mut i64> {
        match of {
            Priced::Category(name) => {
                let found = self.categories.iter_mut().find(|category| category.name == *name);
                found.map(|category| &mut category.price_minor)
            }
            Priced::Pool(pool) => {
                let found = self.pools.iter_mut().find(|known| known.spec.pool == *pool);
                found.map(|known| &mut known.spec.price_minor)
            }
        }
    }

    /// The price of one unit now.
    pub(super) fn price_of(&self, of: &Priced) -> i64 {
        let known = self.tariff(of).and_then(|tariff| {
            tariff.prices.iter().rev().find(|price| price.from <= self.now).copied()
        });
        let never_changed = match of {
            Priced::Category(name) => {
                let found = self.categories.iter().find(|category| category.name == *name);
                found.map(|category| category.price_minor)
            }
            Priced::Pool(pool) => self.pool(pool).map(|known| known.spec.price_minor),
        };
        known.map(|price| price.price_minor).or(never_changed).unwrap_or(0)
    }

    /// The first price and those to come, of what ever changed its price.
    pub(super) fn other_prices(&self, of: &Priced) -> (Option<i64>, Vec<PriceStep>) {
        let Some(tariff) = self.tariff(of) else { return (None, Vec::new()) };
        (Some(tariff.prices[0].price_minor), tariff.coming().to_vec())
    }

    /// The price of one unit of each line, unless nothing costs something else than it did first.
    pub(super) fn unit_prices(&self, lines: &Lines) -> Vec<i64> {
        let things = self.things(lines);
        let differs = things.iter().any(|(of, _)| {
            self.tariff(of).is_some_and(|it| it.prices[0].price_minor != self.price_of(of))
        });
        let each = things.iter().map(|(of, _)| self.price_of(of));
        if differs { each.collect() } else { Vec::new() }
    }

    /// What all units cost: those that have a type as it says, the others their line's price.
    pub(super) fn price_of_all(&self, lines: &Lines, types: Option<&HeldTypes>) -> i64 {
        let held = types.map_or(&[][..], |types| &types.held);
        let mut price = 0;
        for (line, (of, units)) in (0_u32..).zip(self.things(lines)) {
            let mut untyped = units;
            for it in held {
                for (_, quantity) in it.units.iter().filter(|(of_line, _)| *of_line == line) {
                    price += it.price_minor * i64::from(*quantity);
                    untyped -= quantity;
                }
            }
            price += self.price_of(&of) * i64::from(untyped);
        }
        price
    }

    fn things(&self, lines: &Lines) -> Vec<(Priced, u32)> {
        let mut things = Vec::new();
        for line in lines.pools() {
            things.push((Priced::Pool(line.pool.clone()), line.quantity));
        }
        for seat in lines.seats() {
            if let Some(seat) = self.seat(seat) {
                things.push((Priced::Category(seat.spec.category.clone()), 1));
            }
        }
        things
    }

    pub(super) fn change_price(
        &mut self,
        of: &Priced,
        price_minor: i64,
        later: &[PriceStep],
        reason: &Reason,
    ) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        if !is_price(price_minor) {
            return Err(invalid(Some("price_minor")));
        }
        let mut last = self.now;
        let wrong = later.len() > 20
            || later.iter().any(|step| {
                let follows = step.from > std::mem::replace(&mut last, step.from);
                !follows || step.from.0 > 253_402_300_799_999 || !is_price(step.price_minor)
            });
        if wrong {
            return Err(invalid(Some("later")));
        }
        let now = self.now;
        let Some(present) = self.last_price(of) else {
            return Err(match of {
                Priced::Category(name) => Refusal::CategoryNotFound { category: name.clone() },
                Priced::Pool(pool) => Refusal::ZoneNotFound { pool: pool.clone() },
            });
        };
        let before_minor = std::mem::replace(present, price_minor);
        let index = self.tariffs.iter().position(|tariff| tariff.of == *of).unwrap_or_else(|| {
            let first = PriceStep { from: Time::MIN, price_minor: before_minor };
            self.tariffs.push(Tariff { of: of.clone(), prices: vec![first], told: 0 });
            self.tariffs.len() - 1
        });
        let tariff = &mut self.tariffs[index];
        tariff.prices.retain(|price| price.from <= now);
        tariff.told = tariff.prices.len();
        tariff.prices.push(PriceStep { from: now, price_minor });
        tariff.prices.extend_from_slice(later);
        self.change(SetupChange::PriceChanged {
            of: of.clone(),
            before_minor,
            price_minor,
            later: later.to_vec(),
            reason: Some(reason.clone()),
        });
        Self::done()
    }

    /// When which price holds that nobody was told of yet.
    pub(super) fn prices_due(&self) -> impl Iterator<Item = (Time, &Priced)> {
        let next = |tariff: &Tariff| tariff.coming().first().map(|price| price.from);
        self.tariffs.iter().filter_map(move |tariff| Some((next(tariff)?, &tariff.of)))
    }

    pub(super) fn tell_price(&mut self, of: &Priced) {
        let tariff = self.tariffs.iter_mut().find(|tariff| tariff.of == *of);
        let tariff = tariff.expect("its price is due");
        tariff.told += 1;
        let (price_minor, later) =
            (tariff.prices[tariff.told].price_minor, tariff.coming().to_vec());
        let present = self.last_price(of).expect("what has a tariff is there");
        let before_minor = std::mem::replace(present, price_minor);
        let of = of.clone();
        self.change(SetupChange::PriceChanged {
            of,
            before_minor,
            price_minor,
            later,
            reason: None,
        });
    }
}
