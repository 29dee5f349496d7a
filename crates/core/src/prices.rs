//! Prices that were changed, or will be: what each thing cost first, and what it costs from when on.
//!
//! What is held keeps its price. A price that is to come holds from its time on, whenever the tick
//! comes that tells of it.

use crate::ids::PoolId;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What has a price. Price categories come before pools, each by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priced {
    /// Each seat of this price category.
    Category(Box<str>),
    /// Each unit of this pool.
    Pool(PoolId),
}

impl fmt::Display for Priced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Category(name) => write!(f, "category {name}"),
            Self::Pool(pool) => write!(f, "pool {pool}"),
        }
    }
}

/// A price from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceStep {
    /// From when on.
    pub from: Time,
    /// The price of one unit, in minor units.
    pub price_minor: i64,
}

/// A thing's prices beside the present one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ladder {
    /// Of what.
    pub of: Priced,
    /// What it cost when it was added.
    pub first_minor: i64,
    /// What it will cost, the earliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<PriceStep>,
}

impl Ladder {
    /// When its next price comes, and of what it is.
    fn next(&self) -> Option<(Time, Priced)> {
        Some((self.later.first()?.from, self.of.clone()))
    }
}

/// The price at a time, of what costs `price_minor` by the last change and other prices later.
#[must_use]
pub fn price_at(price_minor: i64, later: &[PriceStep], at: Time) -> i64 {
    let due = later.iter().take_while(|step| step.from <= at);
    due.last().map_or(price_minor, |step| step.price_minor)
}

/// The ladders of everything whose price was ever changed.
#[derive(Debug, Default)]
pub(crate) struct Prices {
    ladders: BTreeMap<Priced, Ladder>,
    /// The next price of each that has one to come.
    next: BTreeSet<(Time, Priced)>,
}

impl Prices {
    pub(crate) fn ladder(&self, of: &Priced) -> Option<&Ladder> {
        self.ladders.get(of)
    }

    pub(crate) fn ladders(&self) -> impl Iterator<Item = &Ladder> {
        self.ladders.values()
    }

    /// What follows the present price.
    pub(crate) fn later(&self, of: &Priced) -> &[PriceStep] {
        self.ladder(of).map_or(&[], |ladder| &ladder.later)
    }

    /// Whether anything ever had another price than its first, or will.
    pub(crate) fn is_empty(&self) -> bool {
        self.ladders.is_empty()
    }

    /// The next price to come, and of what; of equal times the first thing's.
    pub(crate) fn next_step(&self) -> Option<(PriceStep, &Ladder)> {
        let (_, of) = self.next.first()?;
        let ladder = &self.ladders[of];
        Some((ladder.later[0], ladder))
    }

    /// Takes note of what follows from now on, and, the first time, of the price until now.
    pub(crate) fn change(&mut self, of: &Priced, before_minor: i64, later: &[PriceStep]) {
        let ladder = self.ladders.entry(of.clone()).or_insert_with(|| Ladder {
            of: of.clone(),
            first_minor: before_minor,
            later: Vec::new(),
        });
        if let Some(next) = ladder.next() {
            self.next.remove(&next);
        }
        ladder.later = later.to_vec();
        self.next.extend(ladder.next());
    }

    pub(crate) fn restore(ladders: Vec<Ladder>) -> Self {
        let next = ladders.iter().filter_map(Ladder::next).collect();
        let ladders = ladders.into_iter().map(|ladder| (ladder.of.clone(), ladder));
        Self { ladders: ladders.collect(), next }
    }

    pub(crate) fn check(&self, broken: &mut Vec<String>) {
        let next = self.ladders.values().filter_map(Ladder::next);
        if self.next != next.collect() {
            broken.push("prices: the next ones are not those of the ladders".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::tests::{complains, sale};

    #[test]
    fn a_price_to_come_that_nobody_waits_for_is_noticed() {
        let step = PriceStep { from: Time(5), price_minor: 7 };
        let ga = Priced::Pool("ga".parse().unwrap());
        complains(sale(), "prices: the next ones are not those of the ladders", |it| {
            it.prices.change(&ga, 0, &[step]);
            it.prices.next.clear();
        });
    }
}
