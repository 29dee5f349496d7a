//! What is asked for a hold, until it is paid for, given back, or runs out.

use super::{Changes, Decision, Event};
use crate::best::BestOrder;
use crate::bookings::Hold;
use crate::change::{Change, HoldChange, VisitorChange};
use crate::channels::Sources;
use crate::hold::{HoldState, HoldStatus, HoldTerms};
use crate::ids::{BookingId, ChannelId, ExtensionId, SeatId, UserId};
use crate::limits::MAX_ENDED_PER_USER;
use crate::lines::Lines;
use crate::phase::Phase;
use crate::refusal::Refusal;
use crate::seats::SeatState;
use crate::settings::{Settings, SingleSeats};
use crate::time::Time;
use crate::types::{AskedTypes, HeldTypes};
use crate::view::{HoldView, Reply};
use crate::waiting_room::session::{Session, SessionState};
use smallvec::smallvec;
use std::sync::Arc;

/// What every wish for a hold says, beside what is wanted.
#[derive(Clone, Copy)]
pub(super) struct HoldWish<'a> {
    pub(super) booking: &'a BookingId,
    pub(super) user: &'a UserId,
    pub(super) channels: &'a [ChannelId],
    pub(super) types: &'a AskedTypes,
}

/// A hold that is about to be placed.
struct NewHold<'a> {
    wish: HoldWish<'a>,
    lines: Lines,
    asked: Option<Arc<BestOrder>>,
    sources: Sources,
    types: Option<Box<HeldTypes>>,
}

impl Event {
    pub(super) fn check_lines_exist(&self, lines: &Lines) -> Result<(), Refusal> {
        for line in lines.pools() {
            if self.stock.get(&line.pool).is_none() {
                return Err(Refusal::ZoneNotFound { pool: line.pool.clone() });
            }
        }
        for seat in lines.seats() {
            if self.seats.get(seat).is_none() {
                return Err(Refusal::SeatNotFound { seat: seat.clone() });
            }
        }
        Ok(())
    }

    /// Checks that units are free for everybody.
    pub(super) fn check_lines_free(&self, lines: &Lines) -> Result<(), Refusal> {
        for line in lines.pools() {
            let free = self.stock.get(&line.pool).map_or(0, |pool| pool.free());
            if free < line.quantity {
                return Err(Refusal::InsufficientStock { pool: line.pool.clone(), free });
            }
        }
        let free =
            |seat: &&_| self.seats.get(seat).is_some_and(|seat| seat.state == SeatState::Free);
        if lines.seats().iter().all(|seat| free(&seat)) {
            Ok(())
        } else {
            let seats = lines.seats().iter().filter(|seat| !free(seat)).cloned().collect();
            Err(Refusal::SeatUnavailable { seats })
        }
    }

    /// Checks that these seats, which are free, leave none alone where the organiser refuses that.
    fn check_singles(
        &self,
        settings: &Settings,
        chosen: &[SeatId],
        by_rules: &[SeatId],
        channels: &[u8],
    ) -> Result<(), Refusal> {
        match settings.single_seats {
            SingleSeats::Allow => Ok(()),
            SingleSeats::Refuse => self.seats.check_singles(chosen, by_rules, channels),
        }
    }

    /// Checks that `user` may take units now; gives the session if one is needed.
    pub(super) fn check_may_take(
        &self,
        at: Time,
        user: &UserId,
    ) -> Result<Option<&Session>, Refusal> {
        match self.phase_at(at) {
            Phase::Open => {}
            phase @ (Phase::Scheduled | Phase::Prequeue | Phase::Paused | Phase::Closed) => {
                return Err(Refusal::EventNotOpen { phase });
            }
        }
        self.check_not_banned(user)?;
        if self.room_settings().is_none() {
            return Ok(None);
        }
        let session = self.user(user).and_then(|user| user.session);
        match session.map(|idx| self.room.sessions.get(idx)) {
            Some(session) if session.state.may_hold(at) => Ok(Some(session)),
            Some(_) => Err(Refusal::SessionOver),
            None => Err(Refusal::NotYourTurn),
        }
    }

    /// Checks that little enough of the user's ended within the last day: each of these ids is kept
    /// for that long.
    pub(super) fn check_few_ended(&self, user: &UserId) -> Result<(), Refusal> {
        let ended = self.bookings.ended_of(user) + self.claims.ended_of(user);
        if ended < MAX_ENDED_PER_USER {
            Ok(())
        } else {
            Err(Refusal::TooManyEnded { limit: MAX_ENDED_PER_USER })
        }
    }

