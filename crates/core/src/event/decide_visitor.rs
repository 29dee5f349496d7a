//! What visitors ask for in the queue and the room.

use super::{Changes, Decision, Event};
use crate::arena::Idx;
use crate::change::{Change, HoldChange, LeftHow, QueueChange, SessionEnd, VisitorChange};
use crate::hold::HoldState;
use crate::ids::{PlaceId, UserId};
use crate::limits::MAX_PLACES_EVER;
use crate::phase::Phase;
use crate::refusal::Refusal;
use crate::time::Time;
use crate::users::User;
use crate::view::{LeftFrom, PlaceState, PlaceView, Reply};
use crate::waiting_room::session::{Session, SessionState};

/// One of a user's places: in the line, or in the room.
pub(super) enum Standing<'a> {
    Waiting(Idx),
    In(&'a Session),
}

impl Event {
    pub(super) fn decide_join(
        &self,
        at: Time,
        place: PlaceId,
        user: &UserId,
    ) -> Result<Decision, Refusal> {
        let phase = self.phase_at(at);
        match phase {
            Phase::Prequeue | Phase::Open | Phase::Paused => {}
            Phase::Scheduled | Phase::Closed => return Err(Refusal::EventNotOpen { phase }),
        }
        let Some(settings) = self.room_settings() else {
            return Err(Refusal::NoWaitingRoom);
        };
        self.check_not_banned(user)?;
        if self.room.gone.knows(at, place) {
            return Err(Refusal::Duplicate { place });
        }
        if let Some(known) = self.user(user) {
            let session = known.session.map(|idx| self.room.sessions.get(idx).place);
            let waiting = self.room.places_of(known.first_place).map(|idx| self.room.place(idx).id);
            let (mut taken, mut first) = (0, None);
            for id in session.into_iter().chain(waiting) {
                if id == place {
                    return Err(Refusal::Duplicate { place });
                }
                first = first.or(Some(id));
                taken += 1;
            }
            if let Some(first) = first.filter(|_| taken >= settings.places_per_user) {
                return Err(Refusal::AlreadyInQueue { place: first });
            }
        }
        if self.room.waiting() >= settings.max_queue_size || self.room.taken >= MAX_PLACES_EVER {
            return Err(Refusal::QueueFull);
        }
        let number = self.room.taken + 1;
        let waiting = self.room.waiting() + 1;
        let state = PlaceState::Queued {
            position: self.positions_mean_something().then_some(waiting),
            total: waiting,
            lapses_at: self.opened.then(|| at.plus_ms(settings.place_ttl_ms)),
            see_due: false,
        };
        let taken = QueueChange::PlaceTaken { place, user: user.clone(), number };
        Ok(Decision::one(Reply::Place(PlaceView { place, number, state }), taken))
    }

    pub(super) fn decide_leave(
        &self,
        at: Time,
        place: PlaceId,
        user: &UserId,
    ) -> Result<Decision, Refusal> {
        let user = user.clone();
        match self.standing(at, place, &user)? {
            Standing::Waiting(_) => {
                let left = QueueChange::PlaceLeft { place, user, how: LeftHow::Left };
                Ok(Decision::one(Reply::Left(LeftFrom::Queue), left))
            }
            Standing::In(session) => {
                let last_hold = self.users[session.user].last_hold;
                let mut changes = Changes::new();
                for hold in self.bookings.live_of_user(last_hold) {
                    if matches!(hold.state, HoldState::Paying { .. }) {
                        return Err(Refusal::CannotCancel);
                    }
                    let booking = hold.terms.booking.clone();
                    changes.push(HoldChange::HoldReleased { booking }.into());
                }
                if session.state != SessionState::Ended {
                    let (user, how) = (user.clone(), SessionEnd::Left);
                    changes.push(VisitorChange::SessionEnded { place, user, how }.into());
                }
                changes.push(VisitorChange::SlotFreed { place, user }.into());
                Ok(Decision { reply: Reply::Left(LeftFrom::Active), changes })
            }
        }
    }

    pub(super) fn decide_see(
        &self,
        at: Time,
        place: PlaceId,
        user: &UserId,
    ) -> Result<Decision, Refusal> {
        self.standing(at, place, user)?;
        let first = self.user(user).and_then(|known| known.first_place);
        // Whoever is there is so with all of their places.
        let seen = self.places_to_see(at, first).map(|idx| {
            let place = self.room.place(idx).id;
            Change::from(QueueChange::PlaceSeen { place, user: user.clone() })
        });
        Ok(Decision { reply: Reply::Done, changes: seen.collect() })
    }

    pub(super) fn decide_arrive(
        &self,
        at: Time,
        place: PlaceId,
        user: &UserId,
    ) -> Result<Decision, Refusal> {
        let Standing::In(session) = self.standing(at, place, user)? else {
            return Err(Refusal::NotYourTurn);
        };
        let number = session.number;
        let see_due = self.sees_others(at, session);
        let reply = |until| {
            Reply::Place(PlaceView {
                place,
                number,
                state: PlaceState::Active { until, arrive_by: None, see_due },
            })
        };
        match session.state {
            SessionState::Invited { until, .. } if session.state.may_hold(at) => {
                let arrived = VisitorChange::Arrived { place, user: user.clone() };
                Ok(Decision::one(reply(until), arrived))
            }
            SessionState::Active { until } if at < until => Ok(Decision::nothing(reply(until))),
            SessionState::Invited { .. } | SessionState::Active { .. } | SessionState::Ended => {
                Err(Refusal::SessionOver)
            }
        }
    }

