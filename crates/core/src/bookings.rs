//! All bookings of one event: found by id, by user, and by deadline.

use crate::arena::{Idx, Keyed, Table};
use crate::ended::Ended;
use crate::hold::{CheckIn, HoldState, HoldTerms};
use crate::ids::{BookingId, ExtensionId, UserId};
use crate::limits::ENDED_KNOWN_MS;
use crate::time::Time;
use crate::users::Users;
use crate::view::HoldView;
use hashbrown::HashMap;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One booking, from its hold on until it is forgotten.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) terms: Arc<HoldTerms>,
    pub(crate) state: HoldState,
    pub(crate) user: Idx,
    /// The same user's booking before this one.
    older: Option<Idx>,
    /// The same user's booking after this one; after the latest comes the oldest. `None` only while
    /// it is put in.
    newer: Option<Idx>,
    pub(crate) payments: u8,
    pub(crate) extensions: u8,
    /// Tickets that were let in, by their number.
    pub(crate) checked_in: Vec<CheckIn>,
}

impl Keyed for Hold {
    fn key(&self) -> &str {
        self.terms.booking.as_str()
    }
}

impl Hold {
    /// When the booking's id may be forgotten.
    fn forget_at(&self) -> Option<Time> {
        match &self.state {
            HoldState::Held { .. } | HoldState::Paying { .. } | HoldState::Confirmed { .. } => None,
            // Money may still arrive for it: then its lines are needed.
            HoldState::Expired { payment: Some(_), .. } => None,
            HoldState::Released { at }
            | HoldState::Expired { at, payment: None }
            | HoldState::Cancelled { at, refund_minor: _ } => Some(at.plus_ms(ENDED_KNOWN_MS)),
        }
    }

    pub(crate) fn view(&self) -> HoldView {
        HoldView {
            terms: Arc::clone(&self.terms),
            state: self.state.clone(),
            payments: self.payments,
            extensions: self.extensions,
            checked_in: self.checked_in.clone(),
        }
    }
}

/// A deadline of a booking, ordered by time, then by booking id.
#[derive(Debug)]
struct HoldDeadline {
    at: Time,
    terms: Arc<HoldTerms>,
    idx: Idx,
}

impl Ord for HoldDeadline {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, &self.terms.booking).cmp(&(other.at, &other.terms.booking))
    }
}

impl PartialOrd for HoldDeadline {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for HoldDeadline {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for HoldDeadline {}

/// All bookings of one event.
#[derive(Debug, Default)]
pub(crate) struct Bookings {
    table: Table<Hold>,
    expiries: BTreeSet<HoldDeadline>,
    forgets: BTreeSet<HoldDeadline>,
    ended: Ended,
    /// The extensions that had a name, in their order; only of bookings that have any: few do, and all
    /// would take room.
    extensions_named: HashMap<Idx, Vec<ExtensionId>, foldhash::fast::FixedState>,
}

impl Bookings {
    pub(crate) fn get(&self, booking: &BookingId) -> Option<&Hold> {
        self.table.get(booking.as_str())
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// A booking that is known to exist.
    pub(crate) fn find(&self, booking: &BookingId) -> Idx {
        self.table.find(booking.as_str()).expect("changes name only bookings that exist")
    }

    /// The hold that expires next, and when.
    pub(crate) fn next_expiry(&self) -> Option<(Time, Idx)> {
        self.expiries.first().map(|deadline| (deadline.at, deadline.idx))
    }

    /// The ended booking that may be forgotten next, and when.
    pub(crate) fn next_forget(&self) -> Option<(Time, Idx)> {
        self.forgets.first().map(|deadline| (deadline.at, deadline.idx))
    }

    /// How many of a user's bookings have ended and are still known.
    pub(crate) fn ended_of(&self, user: &UserId) -> u32 {
        self.ended.of(user)
    }

    /// A user's bookings, oldest first: all of them, or those that come after `after`.
    pub(crate) fn of_user_after(
        &self,
        last: Option<Idx>,
        after: Option<Idx>,
    ) -> impl Iterator<Item = Idx> + '_ {
        let next = move |idx: Idx| self.table[idx].newer.filter(|_| Some(idx) != last);
        let first = match after {
            Some(after) => next(after),
            None => last.and_then(|last| self.table[last].newer),
        };
        std::iter::successors(first, move |idx| next(*idx))
    }

    /// A user's bookings, latest first.
    pub(crate) fn of_user(&self, last: Option<Idx>) -> impl Iterator<Item = Idx> + '_ {
        std::iter::successors(last, |idx| self.table[*idx].older)
    }

    /// A user's live holds.
    pub(crate) fn live_of_user(&self, last: Option<Idx>) -> impl Iterator<Item = &Hold> + '_ {
        self.of_user(last).map(|idx| &self.table[idx]).filter(|hold| hold.state.until().is_some())
    }

