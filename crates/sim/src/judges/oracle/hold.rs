//! What is asked about holds until they are paid for.

use super::books::Booking;
use super::channels::owners;
use super::stock::Move;
use super::types::{kept, limits, names_the_same, names_what_is_there};
use super::{Answer, Oracle};
use onrush_core::best::BestOrder;
use onrush_core::change::HoldChange;
use onrush_core::channels::Sources;
use onrush_core::hold::{HoldState, HoldStatus, HoldTerms};
use onrush_core::ids::{BookingId, ChannelId, ExtensionId, UserId};
use onrush_core::limits::MAX_ENDED_PER_USER;
use onrush_core::lines::Lines;
use onrush_core::types::{AskedTypes, HeldTypes};
use onrush_core::view::{HoldView, Reply};
use onrush_core::{Phase, Refusal, Time};
use std::sync::Arc;

/// What a hold has, beside its id and user.
pub(super) struct Wanted {
    pub(super) lines: Lines,
    pub(super) asked: Option<Arc<BestOrder>>,
    pub(super) sources: Sources,
    pub(super) types: Option<Box<HeldTypes>>,
}

impl Oracle {
    /// A user's live holds, latest first.
    pub(super) fn live_of(&self, user: &UserId) -> Vec<BookingId> {
        let mine = |booking: &&BookingId| self.bookings[*booking].terms.user == *user;
        self.live.iter().rev().filter(mine).cloned().collect()
    }

    /// Whether `user` may take units now: the sale, the ban, the room.
    pub(super) fn may_take(&self, at: Time, user: &UserId) -> Result<(), Refusal> {
        let phase = self.phase_at(at);
        if phase != Phase::Open {
            return Err(Refusal::EventNotOpen { phase });
        }
        if self.bans.contains_key(user) {
            return Err(Refusal::VisitorBanned);
        }
        if self.room().is_none() {
            return Ok(());
        }
        match self.session_of(user) {
            None => Err(Refusal::NotYourTurn),
            Some(index) if self.inside[index].stay.lasts_at(at) => Ok(()),
            Some(_) => Err(Refusal::SessionOver),
        }
    }

    pub(super) fn few_ended(&self, user: &UserId) -> Result<(), Refusal> {
        let mine = |id: &BookingId| self.bookings[id].terms.user == *user;
        let ended = self.ended.iter().filter(|(_, id)| mine(id)).count();
        let claims = self.claims.values().filter(|claim| {
            claim.user.as_ref() == Some(user) && super::books::claim_forgotten_at(claim).is_some()
        });
        if ended + claims.count() >= MAX_ENDED_PER_USER as usize {
            Err(Refusal::TooManyEnded { limit: MAX_ENDED_PER_USER })
        } else {
            Ok(())
        }
    }

    pub(super) fn hold(
        &mut self,
        at: Time,
        id: &BookingId,
        user: &UserId,
        lines: &Lines,
        channels: &[ChannelId],
        asked: &AskedTypes,
    ) -> Answer {
        names_what_is_there(asked, Some(lines), 0)?;
        if self.bookings.contains_key(id) {
            return self.known_hold(id, user, |terms| {
                terms.asked.is_none() && terms.lines == *lines && names_the_same(terms, asked)
            });
        }
        self.all_exist(lines)?;
        let mut mine = self.mine(channels)?;
        let units = self.typed(lines, asked.pools(), asked.seats())?;
        self.companions_have_places(lines)?;
        limits(&units)?;
        self.may_take(at, user)?;
        let sources = self.where_from(lines, &mut mine)?;
        self.within_limit(user, lines.units())?;
        let types = kept(&units, asked);
        self.within_limits(user, lines, types.as_deref())?;
        self.few_ended(user)?;
        self.leaves_nobody_alone(lines.seats(), &[], &owners(&mine))?;
        let lines = lines.clone();
        Ok(self.place(at, id, user, Wanted { lines, asked: None, sources, types }))
    }

    /// What is said to a wish whose booking is known.
    pub(super) fn known_hold(
        &self,
        id: &BookingId,
        user: &UserId,
        same: impl Fn(&HoldTerms) -> bool,
    ) -> Answer {
        let known = &self.bookings[id];
        if known.terms.user == *user && same(&known.terms) {
            Ok(Reply::Hold(known.view()))
        } else {
            Err(Refusal::BookingMismatch)
        }
    }

    /// Places a hold that nothing speaks against.
    pub(super) fn place(
        &mut self,
        at: Time,
        id: &BookingId,
        user: &UserId,
        wanted: Wanted,
    ) -> Reply {
        let Wanted { lines, asked, sources, types } = wanted;
        let units = lines.units();
        let (amount_minor, fee_minor) = self.cost(&lines, types.as_deref());
        let prices_minor = self.unit_prices(&lines);
        let until = at.plus_ms(self.settings().hold_ttl_ms);
        let terms = Arc::new(HoldTerms {
            booking: id.clone(),
            user: user.clone(),
            lines,
            asked,
            prices_minor,
            sources,
            types,
            amount_minor,
            fee_minor,
            created_at: at,
        });
        self.show_up(user);
        self.change(HoldChange::HoldPlaced { terms: Arc::clone(&terms), until });
        self.take_aside(&terms, false);
        self.move_units(&terms, Move::FreeToHeld);
        self.add_units(user, units);
        let booking = Booking {
            terms,
            state: HoldState::Held { until },
            payments: 0,
            extensions: 0,
            extensions_named: Vec::new(),
            checked_in: Vec::new(),
            payers: Vec::new(),
        };
        let reply = Reply::Hold(booking.view());
        self.bookings.insert(id.clone(), booking);
        self.live.push(id.clone());
        self.of_user.entry(user.clone()).or_default().push(id.clone());
        reply
    }