    pub(super) fn decide_hold(
        &self,
        at: Time,
        settings: &Settings,
        wish: HoldWish<'_>,
        lines: &Lines,
    ) -> Result<Decision, Refusal> {
        let HoldWish { booking, user, channels, types } = wish;
        types.check_fit(Some(lines), 0)?;
        if let Some(hold) = self.bookings.get(booking) {
            let terms = &hold.terms;
            let same = terms.user == *user
                && terms.lines == *lines
                && terms.asked.is_none()
                && terms.asked_same_types(types);
            let reply = || Decision::nothing(Reply::Hold(hold.view()));
            return if same { Ok(reply()) } else { Err(Refusal::BookingMismatch) };
        }
        self.check_lines_exist(lines)?;
        let mut may_use = self.channels_of(channels)?;
        let groups = self.groups(at, lines, types.pools(), types.seats())?;
        self.seats.check_companions(lines)?;
        groups.check_limits()?;
        let session = self.check_may_take(at, user)?;
        let sources = self.sources(lines, &mut may_use)?;
        self.check_user_limit(user, lines.units())?;
        let types = groups.held(types);
        self.check_limits(user, lines, types.as_deref())?;
        self.check_few_ended(user)?;
        self.check_singles(settings, lines.seats(), &[], &may_use.numbers())?;
        let lines = lines.clone();
        let hold = NewHold { wish, lines, asked: None, sources, types };
        Ok(self.place(at, settings, session, hold))
    }

    pub(super) fn decide_hold_best(
        &self,
        at: Time,
        settings: &Settings,
        wish: HoldWish<'_>,
        order: &Arc<BestOrder>,
    ) -> Result<Decision, Refusal> {
        let HoldWish { booking, user, channels, types } = wish;
        let beside = order.beside();
        types.check_fit(beside, order.best().quantity())?;
        if let Some(hold) = self.bookings.get(booking) {
            let same = hold.terms.user == *user
                && hold.terms.asked.as_ref() == Some(order)
                && hold.terms.asked_same_types(types);
            let reply = || Decision::nothing(Reply::Hold(hold.view()));
            return if same { Ok(reply()) } else { Err(Refusal::BookingMismatch) };
        }
        if let Some(beside) = order.beside() {
            self.check_lines_exist(beside)?;
            self.seats.check_companions(beside)?;
        }
        self.seats.check_exist(order.best())?;
        let mut may_use = self.channels_of(channels)?;
        let groups = beside.map(|it| self.groups(at, it, types.pools(), types.seats()));
        let groups = groups.transpose()?.unwrap_or_default();
        let mut prices_minor = self.best_prices_minor(at, order, types, &groups)?;
        let session = self.check_may_take(at, user)?;
        let sources = beside.map_or(Ok(Sources::new()), |it| self.sources(it, &mut may_use))?;
        self.check_user_limit(user, order.units())?;
        self.check_limits_of_best(user, order, types, &groups, &mut prices_minor)?;
        self.check_few_ended(user)?;
        let (best, is_first) = {
            let suits = |first: &[SeatId]| self.suits(at, order, first, types);
            self.best_of_channels(settings, order, &prices_minor, &may_use, suits)?
        };
        let mut seats = best.clone();
        seats.extend(beside.into_iter().flat_map(|beside| beside.seats()).cloned());
        // A first choice that is had is like seats that are named.
        let by_rules = if is_first { &[] } else { best.as_slice() };
        self.check_singles(settings, &seats, by_rules, &may_use.numbers())?;
        let pools = beside.map(|beside| beside.pools().to_vec()).unwrap_or_default();
        let sources = self.sources_with(&sources, &pools, &mut seats);
        let lines = Lines::new(pools, seats)?;
        let asked = Some(Arc::clone(order));
        let types = self.groups_of_best(at, &lines, &best, types)?.held(types);
        let hold = NewHold { wish, lines, asked, sources, types };
        Ok(self.place(at, settings, session, hold))
    }

    /// Whether there are as many of each type as one booking may have, if these seats are chosen.
    fn suits(&self, at: Time, order: &BestOrder, chosen: &[SeatId], types: &AskedTypes) -> bool {
        if self.types.is_empty() {
            return true;
        }
        let beside = order.beside();
        let pools = beside.map(|beside| beside.pools().to_vec()).unwrap_or_default();
        let seats = beside.into_iter().flat_map(Lines::seats).chain(chosen).cloned();
        let lines = Lines::new(pools, seats.collect());
        lines.is_ok_and(|lines| self.groups_of_best(at, &lines, chosen, types).is_ok())
    }

