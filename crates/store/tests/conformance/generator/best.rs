//! Holds that leave seats to the rules.

use super::Generator;
use crate::world::{GODS, SEATS, SECTION, seat};
use onrush_core::Command;
use onrush_core::best::{Best, BestOrder, Together};
use onrush_core::ids::SeatId;
use std::sync::Arc;

impl Generator {
    pub(super) fn hold_best(&mut self) {
        if self.random.percent(15) {
            // The very same again, or nearly.
            let asked = |row: &&onrush_core::snapshot::HoldRow| row.terms.asked.is_some();
            let Some(row) = self.known.holds.iter().rfind(asked).cloned() else { return };
            let other = if self.random.percent(20) { self.best_order() } else { None };
            let same = row.terms.asked.clone().expect("it was looked for");
            let user =
                if self.random.percent(20) { self.any_user() } else { row.terms.user.clone() };
            let order = other.map_or(same, Arc::new);
            let (booking, channels) = (row.terms.booking.clone(), self.some_channels());
            let types = self.types_again(&row, order.beside(), order.best().quantity());
            return self.ask(Command::HoldBest { booking, user, order, channels, types });
        }
        let Some(order) = self.best_order() else { return };
        let user = self.buyer();
        let (booking, order) = (self.new_booking(), Arc::new(order));
        let channels = self.some_channels();
        let types = self.some_types(order.beside(), order.best().quantity());
        self.ask(Command::HoldBest { booking, user, order, channels, types });
    }

    fn best_order(&mut self) -> Option<BestOrder> {
        let quantity = *self.random.pick(&[1, 1, 2, 2, 2, 3, 4, 4, 5, 6, 7, 20]);
        let together = *self.random.pick(&[Together::Must, Together::Prefer]);
        const CATEGORIES: [&[&str]; 5] = [&[], &[], &["stalls"], &[GODS], &["none", GODS]];
        const SECTIONS: [&[&str]; 7] =
            [&[], &[], &[], &[SECTION], &[""], &["", SECTION], &["none"]];
        let (categories, sections) = (*self.random.pick(&CATEGORIES), *self.random.pick(&SECTIONS));
        let price_max_minor = *self.random.pick(&[None, None, Some(0), Some(100), Some(1_000_000)]);
        let beside = if self.random.percent(25) { self.lines() } else { None };
        let boxed = |names: &[&str]| names.iter().map(|name| Box::from(*name)).collect();
        let best = Best::new(quantity, together).expect("a quantity within bounds");
        let best = best.within(boxed(categories), boxed(sections)).expect("names within bounds");
        let accessible = *self.random.pick(&[0, 0, 0, 0, 1, 1, 2]).min(&quantity);
        let best = best.with_accessible(accessible).expect("at most the quantity");
        let best = best.up_to(price_max_minor).expect("a price");
        // Seats that there are, mostly, and mostly side by side.
        let wanted = if self.random.percent(30) { self.seats_wanted(quantity) } else { Vec::new() };
        BestOrder::new(best.rather(wanted).ok()?, beside).ok()
    }

    fn seats_wanted(&mut self, quantity: u32) -> Vec<SeatId> {
        let apart = *self.random.pick(&[1, 1, 1, 2]);
        let span = u64::from(quantity) * apart;
        let first = self.random.below((SEATS + 2).saturating_sub(span).max(1));
        (0..u64::from(quantity)).map(|nth| seat(first + nth * apart)).collect()
    }
}
