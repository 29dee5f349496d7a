//! Decisions about visitors whom the organiser wants out.

use super::decide_organiser::check_reason;
use super::{Changes, Decision, Event};
use crate::change::{HoldChange, LeftHow, QueueChange, SessionEnd, VisitorChange};
use crate::hold::HoldState;
use crate::ids::UserId;
use crate::limits::MAX_BANS_PER_EVENT;
use crate::refusal::Refusal;
use crate::spec::Reason;
use crate::users::User;
use crate::view::{RemovedView, Reply};
use crate::waiting_room::session::SessionState;

impl Event {
    /// Checks that the organiser has not banned `user`.
    pub(super) fn check_not_banned(&self, user: &UserId) -> Result<(), Refusal> {
        if self.bans.has(user) { Err(Refusal::VisitorBanned) } else { Ok(()) }
    }

    pub(super) fn decide_remove_visitor(
        &self,
        user: &UserId,
        reason: &Reason,
        ban: bool,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        let is_banned = self.bans.has(user);
        let banned = ban && !is_banned;
        if banned && self.bans.len() >= MAX_BANS_PER_EVENT {
            return Err(Refusal::BanListFull { limit: MAX_BANS_PER_EVENT });
        }
        let mut view = RemovedView {
            user: user.clone(),
            places: 0,
            session: false,
            released: 0,
            paying: Vec::new(),
            banned: banned || is_banned,
        };
        let taken = self.user(user).map(|known| self.all_unpaid_of(known, &mut view));
        let taken = taken.unwrap_or_default();
        if taken.is_empty() && !banned {
            return Ok(Decision::nothing(Reply::Removed(view)));
        }
        let (user, reason) = (user.clone(), reason.clone());
        let mut changes = Changes::new();
        changes.push(VisitorChange::VisitorRemoved { user, reason, banned }.into());
        changes.extend(taken);
        Ok(Decision { reply: Reply::Removed(view), changes })
    }

    /// Releases a visitor's unpaid holds, latest first, and gives up their places and their session.
    ///
    /// A session keeps its slot while a payment runs, as the end of any session does.
    fn all_unpaid_of(&self, known: &User, view: &mut RemovedView) -> Changes {
        let mut changes = Changes::new();
        for hold in self.bookings.live_of_user(known.last_hold) {
            let booking = hold.terms.booking.clone();
            if matches!(hold.state, HoldState::Paying { .. }) {
                view.paying.push(booking);
            } else {
                view.released += 1;
                changes.push(HoldChange::HoldReleased { booking }.into());
            }
        }
        for idx in self.room.places_of(known.first_place) {
            view.places += 1;
            let place = self.room.place(idx).id;
            let (user, how) = (known.id.clone(), LeftHow::Removed);
            changes.push(QueueChange::PlaceLeft { place, user, how }.into());
        }
        if let Some(session) = known.session.map(|idx| self.room.sessions.get(idx)) {
            let (place, user) = (session.place, &known.id);
            if session.state != SessionState::Ended {
                view.session = true;
                let how = SessionEnd::Removed;
                changes.push(VisitorChange::SessionEnded { place, user: user.clone(), how }.into());
            }
            if view.paying.is_empty() {
                changes.push(VisitorChange::SlotFreed { place, user: user.clone() }.into());
            }
        }
        changes
    }

    pub(super) fn decide_unban_visitor(
        &self,
        user: &UserId,
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        if !self.bans.has(user) {
            return Ok(Decision::nothing(Reply::Done));
        }
        let (user, reason) = (user.clone(), reason.clone());
        Ok(Decision::done(VisitorChange::VisitorUnbanned { user, reason }))
    }
}
