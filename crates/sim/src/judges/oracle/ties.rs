//! What the documents leave open: in which order a user's bookings of one millisecond come.
//!
//! They come as they were held, and after a start from a snapshot by their ids
//! (docs/reliability.md, "What it found"). Both are let pass; everything else must be exact.

use super::{Answer, Oracle, same_refusal};
use onrush_core::change::HoldChange;
use onrush_core::ids::BookingId;
use onrush_core::question::View;
use onrush_core::view::{RemovedView, Reply};
use onrush_core::{Change, Refusal, Time};

impl Oracle {
    fn held_at(&self, booking: &BookingId) -> Option<Time> {
        self.bookings.get(booking).map(|booking| booking.terms.created_at)
    }

    /// Whether both name the same bookings, in an order that differs in ties alone.
    fn same_but_ties(&self, some: &[&BookingId], others: &[&BookingId]) -> bool {
        let level = |(one, other): (&&BookingId, &&BookingId)| {
            one == other || self.held_at(one) == self.held_at(other)
        };
        let sorted = |all: &[&BookingId]| {
            let mut all: Vec<BookingId> = all.iter().map(|id| (*id).clone()).collect();
            all.sort();
            all
        };
        some.iter().zip(others).all(level) && sorted(some) == sorted(others)
    }

    pub(super) fn same_changes(&self, changes: &[Change]) -> bool {
        if changes == self.changes {
            return true;
        }
        let released = |change: &Change| match change {
            Change::Hold(HoldChange::HoldReleased { booking }) => Some(booking.clone()),
            Change::Hold(
                HoldChange::HoldPlaced { .. }
                | HoldChange::HoldExtended { .. }
                | HoldChange::HoldExpired { .. }
                | HoldChange::HoldForgotten { .. },
            )
            | Change::Setup(_)
            | Change::Sale(_)
            | Change::Queue(_)
            | Change::Visitor(_)
            | Change::Booking(_)
            | Change::Claim(_) => None,
        };
        let (some, others): (Vec<_>, Vec<_>) = changes
            .iter()
            .zip(&self.changes)
            .filter_map(|(one, other)| Some((released(one)?, released(other)?)))
            .unzip();
        let others_same = changes.iter().zip(&self.changes).all(|(one, other)| {
            one == other || (released(one).is_some() && released(other).is_some())
        });
        let (some, others): (Vec<_>, Vec<_>) = (some.iter().collect(), others.iter().collect());
        changes.len() == self.changes.len() && others_same && self.same_but_ties(&some, &others)
    }

    pub(super) fn same_answer(&self, said: &Answer, expected: &Answer) -> bool {
        match (said, expected) {
            (Ok(Reply::Removed(said)), Ok(Reply::Removed(expected))) => {
                let paying: (Vec<_>, Vec<_>) =
                    (said.paying.iter().collect(), expected.paying.iter().collect());
                let said = RemovedView { paying: expected.paying.clone(), ..said.clone() };
                said == *expected && self.same_but_ties(&paying.0, &paying.1)
            }
            (Ok(said), Ok(expected)) => said == expected,
            (Err(said), Err(expected)) => same_refusal(said, expected),
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
        }
    }

    pub(super) fn same_view(
        &self,
        shown: &Result<View, Refusal>,
        expected: &Result<View, Refusal>,
        is_page: bool,
    ) -> bool {
        let (Ok(View::Bookings(some)), Ok(View::Bookings(others))) = (shown, expected) else {
            return shown == expected;
        };
        if some == others {
            return true;
        }
        let ids = |views: &[onrush_core::view::HoldView]| -> Vec<BookingId> {
            views.iter().map(|view| view.terms.booking.clone()).collect()
        };
        let times = |views: &[onrush_core::view::HoldView]| -> Vec<Time> {
            views.iter().map(|view| view.terms.created_at).collect()
        };
        let (one, other) = (ids(some), ids(others));
        let (one, other): (Vec<_>, Vec<_>) = (one.iter().collect(), other.iter().collect());
        let as_known = |view: &onrush_core::view::HoldView| {
            self.bookings.get(&view.terms.booking).is_some_and(|known| known.view() == *view)
        };
        let level = times(some) == times(others);
        level && some.iter().all(as_known) && (is_page || self.same_but_ties(&one, &other))
    }
}
