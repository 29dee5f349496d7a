//! The evening counted twice: from the journal, and from what the fans can prove.

use super::api::{CHILD, Lines};
use super::fan::Record;
use super::singles::Singles;
use onrush_core::Change;
use onrush_core::change::{BookingChange, HoldChange, QueueChange};
use onrush_core::hold::HoldTerms;
use onrush_store::FeedEntry;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What must be zero, and what was sold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// Units sold: seats and standing places.
    pub(super) sold: u64,
    /// How many of these are a child's.
    pub(super) children: u64,
    /// Standing places sold beyond those there are, and seats that the house does not have.
    pub(super) oversold: u64,
    /// Seats with more than one owner.
    pub(super) seats_sold_twice: u64,
    /// Admissions of somebody who had joined before one who was admitted earlier.
    pub(super) fifo_violations: u64,
}

/// What the house has.
pub(super) struct Stock<'a> {
    /// Whether there is a seat with this id.
    pub(super) has_seat: &'a dyn Fn(&str) -> bool,
    /// Standing places.
    pub(super) zone_capacity: u32,
}

/// What a booking has.
#[derive(Clone, Default, PartialEq, Eq)]
struct Bought {
    lines: Lines,
    /// Units of them that are a child's.
    children: u64,
}

/// What was sold to whom, and in which order people were admitted.
#[derive(Default)]
pub(super) struct Tally {
    /// Confirmed bookings and what is in them.
    bookings: BTreeMap<String, Bought>,
    /// What they cost together, in minor units.
    pub(super) confirmed_minor: i64,
    /// Place numbers in the order of admission.
    admitted: Vec<u32>,
}

impl Tally {
    /// By the fans' receipts. Whom the room admitted when is the journal's word; who came first is the fans'.
    ///
    /// Of visitors from outside nobody here has a receipt: they count as the journal has them.
    pub(super) fn from_receipts(records: &[Record], admitted: &Admitted) -> (Self, Vec<String>) {
        let mut tally = Self {
            bookings: admitted.visitors.clone(),
            confirmed_minor: admitted.visitors_minor,
            admitted: Vec::new(),
        };
        let mut complaints = Vec::new();
        let numbers: BTreeMap<&str, u32> = records
            .iter()
            .flat_map(|r| &r.place)
            .map(|(place, number)| (place.as_str(), *number))
            .collect();
        for receipt in records.iter().filter_map(|record| record.receipt.as_ref()) {
            tally.confirmed_minor += receipt.amount_minor;
            let bought = Bought { lines: receipt.lines.clone(), children: receipt.children() };
            if tally.bookings.insert(receipt.booking.clone(), bought).is_some() {
                complaints.push(format!("two fans have a receipt for booking {}", receipt.booking));
            }
        }
        for (place, visitors_number) in &admitted.places {
            match visitors_number.as_ref().or_else(|| numbers.get(place.as_str())) {
                Some(number) => tally.admitted.push(*number),
                None => complaints.push(format!("place {place} was admitted, but nobody holds it")),
            }
        }
        (tally, complaints)
    }

    /// The counts.
    pub(super) fn counts(&self, stock: &Stock<'_>) -> Counts {
        let mut owners: BTreeMap<&str, u64> = BTreeMap::new();
        let mut standing = 0;
        for Bought { lines, .. } in self.bookings.values() {
            standing += lines.pools.values().map(|quantity| u64::from(*quantity)).sum::<u64>();
            for seat in &lines.seats {
                *owners.entry(seat).or_default() += 1;
            }
        }
        let unknown = owners.keys().filter(|seat| !(stock.has_seat)(seat)).count() as u64;
        let mut latest = 0;
        let mut fifo_violations = 0;
        for number in &self.admitted {
            if *number < latest {
                fifo_violations += 1;
            }
            latest = latest.max(*number);
        }
        Counts {
            sold: standing + owners.values().sum::<u64>(),
            children: self.bookings.values().map(|bought| bought.children).sum(),
            oversold: standing.saturating_sub(u64::from(stock.zone_capacity)) + unknown,
            seats_sold_twice: owners.values().filter(|owners| **owners > 1).count() as u64,
            fifo_violations,
        }
    }

