//! The judge of payers: no e-mail address has more than it may, and no address is in the journal.

use super::super::world::World;
use onrush_core::Change;
use onrush_core::change::{BookingChange, HoldChange};
use onrush_core::ids::{BookingId, PayerId};
use onrush_core::payers::PayerBy;
use onrush_store::FeedEntry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is known of a booking.
#[derive(Default)]
struct Known {
    units: u32,
    has_units: bool,
    payer: Option<PayerId>,
}

pub(super) fn judge(world: &World, entries: &[Arc<FeedEntry>], violations: &mut Vec<String>) {
    let Some(limit) = world.settings.max_per_email else { return };
    let mut bookings = BTreeMap::<BookingId, Known>::new();
    let mut payers = BTreeMap::<PayerId, BTreeSet<BookingId>>::new();
    for entry in entries {
        for change in &entry.changes {
            let text = serde_json::to_string(change).expect("changes are written all the time");
            if text.contains("@mail.example") {
                violations.push(format!("an address is in the journal: {text}"));
            }
            let more = match change {
                Change::Hold(HoldChange::HoldPlaced { terms, .. }) => {
                    let units = terms.lines.units();
                    let known = Known { units, has_units: true, payer: None };
                    bookings.insert(terms.booking.clone(), known);
                    None
                }
                // The bank's book judges cards.
                Change::Booking(BookingChange::PayerNamed { by: PayerBy::Card, .. }) => None,
                Change::Booking(BookingChange::PayerNamed { booking, payer, .. }) => {
                    let known = bookings.entry(booking.clone()).or_default();
                    if let Some(before) = known.payer.replace(*payer) {
                        payers.entry(before).or_default().remove(booking);
                    }
                    payers.entry(*payer).or_default().insert(booking.clone());
                    Some(*payer)
                }
                Change::Booking(BookingChange::PaymentBegun { booking, .. }) => {
                    let is_named = bookings.get(booking).is_some_and(|it| it.payer.is_some());
                    if !is_named {
                        violations.push(format!("{booking} is paid for by nobody who is known"));
                    }
                    None
                }
                Change::Hold(
                    HoldChange::HoldReleased { booking } | HoldChange::HoldExpired { booking },
                )
                | Change::Booking(BookingChange::ConfirmedCancelled { booking, .. }) => {
                    bookings.entry(booking.clone()).or_default().has_units = false;
                    None
                }
                Change::Booking(BookingChange::HoldConfirmedLate { booking, .. }) => {
                    let known = bookings.entry(booking.clone()).or_default();
                    known.has_units = true;
                    known.payer
                }
                Change::Hold(
                    HoldChange::HoldExtended { .. } | HoldChange::HoldForgotten { .. },
                )
                | Change::Booking(
                    BookingChange::PaymentFailed { .. }
                    | BookingChange::LatePaymentFailed { .. }
                    | BookingChange::HoldConfirmed { .. }
                    | BookingChange::CheckedIn { .. },
                )
                | Change::Setup(_)
                | Change::Sale(_)
                | Change::Queue(_)
                | Change::Visitor(_)
                | Change::Claim(_) => None,
            };
            let Some(payer) = more else { continue };
            let theirs = payers.get(&payer).into_iter().flatten();
            let theirs = theirs.filter_map(|booking| bookings.get(booking));
            let units: u32 = theirs.filter(|it| it.has_units).map(|it| it.units).sum();
            if units > limit {
                violations.push(format!("payer {payer} has {units} units, and may have {limit}"));
            }
        }
    }
}
