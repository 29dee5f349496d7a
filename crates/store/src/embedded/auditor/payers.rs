//! What payers have by the changes alone, and whether any was named for more than they might have.

use onrush_core::ids::{BookingId, PayerId};
use onrush_core::payers::PayerBy;
use onrush_core::settings::Settings;
use std::collections::HashMap;

/// Payers of one event.
#[derive(Default)]
pub(super) struct Payers {
    /// By e-mail address and by card.
    limits: [Option<u32>; 2],
    named: HashMap<(BookingId, PayerBy), PayerId>,
    units: HashMap<(PayerBy, PayerId), i64>,
}

impl Payers {
    /// Minds these settings from now on.
    pub(super) fn set(&mut self, settings: &Settings) {
        self.limits = PayerBy::ALL.map(|by| settings.max_per(by));
    }

    /// Names a payer for a booking that is of so many units, and has them or not; what is wrong with it.
    pub(super) fn name(
        &mut self,
        booking: &BookingId,
        (units, has_units): (u32, bool),
        by: PayerBy,
        payer: PayerId,
    ) -> Option<String> {
        let before = self.named.insert((booking.clone(), by), payer);
        if let Some(before) = before.filter(|_| has_units) {
            *self.units.entry((by, before)).or_default() -= i64::from(units);
        }
        let known = self.units.entry((by, payer)).or_default();
        let all = *known + i64::from(units);
        if has_units {
            *known = all;
        }
        match self.limits[by as usize] {
            Some(limit) if all <= i64::from(limit) => None,
            Some(limit) => Some(format!("payer {payer} has {all} units, and may have {limit}")),
            None => Some(format!("payer {payer} is named, and nobody asked for one")),
        }
    }

    /// A booking's id is not known any more.
    pub(super) fn forget(&mut self, booking: &BookingId) {
        for by in PayerBy::ALL {
            self.named.remove(&(booking.clone(), by));
        }
    }

    /// A booking has its units, or has them no more.
    pub(super) fn turn(&mut self, booking: &BookingId, units: u32, has_units: bool) {
        if self.named.is_empty() {
            return;
        }
        for by in PayerBy::ALL {
            let Some(payer) = self.named.get(&(booking.clone(), by)) else { continue };
            let known = self.units.entry((by, *payer)).or_default();
            if has_units {
                *known += i64::from(units);
            } else {
                *known -= i64::from(units);
            }
        }
    }
}
