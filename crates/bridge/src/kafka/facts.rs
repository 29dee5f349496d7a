//! Whose a booking is and which seats are in it: what the inherited messages say and changes do not.

use onrush_core::hold::HoldTerms;
use onrush_core::ids::{BookingId, SeatId, UserId};
use onrush_core::lines::Lines;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Holds that are remembered: most are paid for within minutes.
const REMEMBERED: usize = 10_000;

/// What never changes about a booking, as far as messages say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) user: UserId,
    pub(super) seats: Vec<SeatId>,
}

impl Facts {
    pub(super) fn new(user: &UserId, lines: &Lines) -> Self {
        Self { user: user.clone(), seats: lines.seats().to_vec() }
    }
}

/// The last holds that the feed told of.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    holds: HashMap<BookingId, Arc<HoldTerms>>,
    /// The same, oldest first.
    order: VecDeque<BookingId>,
}

impl Remembered {
    pub(super) fn remember(&mut self, terms: &Arc<HoldTerms>) {
        if self.holds.insert(terms.booking.clone(), terms.clone()).is_none() {
            self.order.push_back(terms.booking.clone());
        }
        while self.order.len() > REMEMBERED {
            let oldest = self.order.pop_front();
            oldest.and_then(|oldest| self.holds.remove(&oldest));
        }
    }

    pub(super) fn get(&self, booking: &BookingId) -> Option<Facts> {
        self.holds.get(booking).map(|terms| Facts::new(&terms.user, &terms.lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::Time;

    #[test]
    fn latest_holds_are_remembered() {
        let mut remembered = Remembered::default();
        let id = |n: usize| -> BookingId { format!("e.{n}").parse().unwrap() };
        let seat: SeatId = "A-1".parse().unwrap();
        for n in 0..=REMEMBERED {
            let terms = Arc::new(HoldTerms {
                booking: id(n),
                user: format!("u{n}").parse().unwrap(),
                lines: Lines::new(Vec::new(), vec![seat.clone()]).unwrap(),
                asked: None,
                prices_minor: Vec::new(),
                sources: Vec::new(),
                types: None,
                amount_minor: 0,
                fee_minor: 0,
                created_at: Time(0),
            });
            remembered.remember(&terms);
            // Read again after a fresh start from the cursor.
            remembered.remember(&terms);
        }
        assert_eq!(remembered.get(&id(0)), None);
        let last = Facts { user: format!("u{REMEMBERED}").parse().unwrap(), seats: vec![seat] };
        assert_eq!(remembered.get(&id(REMEMBERED)), Some(last));
        assert!(remembered.get(&id(1)).is_some());
        assert_eq!((remembered.order.len(), remembered.holds.len()), (REMEMBERED, REMEMBERED));
    }
}
