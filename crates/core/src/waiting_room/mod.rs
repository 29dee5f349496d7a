//! The waiting room: who waits, who is in, and who is next.

pub mod draw;
pub(crate) mod gone;
mod line;
mod seen;
pub(crate) mod session;

use crate::arena::{Arena, Idx};
use crate::ids::PlaceId;
use crate::limits::SEEN_INTERVAL_MS;
use crate::settings::{Digest, RoomSettings};
use crate::time::Time;
use crate::users::Users;
use crate::view::DrawView;
use gone::GonePlaces;
use line::Line;
use serde::{Deserialize, Serialize};
use session::Sessions;

/// A place of somebody who waits: 32 bytes.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) id: PlaceId,
    pub(crate) user: Idx,
    /// The same user's place that is served after this one.
    pub(crate) next: Option<Idx>,
    /// Where it stands in the line.
    slot: u32,
    /// Its number in the order taken, from 1.
    pub(crate) number: u32,
}

// A queue of millions is mostly places and users: both stay small.
const _: () = assert!(size_of::<Place>() == 32 && size_of::<crate::users::User>() <= 56);

/// The list of those who take part in a draw, once it is fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entrants {
    /// How many they are.
    pub count: u32,
    /// The published hash of the list.
    pub hash: Digest,
    /// Places with a higher number came too late for the draw.
    pub last_number: u32,
    /// When it was fixed: a public value that was known by then counts for nothing. `None` if that was
    /// before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_at: Option<Time>,
}

/// What became known when the sale opened.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Revealed {
    /// The seed of the draw.
    pub seed: Option<Digest>,
    /// The public value mixed in.
    pub public_value: Option<Box<str>>,
}

/// The waiting room of one event.
#[derive(Debug, Default)]
pub(crate) struct WaitingRoom {
    places: Arena<Place>,
    line: Line,
    pub(crate) sessions: Sessions,
    /// Places that are gone, and known for a while.
    pub(crate) gone: GonePlaces,
    /// Places taken so far.
    pub(crate) taken: u32,
    /// The outflow's clock in nanoseconds: how far admissions have used up the time they may use.
    pub(crate) outflow_clock_ns: i64,
    pub(crate) entrants: Option<Entrants>,
    pub(crate) revealed: Option<Revealed>,
}

impl WaitingRoom {
    /// People waiting.
    pub(crate) fn waiting(&self) -> u32 {
        self.line.len()
    }

    pub(crate) fn place(&self, idx: Idx) -> &Place {
        &self.places[idx]
    }