    /// Where two tallies differ, one sentence each.
    pub(super) fn differences(journal: &Self, receipts: &Self) -> Vec<String> {
        let ids: BTreeSet<&String> =
            journal.bookings.keys().chain(receipts.bookings.keys()).collect();
        let mut found = Vec::new();
        for id in ids {
            match (journal.bookings.get(id), receipts.bookings.get(id)) {
                (Some(sold), Some(bought)) if sold == bought => {}
                (Some(_), Some(_)) => {
                    found.push(format!("booking {id}: the receipt says other units"))
                }
                (Some(_), None) => {
                    found.push(format!("booking {id}: confirmed, but nobody has a receipt"))
                }
                (None, _) => {
                    found.push(format!("booking {id}: a receipt for what is not confirmed"))
                }
            }
        }
        if journal.confirmed_minor != receipts.confirmed_minor {
            let (journal, receipts) = (journal.confirmed_minor, receipts.confirmed_minor);
            found.push(format!("the journal sold for {journal} and the receipts say {receipts}"));
        }
        if journal.admitted != receipts.admitted {
            found.push("the numbers that fans joined with are not those of the journal".to_owned());
        }
        found
    }
}

/// What only the journal knows.
#[derive(Default)]
pub(super) struct Admitted {
    /// The places in the order they were admitted, with their number if they are no fan's.
    places: Vec<(String, Option<u32>)>,
    /// Confirmed bookings of visitors from outside.
    visitors: BTreeMap<String, Bought>,
    /// What they cost together, less what went back, in minor units.
    visitors_minor: i64,
}

/// Reads the journal's side, entry by entry.
pub(super) struct JournalTally<'a> {
    event: &'a str,
    /// The fans; everybody else is a visitor from outside.
    crowd: &'a BTreeSet<String>,
    held: BTreeMap<String, (Bought, i64, bool)>,
    numbers: BTreeMap<String, u32>,
    admitted: Admitted,
    tally: Tally,
    singles: Option<Singles>,
}

impl<'a> JournalTally<'a> {
    /// Of one event, to which this crowd came.
    pub(super) fn new(event: &'a str, crowd: &'a BTreeSet<String>) -> Self {
        let (held, numbers, admitted, tally, singles) = Default::default();
        Self { event, crowd, held, numbers, admitted, tally, singles }
    }

    /// Counts single seats, too.
    pub(super) fn with_singles(self, singles: Singles) -> Self {
        Self { singles: Some(singles), ..self }
    }

    /// Notes that a booking's seats are taken, or free again.
    fn occupy(&mut self, booking: &str, is_taken: bool) {
        if let (Some(singles), Some((bought, ..))) = (&mut self.singles, self.held.get(booking)) {
            singles.set(&bought.lines.seats, !is_taken);
        }
    }

    /// Adds one entry; entries come in order.
    pub(super) fn add(&mut self, entry: &FeedEntry) {
        if entry.event.as_str() != self.event {
            return;
        }
        for change in &entry.changes {
            match change {
                Change::Queue(change) => self.note_queue(change),
                Change::Hold(change) => self.note_hold(change),
                Change::Booking(change) => self.note_booking(change),
                Change::Setup(_) | Change::Sale(_) | Change::Visitor(_) | Change::Claim(_) => {}
            }
        }
    }