    /// All bookings, user by user in no order, each user's oldest first.
    pub(crate) fn each_users_in_order(&self) -> impl Iterator<Item = (Idx, &Hold)> {
        let oldest = self.table.iter().filter(|(_, hold)| hold.older.is_none());
        oldest.flat_map(|oldest| {
            std::iter::successors(Some(oldest), |(_, hold)| {
                let newer = hold.newer?;
                // After the latest comes the oldest.
                self.table[newer].older.is_some().then(|| (newer, &self.table[newer]))
            })
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Idx, &Hold)> {
        self.table.iter()
    }

    /// Adds a booking as its user's latest.
    pub(crate) fn insert(
        &mut self,
        terms: Arc<HoldTerms>,
        state: HoldState,
        user: Idx,
        users: &mut Users,
    ) -> Idx {
        let older = users[user].last_hold;
        let hold = Hold {
            terms,
            state,
            user,
            older,
            newer: None,
            payments: 0,
            extensions: 0,
            checked_in: Vec::new(),
        };
        let idx = self.table.insert(hold);
        let before = older.unwrap_or(idx);
        self.table[idx].newer = older.map_or(Some(idx), |older| self.table[older].newer);
        self.table[before].newer = Some(idx);
        users[user].last_hold = Some(idx);
        self.enter_deadlines(idx);
        idx
    }

    pub(crate) fn set_state(&mut self, idx: Idx, state: HoldState) {
        self.drop_deadlines(idx);
        self.table[idx].state = state;
        self.enter_deadlines(idx);
    }

    pub(crate) fn remove(&mut self, idx: Idx, users: &mut Users) {
        self.drop_deadlines(idx);
        self.extensions_named.remove(&idx);
        let hold = self.table.remove(idx);
        let (user, newer) = (&mut users[hold.user], hold.newer);
        if newer == Some(idx) {
            user.last_hold = None;
            return;
        }
        // Before the oldest comes the latest.
        let before = hold.older.or(user.last_hold).expect("they have another booking");
        self.table[before].newer = newer;
        if user.last_hold == Some(idx) {
            user.last_hold = hold.older;
        } else {
            let newer = newer.expect("a booking that was put in has one after it");
            self.table[newer].older = hold.older;
        }
    }

    /// Moves live holds on by the time the engine was away.
    pub(crate) fn move_on(&mut self, gap_ms: i64) {
        self.expiries.clear();
        for hold in self.table.iter_mut() {
            match &mut hold.state {
                HoldState::Held { until } => *until = until.plus_ms(gap_ms),
                HoldState::Paying { until, before, .. } => {
                    *until = until.plus_ms(gap_ms);
                    *before = before.plus_ms(gap_ms);
                }
                HoldState::Confirmed { .. }
                | HoldState::Released { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. } => {}
            }
        }
        for (idx, hold) in self.table.iter() {
            if let Some(at) = hold.state.until() {
                self.expiries.insert(HoldDeadline { at, terms: Arc::clone(&hold.terms), idx });
            }
        }
    }

    fn deadline(&self, idx: Idx, at: Time) -> HoldDeadline {
        HoldDeadline { at, terms: Arc::clone(&self.table[idx].terms), idx }
    }

    fn enter_deadlines(&mut self, idx: Idx) {
        let hold = &self.table[idx];
        if let Some(at) = hold.state.until() {
            self.expiries.insert(self.deadline(idx, at));
        } else if let Some(at) = hold.forget_at() {
            self.forgets.insert(self.deadline(idx, at));
            self.ended.add(&self.table[idx].terms.user);
        }
    }

    fn drop_deadlines(&mut self, idx: Idx) {
        let hold = &self.table[idx];
        if let Some(at) = hold.state.until() {
            self.expiries.remove(&self.deadline(idx, at));
        } else if let Some(at) = hold.forget_at() {
            self.forgets.remove(&self.deadline(idx, at));
            self.ended.forget(&self.table[idx].terms.user);
        }
    }

    pub(crate) fn check(&self, users: &Users, broken: &mut Vec<String>) {
        let mut expect = |ok: bool, what: &str| {
            if !ok {
                broken.push(format!("bookings: {what}"));
            }
        };
        let (mut live, mut ended, mut named) = (0, 0, 0);
        for (idx, hold) in self.table.iter() {
            if let Some(at) = hold.state.until() {
                live += 1;
                expect(
                    self.expiries.contains(&self.deadline(idx, at)),
                    "every live hold can expire",
                );
            } else if let Some(at) = hold.forget_at() {
                ended += 1;
                expect(
                    self.forgets.contains(&self.deadline(idx, at)),
                    "every ended one can be forgotten",
                );
            }
            let names = self.extensions_named(idx).len();
            named += usize::from(names > 0);
            expect(names <= usize::from(hold.extensions), "an extension has one name at most");
            let latest = users[hold.user].last_hold == Some(idx);
            let after = hold.newer.map(|newer| self.table[newer].older);
            expect(
                after == Some(if latest { None } else { Some(idx) }),
                "a user's bookings are chained to their latest, and after it comes the oldest",
            );
            expect(
                hold.older.is_none_or(|o| self.table[o].newer == Some(idx)),
                "the chain runs both ways",
            );
        }
        expect(self.expiries.len() == live, "only live holds expire");
        expect(self.forgets.len() == ended, "only ended bookings are forgotten");
        expect(self.ended.total() == ended, "ended bookings are counted for their users");
        let are_theirs = self.extensions_named.len() == named;
        expect(are_theirs, "only bookings that are there have extensions with names");
    }
}

impl std::ops::Index<Idx> for Bookings {
    type Output = Hold;

    fn index(&self, idx: Idx) -> &Hold {
        &self.table[idx]
    }
}

impl Bookings {
    /// Counts one more payment started.
    pub(crate) fn count_payment(&mut self, idx: Idx) {
        self.table[idx].payments += 1;
    }

    /// Counts one more extension, and remembers its name, if it has one.
    pub(crate) fn count_extension(&mut self, idx: Idx, extension: Option<ExtensionId>) {
        self.table[idx].extensions += 1;
        if let Some(extension) = extension {
            self.extensions_named.entry(idx).or_default().push(extension);
        }
    }

    /// A booking's extensions that had a name.
    pub(crate) fn extensions_named(&self, idx: Idx) -> &[ExtensionId] {
        self.extensions_named.get(&idx).map(Vec::as_slice).unwrap_or_default()
    }

    /// Lets the owner of a ticket in.
    pub(crate) fn check_in(&mut self, idx: Idx, check_in: CheckIn) {
        let all = &mut self.table[idx].checked_in;
        let place = all.binary_search_by_key(&check_in.ticket, |known| known.ticket);
        all.insert(place.expect_err("a ticket is let in once"), check_in);
    }

    /// Restores the counts of a snapshot.
    pub(crate) fn restore_counts(
        &mut self,
        idx: Idx,
        payments: u8,
        (extensions, named): (u8, Vec<ExtensionId>),
        checked_in: Vec<CheckIn>,
    ) {
        let hold = &mut self.table[idx];
        (hold.payments, hold.extensions, hold.checked_in) = (payments, extensions, checked_in);
        if !named.is_empty() {
            self.extensions_named.insert(idx, named);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::tests::{complains, sale};

    #[test]
    fn deadlines_counts_and_chains_that_are_not_those_of_the_bookings_are_noticed() {
        let first = |it: &Bookings| it.find(&"b1".parse().unwrap());
        complains(sale(), "every live hold can expire", |it| it.bookings.expiries.clear());
        complains(sale(), "only live holds expire", |it| {
            let idx = first(&it.bookings);
            let deadline = it.bookings.deadline(idx, Time(5));
            it.bookings.expiries.insert(deadline);
        });
        complains(sale(), "only ended bookings are forgotten", |it| {
            let idx = first(&it.bookings);
            let deadline = it.bookings.deadline(idx, Time(5));
            it.bookings.forgets.insert(deadline);
        });
        let counted = "ended bookings are counted for their users";
        complains(sale(), counted, |it| it.bookings.ended.add(&"ann".parse().unwrap()));
        complains(sale(), "the chain runs both ways", |it| {
            let idx = it.bookings.find(&"b3".parse().unwrap());
            it.bookings.table[idx].older = Some(first(&it.bookings));
        });
        complains(sale(), "a user's bookings are chained to their latest", |it| {
            let idx = first(&it.bookings);
            it.bookings.table[idx].newer = None;
        });
    }

    #[test]
    fn names_of_extensions_that_no_booking_has_are_noticed() {
        let name = ExtensionId::from_u128(1);
        complains(sale(), "an extension has one name at most", |it| {
            let idx = it.bookings.find(&"b1".parse().unwrap());
            it.bookings.extensions_named.insert(idx, vec![name]);
        });
        complains(sale(), "only bookings that are there have extensions with names", |it| {
            let idx = it.bookings.find(&"b2".parse().unwrap());
            it.bookings.remove(idx, &mut it.users);
            it.bookings.extensions_named.insert(idx, vec![name]);
        });
    }

    #[test]
    fn a_booking_takes_the_names_of_its_extensions_with_it() {
        let mut it = sale();
        let idx = it.bookings.find(&"b2".parse().unwrap());
        it.bookings.count_extension(idx, Some(ExtensionId::from_u128(1)));
        it.bookings.count_extension(idx, None);
        it.bookings.count_extension(idx, Some(ExtensionId::from_u128(2)));
        assert_eq!(it.bookings.extensions_named(idx), [1, 2].map(ExtensionId::from_u128));
        it.bookings.remove(idx, &mut it.users);
        assert!(it.bookings.extensions_named.is_empty());
    }

    #[test]
    fn deadlines_are_the_same_at_the_same_time_of_the_same_booking() {
        let event = sale();
        let deadline = |booking: &str, at| {
            event.bookings.deadline(event.bookings.find(&booking.parse().unwrap()), Time(at))
        };
        assert!(deadline("b1", 1) == deadline("b1", 1));
        assert!(deadline("b1", 1) != deadline("b1", 2) && deadline("b1", 1) != deadline("b2", 1));
        assert!(deadline("b2", 1) < deadline("b1", 2) && deadline("b1", 1) < deadline("b2", 1));
        assert_eq!(event.bookings.len(), 3);
    }
}