    /// The user's waiting places, in the order they are served.
    pub(crate) fn places_of(&self, first: Option<Idx>) -> impl Iterator<Item = Idx> + '_ {
        std::iter::successors(first, |idx| self.places[*idx].next)
    }

    /// Everyone who waits, in order.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = &Place> + '_ {
        self.line.iter().map(|idx| &self.places[idx])
    }

    /// The position of a waiting place; 1 is the head.
    pub(crate) fn position(&self, idx: Idx) -> u32 {
        self.line.position(self.places[idx].slot)
    }

    /// The place to admit next, whatever the capacity.
    pub(crate) fn next_place(&self) -> Option<Idx> {
        self.line.first_eligible()
    }

    /// When the next admission is due; [`Time::MIN`] if now, whatever the clock says.
    pub(crate) fn admission_due(&self, settings: &RoomSettings) -> Option<Time> {
        let free_slot = self.sessions.len() < settings.capacity as usize;
        (free_slot && self.line.has_eligible()).then(|| match settings.outflow_per_min {
            None => Time::MIN,
            Some(per_min) => {
                // The burst is one second's worth: admissions may run ahead of their clock by that much.
                let cost_ns = outflow_cost_ns(per_min);
                let due_ns = self
                    .outflow_clock_ns
                    .saturating_sub(1_000_000_000_i64.saturating_sub(cost_ns).max(0));
                Time(due_ns.div_euclid(1_000_000) + i64::from(due_ns.rem_euclid(1_000_000) != 0))
            }
        })
    }

    /// Counts an admission against the outflow.
    pub(crate) fn count_outflow(&mut self, at: Time, settings: &RoomSettings) {
        if let Some(per_min) = settings.outflow_per_min {
            let now_ns = at.0.saturating_mul(1_000_000);
            self.outflow_clock_ns =
                self.outflow_clock_ns.max(now_ns).saturating_add(outflow_cost_ns(per_min));
        }
    }

    /// The place that lapses next, and when; none before the sale opens: the prequeue knows no time to live.
    pub(crate) fn next_lapse(&self, settings: &RoomSettings) -> Option<(Time, Idx)> {
        let (last_seen, slot) = self.line.seen_longest_ago()?;
        Some((last_seen.plus_ms(settings.place_ttl_ms), self.line.place(slot)))
    }

    /// When a waiting place was last seen; `None` before the sale opens.
    pub(crate) fn last_seen(&self, place: &Place) -> Option<Time> {
        self.line.last_seen(place.slot)
    }

    /// When a waiting place lapses; `None` before the sale opens.
    pub(crate) fn lapses_at(&self, idx: Idx, settings: &RoomSettings) -> Option<Time> {
        let last_seen = self.last_seen(&self.places[idx])?;
        Some(last_seen.plus_ms(settings.place_ttl_ms))
    }

    /// Whether a sign of life at `at` is worth writing down.
    pub(crate) fn see_due(&self, at: Time, idx: Idx, settings: &RoomSettings) -> bool {
        // A short time to live needs more frequent signs than the usual interval gives.
        let interval_ms = SEEN_INTERVAL_MS.min(settings.place_ttl_ms / 6);
        self.last_seen(&self.places[idx]).is_some_and(|last_seen| {
            let unseen_ms = at.since_ms(last_seen);
            unseen_ms >= interval_ms && unseen_ms < settings.place_ttl_ms
        })
    }

    /// Adds a place at the end of the line; `last_seen` is `None` before the sale opens.
    pub(crate) fn take(
        &mut self,
        last_seen: Option<Time>,
        id: PlaceId,
        number: u32,
        user: Idx,
        users: &mut Users,
    ) {
        let idx = self.places.insert(Place { id, user, next: None, slot: 0, number });
        let slot = self.line.push(idx, last_seen);
        self.places[idx].slot = slot;
        match self.places_of(users[user].first_place).last() {
            None => users[user].first_place = Some(idx),
            Some(last) => self.places[last].next = Some(idx),
        }
        if users[user].session.is_some() {
            self.line.set_parked(slot, true);
        }
        self.taken = self.taken.max(number);
    }

    /// Writes down a sign of life.
    pub(crate) fn see(&mut self, at: Time, idx: Idx) {
        let slot = self.places[idx].slot;
        assert!(
            self.line.last_seen(slot).is_some(),
            "signs of life count only once the sale has opened"
        );
        self.line.see(slot, at);
    }

    /// Takes a place out of the line; the user stays.
    pub(crate) fn leave(&mut self, idx: Idx, users: &mut Users) -> Place {
        let place = self.places.remove(idx);
        self.line.remove(place.slot);
        let user = &mut users[place.user];
        if user.first_place == Some(idx) {
            user.first_place = place.next;
        } else {
            let first = user.first_place;
            let before = self.places_of(first).find(|other| self.places[*other].next == Some(idx));
            self.places[before.expect("a user's places are chained")].next = place.next;
        }
        place
    }

    /// Keeps a user's other places back, or lets them be admitted again.
    pub(crate) fn park(&mut self, first: Option<Idx>, parked: bool) {
        let mut next = first;
        while let Some(idx) = next {
            self.line.set_parked(self.places[idx].slot, parked);
            next = self.places[idx].next;
        }
    }

    /// Fixes the list of entrants: everyone who waits now.
    pub(crate) fn entrants_now(&self) -> (u32, Digest) {
        (self.line.len(), draw::entrants_hash(self.in_order().map(|place| place.id)))
    }

    /// Starts the places' time to live and, with a seed, puts the entrants in their drawn order.
    ///
    /// Takes O(n log n) in those who wait, once in the life of an event.
    pub(crate) fn open(&mut self, at: Time, revealed: Revealed) {
        let mut order: Vec<Idx> = self.line.iter().collect();
        if let (Some(seed), Some(entrants)) = (&revealed.seed, &self.entrants) {
            let key = draw::draw_key(seed, revealed.public_value.as_deref());
            // Late comers follow the entrants in the order they came.
            order.sort_by_cached_key(|idx| {
                let place = &self.places[*idx];
                if place.number <= entrants.last_number {
                    (0, draw::rank(&key, place.id), place.id)
                } else {
                    (1, u64::from(place.number), place.id)
                }
            });
        }
        self.line = Line::default();
        for idx in order {
            self.places[idx].slot = self.line.push(idx, Some(at));
        }
        self.revealed = Some(revealed);
    }

    /// Moves what lasts on by the time the engine was away.
    pub(crate) fn move_on(&mut self, gap_ms: i64) {
        self.line.move_on(gap_ms);
        self.sessions.move_on(gap_ms);
    }

    /// What is public about the draw.
    pub(crate) fn draw_view(&self, seed_hash: Digest) -> DrawView {
        let revealed = self.revealed.as_ref();
        DrawView {
            seed_hash,
            entrants: self.entrants.as_ref().map(|entrants| entrants.count),
            entrants_hash: self.entrants.as_ref().map(|entrants| entrants.hash),
            list_fixed_at: self.entrants.as_ref().and_then(|entrants| entrants.fixed_at),
            seed: revealed.and_then(|revealed| revealed.seed),
            public_value: revealed.and_then(|revealed| revealed.public_value.clone()),
        }
    }

    /// Adds everything up again.
    pub(crate) fn check(&self, users: &Users, sale_opened: bool, broken: &mut Vec<String>) {
        let mut expect = |ok: bool, what: &str| {
            if !ok {
                broken.push(format!("waiting room: {what}"));
            }
        };
        expect(self.places.len() == self.line.len() as usize, "every place stands in the line");
        let seen = self.in_order().filter_map(|place| Some((self.last_seen(place)?, place.slot)));
        let seen: Vec<_> = seen.collect();
        let can_lapse = if sale_opened { self.places.len() } else { 0 };
        expect(
            seen.len() == can_lapse,
            "every place can lapse once the sale has opened, and none before",
        );
        expect(
            self.line.seen_longest_ago() == seen.into_iter().min(),
            "who was seen longest ago lapses first",
        );
        let mut eligible = 0_u32;
        for (position, idx) in (1_u32..).zip(self.line.iter()) {
            let place = &self.places[idx];
            expect(self.line.position(place.slot) == position, "positions count those ahead");
            let user = &users[place.user];
            expect(
                self.places_of(user.first_place).any(|other| other == idx),
                "every place is in its user's chain",
            );
            let may_be_admitted = user.session.is_none();
            eligible += u32::from(may_be_admitted);
            if may_be_admitted && eligible == 1 {
                expect(
                    self.line.first_eligible() == Some(idx),
                    "the first who may be admitted is next",
                );
            }
        }
        expect(
            self.line.has_eligible() == (eligible > 0),
            "somebody is next iff somebody may be admitted",
        );
        for (idx, user) in users.iter() {
            let slots: Vec<u32> =
                self.places_of(user.first_place).map(|i| self.places[i].slot).collect();
            expect(slots.is_sorted(), "a user's places are chained in the order they are served");
            expect(
                self.places_of(user.first_place).all(|i| self.places[i].user == idx),
                "a user's chain has only their places",
            );
        }
        self.sessions.check(users, &mut expect);
        self.gone.check(&mut expect);
    }
}

