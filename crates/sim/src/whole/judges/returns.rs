//! The judge of bookings that buyers give back: they asked for it, and what goes back is what the
//! organiser's rule says, without the fee.

use super::super::world::World;
use super::Facts;
use onrush_core::Change;
use onrush_core::change::BookingChange;
use onrush_relay::messages::CANCELLED_BY_BUYER;
use onrush_store::FeedEntry;
use std::sync::Arc;

pub(super) fn judge(
    world: &World,
    facts: &Facts,
    entries: &[Arc<FeedEntry>],
    violations: &mut Vec<String>,
) {
    let asked = world.given_back();
    for change in entries.iter().flat_map(|entry| &entry.changes) {
        let Change::Booking(BookingChange::ConfirmedCancelled { booking, reason, refund_minor }) =
            change
        else {
            continue;
        };
        if &*reason.why != CANCELLED_BY_BUYER {
            continue;
        }
        let known = facts.bookings.get(booking);
        let price_minor = known.map_or(0, |known| known.amount_minor - known.fee_minor);
        let percent = world.refund_percent.map_or(0, i64::from);
        // To the minor unit, however it is rounded.
        if (refund_minor * 100 - price_minor * percent).abs() >= 100 {
            violations.push(format!(
                "{booking} cost {price_minor} and a fee, and {refund_minor} goes back: not {percent} %"
            ));
        }
        if !asked.contains(booking) {
            violations.push(format!("nobody has given {booking} back, and it is cancelled"));
        }
    }
}
