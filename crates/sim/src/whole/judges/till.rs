//! The judge of the box office: what it was told is sold is sold under its number, and nothing is sold
//! under a number that it did not give, or for nothing that costs something.

use super::super::noted::{Came, Taken};
use super::super::world::World;
use super::Facts;
use onrush_core::ids::BookingId;
use onrush_ledger::booking_of;
use std::collections::BTreeMap;

/// What is known of a number.
#[derive(Default)]
struct Number {
    is_asked: bool,
    /// Whether the server has said that it is done, and has kept its decisions since.
    is_done: bool,
}

/// What the box office was told before the last of so many restores may be among what got lost.
pub(super) fn judge(world: &World, restores: u64, facts: &Facts, violations: &mut Vec<String>) {
    let mut numbers = BTreeMap::<(BookingId, String), Number>::new();
    for Taken { booking, number, restores: known, came } in world.taken() {
        let number = numbers.entry((booking, number)).or_default();
        // An earlier request of the same number may have been done, and its answer lost.
        number.is_asked |= came != Came::Refused;
        number.is_done |= came == Came::Done && known == restores;
    }
    for (booking, known) in &facts.bookings {
        let Some(payment) = &known.payment else {
            if known.was_sold() && known.amount_minor > 0 {
                violations.push(format!("{booking} is sold for nothing: {known:?}"));
            }
            continue;
        };
        if booking_of(payment).is_some_and(|of| of == *booking) {
            continue;
        }
        match numbers.remove(&(booking.clone(), payment.to_string())) {
            Some(number) if number.is_asked => {}
            Some(_) | None => {
                violations.push(format!("{booking} is paid with {payment}, which nobody took"));
            }
        }
    }
    for ((booking, number), _) in numbers.into_iter().filter(|(_, number)| number.is_done) {
        let known = facts.bookings.get(&booking);
        // What costs nothing is confirmed without a number.
        if known.is_none_or(|known| known.amount_minor > 0 || !known.was_sold()) {
            violations
                .push(format!("{booking} was said to be sold with {number}, and is {known:?}"));
        }
    }
}