fn outflow_cost_ns(per_min: u32) -> i64 {
    60_000_000_000 / i64::from(per_min.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::tests::{complains, line};

    fn user(it: &crate::event::Event, user: &str) -> Idx {
        it.users.find(&user.parse().unwrap()).expect("a user")
    }

    #[test]
    fn a_line_that_is_not_that_of_the_places_is_noticed() {
        complains(line(), "every place stands in the line", |it| {
            it.room.line.push(user(it, "bob"), None);
        });
        complains(line(), "every place can lapse once the sale has opened", |it| it.opened = false);
        complains(line(), "every place is in its user's chain", |it| {
            let bob = user(it, "bob");
            it.users[bob].first_place = None;
        });
        complains(line(), "a user's chain has only their places", |it| {
            let (bob, cid) = (user(it, "bob"), user(it, "cid"));
            it.users[bob].first_place = it.users[cid].first_place;
        });
        complains(line(), "the first who may be admitted is next", |it| {
            let slot = it.room.places[it.users[user(it, "bob")].first_place.unwrap()].slot;
            it.room.line.set_parked(slot, true);
        });
        complains(line(), "somebody is next iff somebody may be admitted", |it| {
            for name in ["bob", "cid"] {
                let slot = it.room.places[it.users[user(it, name)].first_place.unwrap()].slot;
                it.room.line.set_parked(slot, true);
            }
        });
    }
}
