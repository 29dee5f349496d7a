//! Sessions: the slots of the room, and until when each is somebody's.

use crate::arena::{Arena, Idx};
use crate::ids::PlaceId;
use crate::time::Time;
use crate::users::Users;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An admitted visitor's session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) place: PlaceId,
    pub(crate) user: Idx,
    /// The place's number in the order taken.
    pub(crate) number: u32,
    pub(crate) state: SessionState,
    /// The user's live holds; while there are any the slot stays theirs.
    pub(crate) live_holds: u32,
}

impl Session {
    /// Whether its visitor may take something and has nothing yet.
    fn is_choosing(&self) -> bool {
        self.live_holds == 0 && self.state != SessionState::Ended
    }
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Admitted, but not there yet.
    Invited {
        /// When the session ends.
        until: Time,
        /// Until when the visitor must show up.
        arrive_by: Time,
    },
    /// There.
    Active {
        /// When the session ends.
        until: Time,
    },
    /// Over for new holds; a live hold keeps the slot.
    Ended,
}

impl SessionState {
    /// Whether new holds are possible at `at`.
    pub(crate) fn may_hold(self, at: Time) -> bool {
        match self {
            Self::Invited { until, arrive_by } => at < until && at < arrive_by,
            Self::Active { until } => at < until,
            Self::Ended => false,
        }
    }

    fn moved(self, gap_ms: i64) -> Self {
        match self {
            Self::Invited { until, arrive_by } => {
                Self::Invited { until: until.plus_ms(gap_ms), arrive_by: arrive_by.plus_ms(gap_ms) }
            }
            Self::Active { until } => Self::Active { until: until.plus_ms(gap_ms) },
            Self::Ended => Self::Ended,
        }
    }
}

/// A deadline of a session: when, the place's number, and where the session is.
type SessionDeadline = (Time, u32, Idx);

/// All sessions of one room.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    arena: Arena<Session>,
    arrivals: BTreeSet<SessionDeadline>,
    ends: BTreeSet<SessionDeadline>,
    /// How many visitors may take something and have nothing yet.
    choosing: u32,
}

impl Sessions {
    /// Slots in use.
    pub(crate) fn len(&self) -> usize {
        self.arena.len()
    }

    /// How many visitors may take something and have nothing yet.
    pub(crate) fn choosing(&self) -> u32 {
        self.choosing
    }

    pub(crate) fn get(&self, idx: Idx) -> &Session {
        &self.arena[idx]
    }

    /// The session whose visitor fails to show up next, and when.
    pub(crate) fn next_no_show(&self) -> Option<(Time, Idx)> {
        self.arrivals.first().map(|(at, _, idx)| (*at, *idx))
    }

    /// The session that ends next, and when.
    pub(crate) fn next_end(&self) -> Option<(Time, Idx)> {
        self.ends.first().map(|(at, _, idx)| (*at, *idx))
    }

    pub(crate) fn insert(&mut self, session: Session) -> Idx {
        self.choosing += u32::from(session.is_choosing());
        let idx = self.arena.insert(session);
        self.enter_deadlines(idx);
        idx
    }

    pub(crate) fn set_state(&mut self, idx: Idx, state: SessionState) {
        self.drop_deadlines(idx);
        self.change(idx, |session| session.state = state);
        self.enter_deadlines(idx);
    }

    /// Counts the user's live holds up or down.
    pub(crate) fn count_holds(&mut self, idx: Idx, change: i32) {
        self.change(idx, |session| {
            let count = session.live_holds.checked_add_signed(change);
            session.live_holds = count.expect("live holds are counted from zero");
        });
    }

    fn change(&mut self, idx: Idx, change: impl FnOnce(&mut Session)) {
        let session = &mut self.arena[idx];
        self.choosing -= u32::from(session.is_choosing());
        change(session);
        self.choosing += u32::from(session.is_choosing());
    }

