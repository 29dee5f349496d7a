//! Prices to come, which some sales have for all that they sell before anything is sold.

use crate::chance::Chance;
use crate::floor::Floor;
use crate::organiser::{names, reason};
use crate::plan::Plan;
use onrush_core::Command;
use onrush_core::prices::{PriceStep, Priced};
use std::collections::VecDeque;

/// What of a sale gets prices to come, and what is drawn about them.
#[derive(Debug)]
pub(crate) struct LaterPrices {
    left: VecDeque<Priced>,
    /// How long things take in this sale.
    tempo_ms: i64,
    chance: Chance,
}

impl LaterPrices {
    /// Nothing for most sales. What they draw stays as it was before there were any of these.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut chance = Chance::of(plan.seed, "later prices", 0);
        let mut left = VecDeque::new();
        if chance.percent(30) {
            left.extend(plan.pools.iter().map(|spec| Priced::Pool(spec.pool.clone())));
            if !plan.seats.is_empty() {
                left.extend(names(&plan.categories));
            }
        }
        Self { left, tempo_ms: plan.tempo_ms, chance }
    }

    /// Whether nothing is left to be given some.
    pub(crate) fn are_set(&self) -> bool {
        self.left.is_empty()
    }

    /// The next that is given some: three, from soon to long after the sale began.
    pub(crate) fn set_next(&mut self, floor: &Floor) -> Option<Command> {
        let of = self.left.pop_front()?;
        let mut from = floor.at;
        let later = (0..3).map(|_| {
            from = from.plus_ms(self.tempo_ms * *self.chance.pick(&[20, 100, 400]));
            PriceStep { from, price_minor: *self.chance.pick(&[900, 1_700, 2_600]) }
        });
        let later = later.collect();
        Some(Command::ChangePrice { of, price_minor: 800, later, reason: reason(&mut self.chance) })
    }
}
