//! What visitors ask for in the queue and in the room, and how they are removed.

use super::books::{Inside, Stay, Waiting};
use super::settings::check_reason;
use super::{Answer, Oracle};
use onrush_core::change::{HoldChange, LeftHow, QueueChange, SessionEnd, VisitorChange};
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, PlaceId, UserId};
use onrush_core::limits::{ENDED_KNOWN_MS, MAX_BANS_PER_EVENT, MAX_PLACES_EVER};
use onrush_core::spec::Reason;
use onrush_core::view::{LeftFrom, PlaceState, PlaceView, RemovedView, Reply};
use onrush_core::{Phase, Refusal, Time};

/// Where a place is: its index in the line, or in the room.
pub(super) enum Found {
    InLine(usize),
    InRoom(usize),
}

impl Oracle {
    pub(super) fn waiting(&self) -> u32 {
        u32::try_from(self.line.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn session_of(&self, user: &UserId) -> Option<usize> {
        self.inside.iter().position(|inside| inside.user == *user)
    }

    /// Positions mean nothing before a draw.
    pub(super) fn is_ordered(&self) -> bool {
        self.opened || Self::commitment(self.settings()).is_none()
    }

    pub(super) fn lapses_at(&self, waiting: &Waiting) -> Option<Time> {
        Some(waiting.seen?.plus_ms(self.room()?.place_ttl_ms))
    }

    fn has_lapsed(&self, at: Time, waiting: &Waiting) -> bool {
        self.lapses_at(waiting).is_some_and(|lapses_at| at >= lapses_at)
    }

    pub(super) fn find_place(&self, at: Time, place: PlaceId, user: &UserId) -> Option<Found> {
        if let Some(index) = self.session_of(user)
            && self.inside[index].place == place
        {
            return Some(Found::InRoom(index));
        }
        let mine = |waiting: &Waiting| waiting.place == place && waiting.user == *user;
        let index = self.line.iter().position(mine)?;
        (!self.has_lapsed(at, &self.line[index])).then_some(Found::InLine(index))
    }

    pub(super) fn join(&mut self, at: Time, place: PlaceId, user: &UserId) -> Answer {
        let phase = self.phase_at(at);
        if matches!(phase, Phase::Scheduled | Phase::Closed) {
            return Err(Refusal::EventNotOpen { phase });
        }
        let Some(room) = self.room() else { return Err(Refusal::NoWaitingRoom) };
        if self.bans.contains_key(user) {
            return Err(Refusal::VisitorBanned);
        }
        if self.gone.get(&place).is_some_and(|until| at < *until) {
            return Err(Refusal::Duplicate { place });
        }
        let inside = self.inside.iter().filter(|it| it.user == *user).map(|it| it.place);
        let waiting = self.line.iter().filter(|it| it.user == *user).map(|it| it.place);
        let mine: Vec<PlaceId> = inside.chain(waiting).collect();
        if mine.contains(&place) {
            return Err(Refusal::Duplicate { place });
        }
        if mine.len() >= room.places_per_user as usize {
            return Err(Refusal::AlreadyInQueue { place: mine[0] });
        }
        if self.waiting() >= room.max_queue_size || self.taken >= MAX_PLACES_EVER {
            return Err(Refusal::QueueFull);
        }
        let ttl_ms = room.place_ttl_ms;
        self.taken += 1;
        let number = self.taken;
        let seen = if self.opened { Some(at) } else { None };
        self.line.push(Waiting { place, user: user.clone(), number, seen });
        self.change(QueueChange::PlaceTaken { place, user: user.clone(), number });
        let total = self.waiting();
        let state = PlaceState::Queued {
            position: if self.is_ordered() { Some(total) } else { None },
            total,
            lapses_at: seen.map(|seen| seen.plus_ms(ttl_ms)),
            see_due: false,
        };
        Ok(Reply::Place(PlaceView { place, number, state }))
    }

    pub(super) fn leave(&mut self, at: Time, place: PlaceId, user: &UserId) -> Answer {
        match self.find_place(at, place, user).ok_or(Refusal::PlaceNotFound)? {
            Found::InLine(index) => {
                self.drop_from_line(at, index, LeftHow::Left);
                Ok(Reply::Left(LeftFrom::Queue))
            }
            Found::InRoom(_) => {
                let live = self.live_of(user);
                if live.iter().any(|booking| self.is_paying(booking)) {
                    return Err(Refusal::CannotCancel);
                }
                live.iter().for_each(|booking| self.give_back(at, booking));
                self.end_session(user, SessionEnd::Left);
                self.free_slot(at, user);
                Ok(Reply::Left(LeftFrom::Active))
            }
        }
    }

    pub(super) fn is_paying(&self, booking: &BookingId) -> bool {
        matches!(self.bookings[booking].state, HoldState::Paying { .. })
    }

    /// Releases a hold.
    pub(super) fn give_back(&mut self, at: Time, booking: &BookingId) {
        self.change(HoldChange::HoldReleased { booking: booking.clone() });
        self.end_live(booking, HoldState::Released { at });
    }

    pub(super) fn drop_from_line(&mut self, at: Time, index: usize, how: LeftHow) {
        let Waiting { place, user, .. } = self.line.remove(index);
        self.change(QueueChange::PlaceLeft { place, user, how });
        self.gone.insert(place, at.plus_ms(ENDED_KNOWN_MS));
    }

    /// Ends a user's session, if it has not ended before.
    pub(super) fn end_session(&mut self, user: &UserId, how: SessionEnd) {
        let Some(index) = self.session_of(user) else { return };
        if self.inside[index].stay != Stay::Over {
            self.inside[index].stay = Stay::Over;
            let (place, user) = (self.inside[index].place, user.clone());
            self.change(VisitorChange::SessionEnded { place, user, how });
        }
    }

    /// Frees the slot of a session that is over.
    pub(super) fn free_slot(&mut self, at: Time, user: &UserId) {
        let Some(index) = self.session_of(user) else { return };
        let Inside { place, user, .. } = self.inside.remove(index);
        self.change(VisitorChange::SlotFreed { place, user });
        self.gone.insert(place, at.plus_ms(ENDED_KNOWN_MS));
    }

    /// A session that is over frees its slot with the last live hold.
    pub(super) fn free_slot_if_over(&mut self, at: Time, user: &UserId) {
        let over = self.session_of(user).is_some_and(|it| self.inside[it].stay == Stay::Over);
        if over && self.live_of(user).is_empty() {
            self.free_slot(at, user);
        }
    }

    pub(super) fn is_sign_due(&self, at: Time, waiting: &Waiting) -> bool {
        let (Some(room), Some(seen)) = (self.room(), waiting.seen) else { return false };
        let unseen_ms = at.0 - seen.0;
        let every_ms = (room.place_ttl_ms / 6).min(300_000);
        unseen_ms >= every_ms && unseen_ms < room.place_ttl_ms
    }

    /// Whether that is so of any place with which this user waits.
    pub(super) fn is_any_sign_due(&self, at: Time, user: &UserId) -> bool {
        self.line.iter().any(|it| it.user == *user && self.is_sign_due(at, it))
    }

    pub(super) fn see(&mut self, at: Time, place: PlaceId, user: &UserId) -> Answer {
        self.find_place(at, place, user).ok_or(Refusal::PlaceNotFound)?;
        for index in 0..self.line.len() {
            if self.line[index].user == *user && self.is_sign_due(at, &self.line[index]) {
                self.line[index].seen = Some(at);
                let place = self.line[index].place;
                self.change(QueueChange::PlaceSeen { place, user: user.clone() });
            }
        }
        Self::done()
    }

    pub(super) fn arrive(&mut self, at: Time, place: PlaceId, user: &UserId) -> Answer {
        let index = match self.find_place(at, place, user).ok_or(Refusal::PlaceNotFound)? {
            Found::InLine(_) => return Err(Refusal::NotYourTurn),
            Found::InRoom(index) => index,
        };
        let Inside { number, stay, .. } = self.inside[index];
        if !stay.lasts_at(at) {
            return Err(Refusal::SessionOver);
        }
        let until = match stay {
            Stay::Invited { until, .. } => {
                self.show_up(user);
                until
            }
            Stay::Active { until } => until,
            Stay::Over => return Err(Refusal::SessionOver),
        };
        let see_due = self.is_any_sign_due(at, user);
        let state = PlaceState::Active { until, arrive_by: None, see_due };
        Ok(Reply::Place(PlaceView { place, number, state }))
    }

    /// Whoever is invited and takes something has shown up.
    pub(super) fn show_up(&mut self, user: &UserId) {
        let Some(index) = self.session_of(user) else { return };
        if let Stay::Invited { until, .. } = self.inside[index].stay {
            self.inside[index].stay = Stay::Active { until };
            let place = self.inside[index].place;
            self.change(VisitorChange::Arrived { place, user: user.clone() });
        }
    }

    pub(super) fn remove(&mut self, at: Time, user: &UserId, reason: &Reason, ban: bool) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        let was_banned = self.bans.contains_key(user);
        let banned = ban && !was_banned;
        if banned && self.bans.len() >= MAX_BANS_PER_EVENT as usize {
            return Err(Refusal::BanListFull { limit: MAX_BANS_PER_EVENT });
        }
        // Nothing may be written about a visitor from whom nothing is taken.
        self.change(VisitorChange::VisitorRemoved {
            user: user.clone(),
            reason: reason.clone(),
            banned,
        });
        if banned {
            self.bans.insert(user.clone(), (reason.clone(), at));
        }
        let (paying, unpaid): (Vec<_>, Vec<_>) =
            self.live_of(user).into_iter().partition(|booking| self.is_paying(booking));
        unpaid.iter().for_each(|booking| self.give_back(at, booking));
        let mut places = 0;
        while let Some(index) = self.line.iter().position(|waiting| waiting.user == *user) {
            self.drop_from_line(at, index, LeftHow::Removed);
            places += 1;
        }
        let session = self.session_of(user).is_some_and(|it| self.inside[it].stay != Stay::Over);
        self.end_session(user, SessionEnd::Removed);
        if paying.is_empty() {
            self.free_slot(at, user);
        }
        if self.changes.len() == 1 && !banned {
            self.changes.clear();
        }
        Ok(Reply::Removed(RemovedView {
            user: user.clone(),
            places,
            session,
            released: u32::try_from(unpaid.len()).unwrap_or(u32::MAX),
            paying,
            banned: banned || was_banned,
        }))
    }

    pub(super) fn unban(&mut self, user: &UserId, reason: &Reason) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        if self.bans.remove(user).is_some() {
            let (user, reason) = (user.clone(), reason.clone());
            self.change(VisitorChange::VisitorUnbanned { user, reason });
        }
        Self::done()
    }
}