    pub(crate) fn remove(&mut self, idx: Idx) -> Session {
        self.drop_deadlines(idx);
        let session = self.arena.remove(idx);
        self.choosing -= u32::from(session.is_choosing());
        session
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.arena.iter().map(|(_, session)| session)
    }

    pub(crate) fn move_on(&mut self, gap_ms: i64) {
        for session in self.arena.iter_mut() {
            session.state = session.state.moved(gap_ms);
        }
        let move_on = |deadlines: &BTreeSet<SessionDeadline>| {
            deadlines.iter().map(|(at, number, idx)| (at.plus_ms(gap_ms), *number, *idx)).collect()
        };
        self.arrivals = move_on(&self.arrivals);
        self.ends = move_on(&self.ends);
    }

    fn deadlines_of(&self, idx: Idx) -> (Option<SessionDeadline>, Option<SessionDeadline>) {
        let session = &self.arena[idx];
        let deadline = |at| Some((at, session.number, idx));
        match session.state {
            SessionState::Invited { until, arrive_by } => (deadline(arrive_by), deadline(until)),
            SessionState::Active { until } => (None, deadline(until)),
            SessionState::Ended => (None, None),
        }
    }

    fn enter_deadlines(&mut self, idx: Idx) {
        let (arrival, end) = self.deadlines_of(idx);
        self.arrivals.extend(arrival);
        self.ends.extend(end);
    }

    fn drop_deadlines(&mut self, idx: Idx) {
        let (arrival, end) = self.deadlines_of(idx);
        arrival.map(|deadline| self.arrivals.remove(&deadline));
        end.map(|deadline| self.ends.remove(&deadline));
    }

    pub(crate) fn check(&self, users: &Users, expect: &mut impl FnMut(bool, &str)) {
        for (idx, session) in self.arena.iter() {
            expect(
                users[session.user].session == Some(idx),
                "every session is its user's one session",
            );
            let (arrival, end) = self.deadlines_of(idx);
            expect(
                arrival.is_none_or(|key| self.arrivals.contains(&key)),
                "every invitation can lapse",
            );
            expect(end.is_none_or(|key| self.ends.contains(&key)), "every session can end");
            let over = session.state == SessionState::Ended;
            expect(
                !over || session.live_holds > 0,
                "a session that is over keeps its slot for a live hold",
            );
        }
        let choosing = self.iter().filter(|session| session.is_choosing()).count();
        expect(self.choosing as usize == choosing, "those who choose are counted");
        expect(self.ends.len() <= self.arena.len(), "only sessions that exist can end");
        expect(self.arrivals.len() <= self.ends.len(), "only sessions that can end can lapse");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::tests::{complains, line};

    #[test]
    fn deadlines_and_counts_that_are_not_those_of_the_sessions_are_noticed() {
        let is = |complaint, spoil: fn(&mut Sessions)| {
            complains(line(), complaint, |it| spoil(&mut it.room.sessions));
        };
        let first = |it: &Sessions| it.arena.iter().next().expect("a session").0;
        is("every invitation can lapse", |it| it.arrivals.clear());
        is("every session can end", |it| it.ends.clear());
        is("those who choose are counted", |it| it.choosing += 1);
        complains(line(), "only sessions that exist can end", |it| {
            let idx = first(&it.room.sessions);
            it.room.sessions.ends.insert((Time(5), 9, idx));
        });
        complains(line(), "only sessions that can end can lapse", |it| {
            let idx = first(&it.room.sessions);
            it.room.sessions.arrivals.insert((Time(5), 9, idx));
        });
        complains(line(), "a session that is over keeps its slot for a live hold", |it| {
            let idx = first(&it.room.sessions);
            it.room.sessions.set_state(idx, SessionState::Ended);
        });
        complains(line(), "every session is its user's one session", |it| {
            let user = it.room.sessions.iter().next().expect("a session").user;
            it.users[user].session = None;
        });
    }
}