    /// Where one of the user's places stands at `at`.
    pub(super) fn standing(
        &self,
        at: Time,
        place: PlaceId,
        user: &UserId,
    ) -> Result<Standing<'_>, Refusal> {
        let known = self.user(user).ok_or(Refusal::PlaceNotFound)?;
        let session = known.session.map(|idx| self.room.sessions.get(idx));
        if let Some(session) = session.filter(|session| session.place == place) {
            return Ok(Standing::In(session));
        }
        self.room
            .places_of(known.first_place)
            .find(|idx| self.room.place(*idx).id == place)
            .filter(|idx| !self.has_lapsed(at, *idx))
            .map(Standing::Waiting)
            .ok_or(Refusal::PlaceNotFound)
    }

    fn has_lapsed(&self, at: Time, idx: Idx) -> bool {
        let lapses_at =
            self.room_settings().and_then(|settings| self.room.lapses_at(idx, settings));
        lapses_at.is_some_and(|lapses_at| lapses_at <= at)
    }

    /// Whether a sign of life at `at` is worth writing down.
    fn is_see_due(&self, at: Time, idx: Idx) -> bool {
        self.room_settings().is_some_and(|settings| self.room.see_due(at, idx, settings))
    }

    /// Those of a user's waiting places, from the first on, of which that is so.
    fn places_to_see(&self, at: Time, first: Option<Idx>) -> impl Iterator<Item = Idx> + '_ {
        self.room.places_of(first).filter(move |idx| self.is_see_due(at, *idx))
    }

    /// Whether who is in the room waits with a place of which that is so.
    fn sees_others(&self, at: Time, session: &Session) -> bool {
        self.places_to_see(at, self.users[session.user].first_place).next().is_some()
    }

    /// Before a draw nobody is ahead of anybody.
    fn positions_mean_something(&self) -> bool {
        let drawn = self.settings.as_ref().is_some_and(|settings| settings.seed_hash().is_some());
        !drawn || self.opened
    }

    /// The user's session while it lasts, else whichever of their places is served first, else the
    /// session that is over.
    pub(super) fn view_first_place(&self, at: Time, user: &UserId) -> Result<PlaceView, Refusal> {
        let known: &User = self.user(user).ok_or(Refusal::PlaceNotFound)?;
        let session = known.session.map(|idx| self.room.sessions.get(idx));
        if let Some(session) = session.filter(|session| session.state.may_hold(at)) {
            return Ok(self.session_view(at, session));
        }
        self.room
            .places_of(known.first_place)
            .find(|idx| !self.has_lapsed(at, *idx))
            .map(|idx| self.waiting_view(at, idx))
            .or_else(|| session.map(|session| self.session_view(at, session)))
            .ok_or(Refusal::PlaceNotFound)
    }

    pub(super) fn view_place(
        &self,
        at: Time,
        place: PlaceId,
        user: &UserId,
    ) -> Result<PlaceView, Refusal> {
        match self.standing(at, place, user)? {
            Standing::Waiting(idx) => Ok(self.waiting_view(at, idx)),
            Standing::In(session) => Ok(self.session_view(at, session)),
        }
    }

    fn waiting_view(&self, at: Time, idx: Idx) -> PlaceView {
        let place = self.room.place(idx);
        let settings = self.room_settings();
        let state = PlaceState::Queued {
            position: self.positions_mean_something().then(|| self.room.position(idx)),
            total: self.room.waiting(),
            lapses_at: settings.and_then(|settings| self.room.lapses_at(idx, settings)),
            see_due: self.is_see_due(at, idx),
        };
        PlaceView { place: place.id, number: place.number, state }
    }

    fn session_view(&self, at: Time, session: &Session) -> PlaceView {
        let see_due = self.sees_others(at, session);
        let state = match session.state {
            SessionState::Invited { until, arrive_by } if session.state.may_hold(at) => {
                PlaceState::Active { until, arrive_by: Some(arrive_by), see_due }
            }
            SessionState::Active { until } if at < until => {
                PlaceState::Active { until, arrive_by: None, see_due }
            }
            SessionState::Invited { .. } | SessionState::Active { .. } | SessionState::Ended => {
                PlaceState::Ended { until: self.slot_kept_until(at, session) }
            }
        };
        PlaceView { place: session.place, number: session.number, state }
    }

    /// Until when a session that is over keeps its slot: as long as what its user holds. With
    /// nothing held it is free at the next tick.
    fn slot_kept_until(&self, at: Time, session: &Session) -> Time {
        let holds = self.bookings.live_of_user(self.users[session.user].last_hold);
        holds.filter_map(|hold| hold.state.until()).max().unwrap_or(at)
    }
}
