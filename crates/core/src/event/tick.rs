//! What is due: deadlines, and admissions.

use super::{Changes, Decision, Event};
use crate::change::{
    Change, ClaimChange, DeclaimedHow, HoldChange, LeftHow, QueueChange, SaleChange, SessionEnd,
    SetupChange, VisitorChange,
};
use crate::phase::Phase;
use crate::prices::{Ladder, PriceStep};
use crate::settings::{RoomSettings, Settings};
use crate::time::Time;
use crate::view::Reply;
use crate::waiting_room::session::SessionState;
use smallvec::smallvec;

/// What a deadline is about, in the order in which equal times are dealt with.
///
/// Equal times of one kind go by id: bookings, claims and channels by theirs, sessions by their place's
/// number, and waiting places by where they stand in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Schedule,
    HoldExpires,
    ClaimExpires,
    NoShow,
    SessionEnds,
    PlaceLapses,
    ForgetHold,
    ForgetClaim,
    PriceStep,
    ChannelRelease,
}

impl Event {
    /// When the next tick is due; [`Time::MIN`] if it is due whatever the clock says.
    ///
    /// A tick that comes too early, or twice, changes nothing.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        let settings = self.settings.as_ref()?;
        let deadline = self.first_deadline(settings).map(|(at, _)| at);
        let admission = self.admission_due();
        match (deadline, admission) {
            (Some(deadline), Some(admission)) => Some(deadline.min(admission)),
            (deadline, admission) => deadline.or(admission),
        }
    }

    /// One deadline that is due, else one admission that is due, else nothing.
    pub(super) fn decide_tick(&self, at: Time, settings: &Settings) -> Decision {
        let due = self.first_deadline(settings).filter(|(deadline, _)| *deadline <= at);
        let changes = match due {
            Some((_, kind)) => self.decide_deadline(kind),
            None => match self.admission_due() {
                Some(due) if due <= at => self.decide_admission(at),
                Some(_) | None => Changes::new(),
            },
        };
        Decision { reply: Reply::Done, changes }
    }

    fn first_deadline(&self, settings: &Settings) -> Option<(Time, Kind)> {
        let lapse = settings.room.as_ref().and_then(|room| self.room.next_lapse(room));
        [
            (self.next_schedule(settings), Kind::Schedule),
            (self.bookings.next_expiry().map(|(at, _)| at), Kind::HoldExpires),
            (self.claims.next_expiry().map(|(at, _)| *at), Kind::ClaimExpires),
            (self.room.sessions.next_no_show().map(|(at, _)| at), Kind::NoShow),
            (self.room.sessions.next_end().map(|(at, _)| at), Kind::SessionEnds),
            (lapse.map(|(at, _)| at), Kind::PlaceLapses),
            (self.bookings.next_forget().map(|(at, _)| at), Kind::ForgetHold),
            (self.claims.next_forget().map(|(at, _)| *at), Kind::ForgetClaim),
            (self.prices.next_step().map(|(step, _)| step.from), Kind::PriceStep),
            (self.channels.next_release().map(|(at, _)| at), Kind::ChannelRelease),
        ]
        .into_iter()
        .filter_map(|(at, kind)| Some((at?, kind)))
        .min()
    }

    fn next_schedule(&self, settings: &Settings) -> Option<Time> {
        let closes_at = settings.closes_at;
        match self.phase {
            Phase::Scheduled => {
                let prequeue_at = settings.prequeue_at.filter(|_| settings.room.is_some());
                [prequeue_at, settings.opens_at, closes_at].into_iter().flatten().min()
            }
            Phase::Prequeue => {
                let waits_for_seed = settings.seed_hash().is_some() && self.room.entrants.is_some();
                let opens_at = settings.opens_at.filter(|_| !waits_for_seed);
                [opens_at, closes_at].into_iter().flatten().min()
            }
            Phase::Open | Phase::Paused => closes_at,
            Phase::Closed => None,
        }
    }

    fn decide_schedule(&self) -> Change {
        let settings = self.settings.as_ref().expect("a scheduled event has settings");
        let due = self.next_schedule(settings);
        if due == settings.closes_at {
            SaleChange::SaleClosed.into()
        } else if due == settings.opens_at {
            // The seed of a draw is not known here: whoever keeps it opens the sale once the list is fixed.
            match settings.seed_hash() {
                Some(_) => self.prequeue_closed().into(),
                None => SaleChange::SaleOpened { seed: None, public_value: None }.into(),
            }
        } else {
            SaleChange::PrequeueOpened.into()
        }
    }

    fn decide_deadline(&self, kind: Kind) -> Changes {
        let room_settings = self.room_settings();
        match kind {
            Kind::Schedule => smallvec![self.decide_schedule()],
            Kind::HoldExpires => {
                let (_, idx) = self.bookings.next_expiry().expect("a hold's deadline is due");
                self.expiry_of(&self.bookings[idx])
            }
            Kind::ClaimExpires => {
                let (_, id) = self.claims.next_expiry().expect("a claim's deadline is due");
                let claim = self.claims.get(id).expect("a deadline's claim exists");
                smallvec![self.declaimed(claim, DeclaimedHow::Expired).into()]
            }
            Kind::NoShow => {
                let (_, idx) = self.room.sessions.next_no_show().expect("an invitation is due");
                self.session_over(idx, SessionEnd::NoShow)
            }
            Kind::SessionEnds => {
                let (_, idx) = self.room.sessions.next_end().expect("a session's end is due");
                self.session_over(idx, SessionEnd::Timeout)
            }
            Kind::PlaceLapses => {
                let lapse = room_settings.and_then(|settings| self.room.next_lapse(settings));
                let (_, idx) = lapse.expect("a place's deadline is due");
                let place = self.room.place(idx);
                let (place, user) = (place.id, self.users[place.user].id.clone());
                smallvec![QueueChange::PlaceLeft { place, user, how: LeftHow::Lapsed }.into()]
            }
            Kind::ForgetHold => {
                let (_, idx) = self.bookings.next_forget().expect("an ended booking is due");
                let booking = self.bookings[idx].terms.booking.clone();
                smallvec![HoldChange::HoldForgotten { booking }.into()]
            }
            Kind::ForgetClaim => {
                let (_, id) = self.claims.next_forget().expect("an ended claim is due");
                smallvec![ClaimChange::ClaimForgotten { claim: id.clone() }.into()]
            }
            Kind::PriceStep => {
                let (step, ladder) = self.prices.next_step().expect("a price's time has come");
                smallvec![self.price_step(step, ladder).into()]
            }
            Kind::ChannelRelease => {
                let (_, channel) =
                    self.channels.next_release().expect("a channel is to be released");
                smallvec![self.planned_release(channel).into()]
            }
        }
    }

    fn session_over(&self, idx: crate::arena::Idx, how: SessionEnd) -> Changes {
        let session = self.room.sessions.get(idx);
        let (place, user) = (session.place, &self.users[session.user].id);
        let mut changes: Changes =
            smallvec![VisitorChange::SessionEnded { place, user: user.clone(), how }.into()];
        if session.live_holds == 0 {
            changes.push(VisitorChange::SlotFreed { place, user: user.clone() }.into());
        }
        changes
    }

    /// A price that was to come has come.
    fn price_step(&self, step: PriceStep, ladder: &Ladder) -> SetupChange {
        let of = ladder.of.clone();
        let before_minor = self.last_price_minor(&of).expect("what has a ladder exists");
        let (price_minor, later) = (step.price_minor, ladder.later[1..].to_vec());
        SetupChange::PriceChanged { of, before_minor, price_minor, later, reason: None }
    }

    fn admission_due(&self) -> Option<Time> {
        let settings = self.room_settings()?;
        match self.phase {
            Phase::Open => {
                let due = self.room.admission_due(settings)?;
                self.finds_something(settings).then_some(due)
            }
            Phase::Scheduled | Phase::Prequeue | Phase::Paused | Phase::Closed => None,
        }
    }

    /// Whether whoever is let in now finds something to take. An event without stock of its own is
    /// a waiting room for a shop elsewhere.
    fn finds_something(&self, settings: &RoomSettings) -> bool {
        let choosing = self.room.sessions.choosing();
        let is_enough = |units| settings.finds_something(units, choosing);
        // Channels only add to what is for everybody, and are seldom needed.
        !self.has_stock() || is_enough(self.units_on_sale()) || is_enough(self.units_for_the_line())
    }

    fn decide_admission(&self, at: Time) -> Changes {
        let settings = self.room_settings().expect("only an event with a room admits");
        let idx = self.room.next_place().expect("an admission is due only if somebody waits");
        let place = self.room.place(idx);
        let until = at.plus_ms(settings.session_ms);
        let arrive_by = at.plus_ms(settings.arrive_ms).min(until);
        let user = self.users[place.user].id.clone();
        smallvec![QueueChange::Admitted { place: place.id, user, until, arrive_by }.into()]
    }

    /// The state of a session that begins now.
    pub(super) fn invited(until: Time, arrive_by: Time) -> SessionState {
        SessionState::Invited { until, arrive_by }
    }
}