    fn note_queue(&mut self, change: &QueueChange) {
        match change {
            QueueChange::PlaceTaken { place, number, .. } => {
                self.numbers.insert(place.to_string(), *number);
            }
            QueueChange::Admitted { place, user, .. } => {
                let place = place.to_string();
                // A place that nobody took has no number, and counts as out of order.
                let number = self.numbers.get(&place).copied().unwrap_or(0);
                self.tally.admitted.push(number);
                let is_fans = self.crowd.contains(user.as_str());
                self.admitted.places.push((place, (!is_fans).then_some(number)));
            }
            QueueChange::PlaceSeen { .. }
            | QueueChange::PlaceLeft { .. }
            | QueueChange::PrequeueClosed { .. } => {}
        }
    }

    fn note_hold(&mut self, change: &HoldChange) {
        match change {
            HoldChange::HoldPlaced { terms, .. } => {
                let is_fans = self.crowd.contains(terms.user.as_str());
                let held = (bought(terms), terms.amount_minor, is_fans);
                self.held.insert(terms.booking.to_string(), held);
                self.occupy(terms.booking.as_str(), true);
            }
            HoldChange::HoldReleased { booking } | HoldChange::HoldExpired { booking } => {
                self.occupy(booking.as_str(), false);
            }
            HoldChange::HoldExtended { .. } | HoldChange::HoldForgotten { .. } => {}
        }
    }

    fn note_booking(&mut self, change: &BookingChange) {
        match change {
            BookingChange::HoldConfirmed { booking, .. }
            | BookingChange::HoldConfirmedLate { booking, .. } => {
                self.occupy(booking.as_str(), true);
                let held = self.held.get(booking.as_str());
                let (bought, amount_minor, is_fans) = held.cloned().unwrap_or_default();
                if !is_fans && held.is_some() {
                    self.admitted.visitors.insert(booking.to_string(), bought.clone());
                    self.admitted.visitors_minor += amount_minor;
                }
                self.tally.confirmed_minor += amount_minor;
                self.tally.bookings.insert(booking.to_string(), bought);
            }
            BookingChange::ConfirmedCancelled { booking, refund_minor, .. } => {
                if self.admitted.visitors.remove(booking.as_str()).is_some() {
                    self.admitted.visitors_minor -= refund_minor;
                }
                self.occupy(booking.as_str(), false);
                self.tally.confirmed_minor -= refund_minor;
                self.tally.bookings.remove(booking.as_str());
            }
            BookingChange::PayerNamed { .. }
            | BookingChange::PaymentBegun { .. }
            | BookingChange::PaymentFailed { .. }
            | BookingChange::LatePaymentFailed { .. }
            | BookingChange::CheckedIn { .. } => {}
        }
    }

    /// Seats that were single when the house was nearly full, if that was counted.
    pub(super) fn singles(&self) -> Option<u64> {
        self.singles.as_ref().and_then(Singles::at_the_end)
    }

    /// The tally, and what else the receipts are compared with.
    pub(super) fn finish(self) -> (Tally, Admitted) {
        (self.tally, self.admitted)
    }
}

