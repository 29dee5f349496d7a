//! The judge of cards, by the bank's own book: where cards have a limit, none has paid for more, no money
//! was taken before the rules had the card, and none stays set aside.

use super::super::bank::Bank;
use super::super::world::World;
use super::Facts;
use onrush_core::Change;
use onrush_core::change::BookingChange;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::payers::PayerBy;
use onrush_store::FeedEntry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn judge(
    world: &World,
    bank: &Bank,
    facts: &Facts,
    entries: &[Arc<FeedEntry>],
    violations: &mut Vec<String>,
) {
    let Some(limit) = world.settings.max_per_card else { return };
    let named = named(entries);
    let mut units = BTreeMap::<(EventId, u32), u32>::new();
    for paid in bank.payments() {
        let payment = &paid.payment;
        if paid.is_set_aside {
            violations.push(format!("the money of {payment} is set aside for ever"));
        }
        if !paid.is_captured {
            continue;
        }
        if !named.contains(&paid.booking) && !paid.is_of_before {
            violations.push(format!("the money of {payment} was taken, and no card was named"));
        }
        let Some(known) = facts.bookings.get(&paid.booking) else { continue };
        // With decisions the rules have lost whose card it was; the bank does not say afterwards.
        let back_minor = paid.refunds_minor.iter().sum::<i64>() + paid.elsewhere_minor;
        // What its desk gives back of what somebody has takes nothing from them.
        let is_its = known.payment.as_ref() == Some(payment);
        let is_back = |at_desk_minor: i64| back_minor + at_desk_minor >= paid.amount_minor;
        let has_bought = !is_back(if is_its { 0 } else { paid.at_desk_minor() });
        let has_bought = has_bought && !paid.is_of_before;
        if let Some(card) = paid.card.filter(|_| has_bought && known.end == HoldStatus::Confirmed) {
            *units.entry((known.event.clone(), card)).or_default() += known.lines.units();
        }
    }
    for ((event, card), units) in units.into_iter().filter(|(_, units)| *units > limit) {
        violations
            .push(format!("card {card} has paid for {units} of {event}, and may for {limit}"));
    }
}

/// Bookings whose card the rules were told.
fn named(entries: &[Arc<FeedEntry>]) -> BTreeSet<BookingId> {
    let changes = entries.iter().flat_map(|entry| &entry.changes);
    let of_cards = changes.filter_map(|change| match change {
        Change::Booking(BookingChange::PayerNamed { booking, by: PayerBy::Card, .. }) => {
            Some(booking.clone())
        }
        Change::Setup(_)
        | Change::Sale(_)
        | Change::Queue(_)
        | Change::Visitor(_)
        | Change::Hold(_)
        | Change::Booking(_)
        | Change::Claim(_) => None,
    });
    of_cards.collect()
}
