//! What is due, and the time after an outage.

use super::books::{Inside, Stay, claim_forgotten_at};
use super::settings::invalid;
use super::{Answer, Oracle};
use onrush_core::change::{
    ClaimChange, DeclaimedHow, HoldChange, LeftHow, QueueChange, SaleChange, SessionEnd,
};
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, ChannelId, ClaimId, UserId};
use onrush_core::prices::Priced;
use onrush_core::view::{AdmissionState, ClaimState};
use onrush_core::{Phase, Refusal, Time};

/// What is due. Equal times go in this order, and equal kinds by what they carry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Schedule,
    Hold(BookingId),
    Claim(ClaimId),
    NoShow(u32, UserId),
    Session(u32, UserId),
    Place(usize),
    ForgetHold(BookingId),
    ForgetClaim(ClaimId),
    Price(Priced),
    Release(ChannelId),
}

impl Oracle {
    /// When the next tick has something to do.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.settings.as_ref()?;
        let deadline = self.first_due().map(|(at, _)| at);
        [deadline, self.admission_due()].into_iter().flatten().min()
    }

    fn first_due(&self) -> Option<(Time, Due)> {
        let mut first: Option<(Time, Due)> = None;
        // Texts are copied only when they are needed: for what is not later than the first so far.
        let mut offer = |at: Time, due: &dyn Fn() -> Due| {
            if first.as_ref().is_none_or(|(other, _)| at <= *other) {
                let offered = (at, due());
                if first.as_ref().is_none_or(|first| offered < *first) {
                    first = Some(offered);
                }
            }
        };
        if let Some(at) = self.schedule_due() {
            offer(at, &|| Due::Schedule);
        }
        for id in &self.live {
            let until = self.bookings[id].state.until().expect("live holds have a deadline");
            offer(until, &|| Due::Hold(id.clone()));
        }
        for (id, claim) in &self.claims {
            if let ClaimState::Claimed { until: Some(until) } = claim.state {
                offer(until, &|| Due::Claim(id.clone()));
            }
            if let Some(at) = claim_forgotten_at(claim) {
                offer(at, &|| Due::ForgetClaim(id.clone()));
            }
        }
        for Inside { number, user, stay, .. } in &self.inside {
            match *stay {
                Stay::Invited { until, arrive_by } => {
                    offer(arrive_by, &|| Due::NoShow(*number, user.clone()));
                    offer(until, &|| Due::Session(*number, user.clone()));
                }
                Stay::Active { until } => {
                    offer(until, &|| Due::Session(*number, user.clone()));
                }
                Stay::Over => {}
            }
        }
        for (index, waiting) in self.line.iter().enumerate() {
            if let Some(at) = self.lapses_at(waiting) {
                offer(at, &|| Due::Place(index));
            }
        }
        for (at, id) in &self.ended {
            offer(*at, &|| Due::ForgetHold(id.clone()));
        }
        for (at, of) in self.prices_due() {
            offer(at, &|| Due::Price(of.clone()));
        }
        for (at, channel) in self.releases_due() {
            offer(at, &|| Due::Release(channel.clone()));
        }
        first
    }

    fn schedule_due(&self) -> Option<Time> {
        let it = self.settings();
        let prequeue_at = if it.room.is_some() { it.prequeue_at } else { None };
        let may_open = Self::commitment(it).is_none() || self.entrants.is_none();
        let opens_at = if may_open { it.opens_at } else { None };
        match self.phase() {
            Phase::Scheduled => {
                [prequeue_at, it.opens_at, it.closes_at].into_iter().flatten().min()
            }
            Phase::Prequeue => [opens_at, it.closes_at].into_iter().flatten().min(),
            Phase::Open | Phase::Paused => it.closes_at,
            Phase::Closed => None,
        }
    }

    /// The first in line who has no session.
    fn next_in_line(&self) -> Option<usize> {
        self.line.iter().position(|waiting| self.session_of(&waiting.user).is_none())
    }

    fn admission_due(&self) -> Option<Time> {
        let room = self.room()?;
        let has_slot = self.inside.len() < room.capacity as usize;
        if self.phase() != Phase::Open || !has_slot || self.next_in_line().is_none() {
            return None;
        }
        if self.admission() != AdmissionState::GoesOn {
            return None;
        }
        let Some(per_min) = room.outflow_per_min else { return Some(Time::MIN) };
        // Admissions may run ahead of their clock by one second, which includes the one itself.
        let each_ns = 60_000_000_000 / i64::from(per_min);
        let ahead_ns = if each_ns < 1_000_000_000 { 1_000_000_000 - each_ns } else { 0 };
        let due_ns = self.outflow_ns - ahead_ns;
        let ms = due_ns.div_euclid(1_000_000);
        Some(Time(if due_ns.rem_euclid(1_000_000) == 0 { ms } else { ms + 1 }))
    }

    pub(super) fn tick(&mut self, at: Time) {
        match self.first_due() {
            Some((due_at, due)) if due_at <= at => self.deal_with(at, due),
            Some(_) | None => {
                if self.admission_due().is_some_and(|due_at| due_at <= at) {
                    self.admit(at);
                }
            }
        }
    }

    fn admit(&mut self, at: Time) {
        let index = self.next_in_line().expect("an admission is due only if somebody waits");
        let room = self.room().expect("only an event with a room admits").clone();
        let next = self.line.remove(index);
        let until = at.plus_ms(room.session_ms);
        let arrive_by = until.min(at.plus_ms(room.arrive_ms));
        if let Some(per_min) = room.outflow_per_min {
            let now_ns = at.0 * 1_000_000;
            self.outflow_ns = self.outflow_ns.max(now_ns) + 60_000_000_000 / i64::from(per_min);
        }
        let (place, user) = (next.place, next.user.clone());
        self.change(QueueChange::Admitted { place, user, until, arrive_by });
        self.inside.push(Inside {
            place,
            user: next.user,
            number: next.number,
            stay: Stay::Invited { until, arrive_by },
        });
    }

    fn deal_with(&mut self, at: Time, due: Due) {
        match due {
            Due::Schedule => self.keep_schedule(at),
            Due::Hold(id) => self.expire(at, &id),
            Due::Claim(id) => self.end_claim(at, &id, DeclaimedHow::Expired),
            Due::NoShow(_, user) => self.run_out(at, &user, SessionEnd::NoShow),
            Due::Session(_, user) => self.run_out(at, &user, SessionEnd::Timeout),
            Due::Place(index) => self.drop_from_line(at, index, LeftHow::Lapsed),
            Due::ForgetHold(id) => {
                self.ended.retain(|(_, other)| *other != id);
                if let Some(booking) = self.bookings.remove(&id)
                    && let Some(mine) = self.of_user.get_mut(&booking.terms.user)
                {
                    mine.retain(|other| *other != id);
                }
                self.change(HoldChange::HoldForgotten { booking: id });
            }
            Due::ForgetClaim(claim) => {
                self.claims.remove(&claim);
                self.change(ClaimChange::ClaimForgotten { claim });
            }
            Due::Price(of) => self.tell_price(&of),
            Due::Release(channel) => self.release_as_planned(&channel),
        }
    }

    fn run_out(&mut self, at: Time, user: &UserId, how: SessionEnd) {
        self.end_session(user, how);
        self.free_slot_if_over(at, user);
    }

    fn keep_schedule(&mut self, at: Time) {
        let due = self.schedule_due();
        let it = self.settings();
        if due == it.closes_at {
            // The reply is the tick's.
            let _closed = self.close(at);
        } else if due == it.opens_at {
            if Self::commitment(it).is_some() {
                self.fix_entrants(at);
            } else {
                self.begin(at, None, None);
            }
        } else {
            self.phase = Some(Phase::Prequeue);
            self.change(SaleChange::PrequeueOpened);
        }
    }

    pub(super) fn recover(&mut self, gap_ms: i64) -> Answer {
        if gap_ms <= 0 {
            return Err::<_, Refusal>(invalid(None));
        }
        let later = |at: &mut Time| *at = at.plus_ms(gap_ms);
        self.line.iter_mut().filter_map(|waiting| waiting.seen.as_mut()).for_each(later);
        for inside in &mut self.inside {
            match &mut inside.stay {
                Stay::Invited { until, arrive_by } => {
                    later(until);
                    later(arrive_by);
                }
                Stay::Active { until } => later(until),
                Stay::Over => {}
            }
        }
        for booking in self.bookings.values_mut() {
            match &mut booking.state {
                HoldState::Held { until } => later(until),
                HoldState::Paying { until, before, .. } => {
                    later(until);
                    later(before);
                }
                HoldState::Confirmed { .. }
                | HoldState::Released { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. } => {}
            }
        }
        for claim in self.claims.values_mut() {
            if let ClaimState::Claimed { until: Some(until) } = &mut claim.state {
                later(until);
            }
        }
        self.away.push((self.now, gap_ms));
        self.change(SaleChange::Resumed { gap_ms });
        Self::done()
    }
}