    /// What a hold that nothing speaks against changes.
    fn place(
        &self,
        at: Time,
        settings: &Settings,
        session: Option<&Session>,
        hold: NewHold<'_>,
    ) -> Decision {
        let NewHold { wish: HoldWish { booking, user, .. }, lines, asked, sources, types } = hold;
        let (each_minor, price_minor) = self.prices_minor(&lines, types.as_deref(), at);
        let fee_minor = settings.fees.on_minor_in_steps(price_minor, settings.step_minor());
        let terms = Arc::new(HoldTerms {
            booking: booking.clone(),
            user: user.clone(),
            lines,
            asked,
            prices_minor: each_minor,
            sources,
            types,
            amount_minor: price_minor + fee_minor,
            fee_minor,
            created_at: at,
        });
        let until = at.plus_ms(settings.hold_ttl_ms);
        let mut changes = Changes::new();
        changes.extend(self.arrival(session, user));
        changes.push(HoldChange::HoldPlaced { terms: Arc::clone(&terms), until }.into());
        let view = HoldView {
            terms,
            state: HoldState::Held { until },
            payments: 0,
            extensions: 0,
            checked_in: Vec::new(),
        };
        Decision { reply: Reply::Hold(view), changes }
    }

    /// Who takes something has shown up.
    pub(super) fn arrival(&self, session: Option<&Session>, user: &UserId) -> Option<Change> {
        let session = session?;
        match session.state {
            SessionState::Invited { .. } => {
                Some(VisitorChange::Arrived { place: session.place, user: user.clone() }.into())
            }
            SessionState::Active { .. } | SessionState::Ended => None,
        }
    }

    pub(super) fn decide_extend(
        &self,
        at: Time,
        settings: &Settings,
        booking: &BookingId,
        user: &UserId,
        extension: Option<ExtensionId>,
    ) -> Result<Decision, Refusal> {
        let hold = self.booking_of(booking, user)?;
        if let Some(extension) = extension
            && self.bookings.extensions_named(self.bookings.find(booking)).contains(&extension)
        {
            // Whatever became of the hold since: it was done, and is not done again.
            return Ok(Decision::nothing(Reply::Hold(hold.view())));
        }
        match &hold.state {
            HoldState::Held { until } if at < *until => {
                let latest = settings.latest_until(&hold.terms, &self.gaps);
                let extended = at.plus_ms(settings.hold_ttl_ms).min(latest);
                if hold.extensions >= settings.extensions || extended <= *until {
                    return Err(Refusal::ExtensionLimit { limit: settings.extensions });
                }
                let view = HoldView {
                    state: HoldState::Held { until: extended },
                    extensions: hold.extensions + 1,
                    ..hold.view()
                };
                let booking = booking.clone();
                let extended = HoldChange::HoldExtended { booking, until: extended, extension };
                Ok(Decision::one(Reply::Hold(view), extended))
            }
            HoldState::Paying { .. } => Err(Refusal::CannotCancel),
            HoldState::Held { .. } | HoldState::Expired { .. } => Err(Refusal::HoldExpired),
            HoldState::Confirmed { .. } => Err(Refusal::AlreadyConfirmed),
            HoldState::Released { .. } => Err(Refusal::AlreadyReleased),
            HoldState::Cancelled { .. } => {
                Err(Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled })
            }
        }
    }

    pub(super) fn decide_release(
        &self,
        at: Time,
        booking: &BookingId,
        user: &UserId,
    ) -> Result<Decision, Refusal> {
        let hold = self.booking_of(booking, user)?;
        match &hold.state {
            HoldState::Held { until } if at < *until => {
                let mut changes: Changes =
                    smallvec![HoldChange::HoldReleased { booking: booking.clone() }.into()];
                changes.extend(self.slot_after(hold));
                let view = HoldView { state: HoldState::Released { at }, ..hold.view() };
                Ok(Decision { reply: Reply::Hold(view), changes })
            }
            HoldState::Paying { .. } => Err(Refusal::CannotCancel),
            HoldState::Held { .. } | HoldState::Expired { .. } => Err(Refusal::HoldExpired),
            HoldState::Confirmed { .. } => Err(Refusal::AlreadyConfirmed),
            HoldState::Released { .. } => Err(Refusal::AlreadyReleased),
            HoldState::Cancelled { .. } => {
                Err(Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled })
            }
        }
    }

    /// The slot is freed if this was the last live hold of a session that is over.
    pub(super) fn slot_after(&self, hold: &Hold) -> Option<Change> {
        let session = self.room.sessions.get(self.users[hold.user].session?);
        let last = session.live_holds == 1 && session.state == SessionState::Ended;
        let (place, user) = (session.place, hold.terms.user.clone());
        last.then(|| VisitorChange::SlotFreed { place, user }.into())
    }

    /// What the end of a live hold by its deadline changes.
    pub(super) fn expiry_of(&self, hold: &Hold) -> Changes {
        let mut changes: Changes =
            smallvec![HoldChange::HoldExpired { booking: hold.terms.booking.clone() }.into()];
        changes.extend(self.slot_after(hold));
        changes
    }
}
