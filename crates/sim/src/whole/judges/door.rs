//! The judge of the door: each ticket lets somebody in once, whoever was let in is written down, and
//! nobody is turned away whose booking is theirs.

use super::super::noted::{Scan, Scanned};
use super::super::world::World;
use onrush_core::Change;
use onrush_core::change::BookingChange;
use onrush_core::ids::BookingId;
use onrush_store::FeedEntry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often one ticket was used, by the journal and by what scanners said.
#[derive(Clone, Debug, Default)]
struct Used {
    in_journal: u32,
    let_in: u32,
    again: u32,
    unknown: u32,
    turned_away: u32,
    misunderstood: u32,
    /// Under which keys it was shown; without one each time is another.
    keys: BTreeSet<Option<String>>,
}

/// What scanners said before the last of so many restores may be among what got lost.
pub(super) fn judge(
    world: &World,
    restores: u64,
    entries: &[Arc<FeedEntry>],
    violations: &mut Vec<String>,
) {
    let mut tickets = BTreeMap::<(BookingId, u32), Used>::new();
    for Scanned { booking, number, key, bought, restores: known, scan } in world.scans() {
        let used = tickets.entry((booking, number)).or_default();
        used.keys.insert(key);
        match scan {
            _ if known < restores => used.unknown += 1,
            Scan::In => used.let_in += 1,
            Scan::Again => used.again += 1,
            Scan::Unknown => used.unknown += 1,
            Scan::Refused if bought == restores => used.turned_away += 1,
            // Its booking may be among what got lost, and may have been made anew since.
            Scan::Refused => {}
            Scan::Misunderstood => used.misunderstood += 1,
        }
    }
    let (mut sold, mut called_off) = (BTreeSet::new(), BTreeSet::new());
    for change in entries.iter().flat_map(|entry| &entry.changes) {
        let Change::Booking(change) = change else { continue };
        match change {
            BookingChange::CheckedIn { booking, ticket, .. } => {
                tickets.entry((booking.clone(), *ticket)).or_default().in_journal += 1;
            }
            BookingChange::HoldConfirmed { booking, .. }
            | BookingChange::HoldConfirmedLate { booking, .. } => {
                sold.insert(booking);
            }
            BookingChange::ConfirmedCancelled { booking, .. } => {
                called_off.insert(booking);
            }
            BookingChange::PayerNamed { .. }
            | BookingChange::PaymentBegun { .. }
            | BookingChange::PaymentFailed { .. }
            | BookingChange::LatePaymentFailed { .. } => {}
        }
    }
    for ((booking, number), used) in tickets {
        let Used { in_journal, let_in, again, unknown, turned_away, misunderstood, ref keys } =
            used;
        // Whoever asks again under the key of a scan whose answer got lost is told what came of it.
        let is_of_one_scan = keys.len() == 1 && !keys.contains(&None);
        let is_right = misunderstood == 0
            && !(is_of_one_scan && again > 0)
            && in_journal <= 1
            && let_in <= in_journal
            && (again == 0 || in_journal == 1)
            && in_journal <= let_in + unknown;
        if !is_right {
            violations.push(format!("ticket {number} of {booking} was used like this: {used:?}"));
        }
        // There is no ticket before a booking is confirmed.
        let is_theirs = sold.contains(&booking) && !called_off.contains(&booking);
        if is_theirs && turned_away > 0 {
            violations.push(format!(
                "ticket {number} of {booking} was turned away {turned_away} times, and the booking is \
                 confirmed to the end"
            ));
        }
    }
}
