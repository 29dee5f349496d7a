//! Places that are gone, as long as the same request to join could come again.

use crate::ids::PlaceId;
use crate::limits::{ENDED_KNOWN_MS, MAX_GONE_PLACES};
use crate::time::Time;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// Ids of places that were served, left or lapsed, each for a day: their number is never given
/// again under the same id.
///
/// Nothing tells of the day's end: what is over is not found any more, and makes room as others go.
/// So that a flood of joins and leaves cannot fill the memory, only the latest [`MAX_GONE_PLACES`]
/// are known.
#[derive(Debug, Default)]
pub(crate) struct GonePlaces {
    until: HashMap<PlaceId, Time, foldhash::fast::FixedState>,
    in_order: BTreeSet<(Time, PlaceId)>,
}

/// What is over is dropped in parcels, so that no single departure pays for a whole queue.
const DROPPED_AT_ONCE: usize = 4;

impl GonePlaces {
    /// Whether a place of this id was there within the last day.
    pub(crate) fn knows(&self, at: Time, place: PlaceId) -> bool {
        self.until.get(&place).is_some_and(|until| at < *until)
    }

    pub(crate) fn len(&self) -> usize {
        self.until.len()
    }

    /// Remembers a place that goes at `at`.
    pub(crate) fn add(&mut self, at: Time, place: PlaceId) {
        for _ in 0..DROPPED_AT_ONCE {
            if self.in_order.first().is_none_or(|(until, _)| at < *until) {
                break;
            }
            self.drop_first();
        }
        self.restore(at.plus_ms(ENDED_KNOWN_MS), place);
    }

    /// Remembers a place until then.
    pub(crate) fn restore(&mut self, until: Time, place: PlaceId) {
        // An older version gave an id again once its place was gone.
        if let Some(before) = self.until.insert(place, until) {
            self.in_order.remove(&(before, place));
        } else if self.in_order.len() >= MAX_GONE_PLACES {
            self.drop_first();
        }
        self.in_order.insert((until, place));
    }

    fn drop_first(&mut self) {
        if let Some((_, place)) = self.in_order.pop_first() {
            self.until.remove(&place);
        }
    }

    /// Those that are known at `at`, in the order of their times, ties by id.
    pub(crate) fn known(&self, at: Time) -> impl Iterator<Item = (Time, PlaceId)> + '_ {
        self.in_order.iter().copied().filter(move |(until, _)| at < *until)
    }

    pub(crate) fn check(&self, expect: &mut impl FnMut(bool, &str)) {
        let same = |(until, place): &(Time, PlaceId)| self.until.get(place) == Some(until);
        expect(
            self.until.len() == self.in_order.len() && self.in_order.iter().all(same),
            "every gone place is forgotten at its time",
        );
        expect(
            self.in_order.len() <= MAX_GONE_PLACES,
            "no more gone places are known than there may be",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_gone_places_are_known_than_there_may_be() {
        let mut gone = GonePlaces::default();
        let place = |n: usize| PlaceId::from_u128(n as u128);
        for n in 0..MAX_GONE_PLACES + 10 {
            gone.add(Time(1_000), place(n));
        }
        assert_eq!(gone.in_order.len(), MAX_GONE_PLACES);
        assert!(!gone.knows(Time(1_000), place(9)), "the earliest is forgotten");
        assert!(gone.knows(Time(1_000), place(10)));
    }

    #[test]
    fn what_is_over_makes_room_as_others_go() {
        let mut gone = GonePlaces::default();
        for n in 0..100_u32 {
            gone.add(Time(n.into()), PlaceId::from_u128(n.into()));
        }
        for n in 0..100_u32 {
            let at = Time(2 * ENDED_KNOWN_MS + i64::from(n));
            gone.add(at, PlaceId::from_u128(1_000 + u128::from(n)));
        }
        assert_eq!((gone.in_order.len(), gone.until.len()), (100, 100));
    }

    fn complaints(gone: &GonePlaces) -> usize {
        let mut complaints = 0;
        gone.check(&mut |ok, _| complaints += usize::from(!ok));
        complaints
    }

    #[test]
    fn a_place_that_would_never_be_forgotten_or_at_another_time_is_noticed() {
        let place = PlaceId::from_u128;
        let mut gone = GonePlaces::default();
        gone.add(Time(0), place(1));
        assert_eq!(complaints(&gone), 0);
        gone.until.insert(place(2), Time(5));
        assert_eq!(complaints(&gone), 1);
        gone.in_order.insert((Time(6), place(2)));
        assert_eq!(complaints(&gone), 1);
        gone.in_order.remove(&(Time(6), place(2)));
        gone.in_order.insert((Time(5), place(2)));
        assert_eq!(complaints(&gone), 0);
    }

    #[test]
    fn a_place_is_gone_and_known_until_its_last_millisecond() {
        let mut gone = GonePlaces::default();
        gone.restore(Time(10), PlaceId::from_u128(1));
        assert_eq!((gone.known(Time(9)).count(), gone.known(Time(10)).count()), (1, 0));
        assert_eq!(gone.len(), 1);
        // The next one that goes at that moment makes it forgotten, and not one that goes before.
        gone.add(Time(9), PlaceId::from_u128(2));
        assert_eq!(gone.len(), 2);
        gone.add(Time(10), PlaceId::from_u128(3));
        assert_eq!(gone.len(), 2);
    }
}