    /// The user's own booking; another's is as good as none.
    pub(super) fn own(&self, id: &BookingId, user: &UserId) -> Result<&Booking, Refusal> {
        let known = self.bookings.get(id).filter(|booking| booking.terms.user == *user);
        known.ok_or(Refusal::ReservationNotFound)
    }

    /// Why a booking in this state can be neither extended nor given back.
    fn no_more_a_hold(state: &HoldState) -> Refusal {
        match state {
            HoldState::Held { .. } | HoldState::Expired { .. } => Refusal::HoldExpired,
            HoldState::Paying { .. } => Refusal::CannotCancel,
            HoldState::Confirmed { .. } => Refusal::AlreadyConfirmed,
            HoldState::Released { .. } => Refusal::AlreadyReleased,
            HoldState::Cancelled { .. } => {
                Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled }
            }
        }
    }

    /// When a hold of then ends at the latest: for how long it was away since does not count, and all
    /// before the last 32 times are taken as if they had been together with the first of these.
    pub(super) fn at_most(&self, held: Time, max_ms: i64) -> Time {
        let first = self.away.len().saturating_sub(32);
        let mut most = held.plus_ms(max_ms);
        for (nth, (_, gap_ms)) in self.away.iter().enumerate() {
            if held < self.away[nth.max(first)].0 {
                most = most.plus_ms(*gap_ms);
            }
        }
        most
    }

    pub(super) fn extend(
        &mut self,
        at: Time,
        id: &BookingId,
        user: &UserId,
        extension: Option<ExtensionId>,
    ) -> Answer {
        let settings = self.settings();
        let limit = settings.extensions;
        let known = self.own(id, user)?;
        if extension.is_some_and(|it| known.extensions_named.contains(&it)) {
            return Ok(Reply::Hold(known.view()));
        }
        let until = match known.state {
            HoldState::Held { until } if at < until => until,
            ref state => return Err(Self::no_more_a_hold(state)),
        };
        let most = self.at_most(known.terms.created_at, settings.hold_max_ms);
        let wished = at.plus_ms(settings.hold_ttl_ms);
        let extended = if wished < most { wished } else { most };
        if known.extensions >= limit || extended <= until {
            return Err(Refusal::ExtensionLimit { limit });
        }
        let view = self.update(id, |booking| {
            booking.extensions += 1;
            booking.extensions_named.extend(extension);
            booking.state = HoldState::Held { until: extended };
        });
        let booking = id.clone();
        self.change(HoldChange::HoldExtended { booking, until: extended, extension });
        Ok(Reply::Hold(view))
    }

    pub(super) fn release(&mut self, at: Time, id: &BookingId, user: &UserId) -> Answer {
        match self.own(id, user)?.state {
            HoldState::Held { until } if at < until => {}
            ref state => return Err(Self::no_more_a_hold(state)),
        }
        self.give_back(at, id);
        self.free_slot_if_over(at, user);
        Ok(Reply::Hold(self.bookings[id].view()))
    }

    pub(super) fn update(&mut self, id: &BookingId, how: impl FnOnce(&mut Booking)) -> HoldView {
        let booking = self.bookings.get_mut(id).expect("the booking was looked up before");
        how(booking);
        booking.view()
    }

    /// Ends a live hold: its units are sold, or free again.
    pub(super) fn end_live(&mut self, id: &BookingId, state: HoldState) {
        let sold = matches!(state, HoldState::Confirmed { .. });
        let terms = self.update(id, |booking| booking.state = state).terms;
        self.live.retain(|live| live != id);
        if sold {
            self.move_units(&terms, Move::HeldToSold);
        } else {
            self.move_units(&terms, Move::HeldToFree);
            self.put_aside(&terms);
            self.drop_units(&terms.user, terms.lines.units());
        }
        self.remember_end(id);
    }

    /// Notes when an ended booking may be forgotten.
    pub(super) fn remember_end(&mut self, id: &BookingId) {
        if let Some(at) = self.bookings[id].forgotten_at() {
            self.ended.push((at, id.clone()));
        }
    }

    /// A live hold's deadline has come.
    pub(super) fn expire(&mut self, at: Time, id: &BookingId) {
        let payment = match &self.bookings[id].state {
            HoldState::Paying { payment, .. } => Some(payment.clone()),
            HoldState::Held { .. }
            | HoldState::Confirmed { .. }
            | HoldState::Released { .. }
            | HoldState::Expired { .. }
            | HoldState::Cancelled { .. } => None,
        };
        self.change(HoldChange::HoldExpired { booking: id.clone() });
        self.end_live(id, HoldState::Expired { at, payment });
        let user = self.bookings[id].terms.user.clone();
        self.free_slot_if_over(at, &user);
    }
}