fn bought(terms: &HoldTerms) -> Bought {
    let pools = terms.lines.pools().iter();
    let lines = Lines {
        pools: pools.map(|line| (line.pool.to_string(), line.quantity)).collect(),
        seats: terms.lines.seats().iter().map(ToString::to_string).collect(),
    };
    let types = terms.types.iter().flat_map(|types| &types.held);
    let children = types.filter(|held| held.id.as_str() == CHILD);
    let children = children.map(|held| u64::from(held.quantity())).sum();
    Bought { lines, children }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(bookings: &[(&str, &str)], admitted: &[u32]) -> Tally {
        let bought =
            |json: &str| Bought { lines: serde_json::from_str(json).expect("lines"), children: 0 };
        Tally {
            bookings: bookings.iter().map(|(id, json)| ((*id).to_owned(), bought(json))).collect(),
            confirmed_minor: 0,
            admitted: admitted.to_vec(),
        }
    }

    fn counts(tally: &Tally) -> Counts {
        tally.counts(&Stock { has_seat: &|seat| seat.starts_with('A'), zone_capacity: 3 })
    }

    #[test]
    fn clean_evening_has_three_zeros() {
        let tally = tally(
            &[
                ("b1", r#"{"seats": ["A-1", "A-2"]}"#),
                ("b2", r#"{"pools": {"standing": 3}, "seats": ["A-3"]}"#),
            ],
            &[1, 2, 5, 9],
        );
        let expected =
            Counts { sold: 6, children: 0, oversold: 0, seats_sold_twice: 0, fifo_violations: 0 };
        assert_eq!(counts(&tally), expected);
    }

    #[test]
    fn each_kind_of_fault_is_counted() {
        let tally = tally(
            &[
                ("b1", r#"{"seats": ["A-1", "X-9"]}"#),
                ("b2", r#"{"seats": ["A-1"]}"#),
                ("b3", r#"{"pools": {"standing": 5}}"#),
            ],
            &[1, 4, 2, 3, 5],
        );
        let expected =
            Counts { sold: 8, children: 0, oversold: 3, seats_sold_twice: 1, fifo_violations: 2 };
        assert_eq!(counts(&tally), expected);
    }

    #[test]
    fn tallies_that_differ_are_told_apart() {
        let journal =
            tally(&[("b1", r#"{"seats": ["A-1"]}"#), ("b2", r#"{"seats": ["A-2"]}"#)], &[]);
        let receipts =
            tally(&[("b1", r#"{"seats": ["A-3"]}"#), ("b3", r#"{"seats": ["A-4"]}"#)], &[]);
        assert_eq!(Tally::differences(&journal, &receipts).len(), 3);
        assert!(Tally::differences(&journal, &journal).is_empty());
    }

    #[test]
    fn visitors_from_outside_count_as_the_journal_has_them() {
        let entry = |seq: u64, event: &str, changes: &str| FeedEntry {
            seq: onrush_store::Seq(seq),
            at: onrush_core::Time(1),
            event: event.parse().expect("an id"),
            changes: serde_json::from_str(changes).expect("changes"),
        };
        let place = "0".repeat(31) + "1";
        let bought = format!(
            r#"[{{"place_taken": {{"place": "{place}", "user": "ann", "number": 1}}}},
                {{"admitted": {{"place": "{place}", "user": "ann", "until": 9, "arrive_by": 5}}}},
                {{"hold_placed": {{"terms": {{"booking": "demo.1", "user": "ann",
                  "lines": {{"seats": ["A-1"]}}, "amount_minor": 700, "created_at": 1,
                  "types": {{"held": [{{"id": "child", "name": "Child", "price_minor": 700,
                    "units": [[0, 1]]}}]}}}}, "until": 9}}}},
                {{"hold_confirmed": {{"booking": "demo.1"}}}}]"#
        );
        let fans = BTreeSet::from(["bob".to_owned()]);
        let mut journal = JournalTally::new("demo", &fans);
        journal.add(&entry(1, "demo", &bought));
        journal.add(&entry(2, "another", &bought));
        let (journal, admitted) = journal.finish();
        let (receipts, complaints) = Tally::from_receipts(&[], &admitted);
        assert!(complaints.is_empty(), "{complaints:?}");
        assert_eq!(Tally::differences(&journal, &receipts), Vec::<String>::new());
        assert_eq!((counts(&receipts).sold, receipts.confirmed_minor), (1, 700));
        assert_eq!(counts(&receipts).children, 1);

        // A fan's would have to have a receipt.
        let fans = BTreeSet::from(["ann".to_owned()]);
        let mut journal = JournalTally::new("demo", &fans);
        journal.add(&entry(1, "demo", &bought));
        let (journal, admitted) = journal.finish();
        let (receipts, complaints) = Tally::from_receipts(&[], &admitted);
        assert_eq!(complaints.len(), 1);
        assert!(!Tally::differences(&journal, &receipts).is_empty());
    }
}
