//! How changes add up. Nothing here can fail: what does not fit the state is a broken journal or a
//! bug, and a panic.

use super::Event;
use crate::arena::Idx;
use crate::change::{
    BookingChange, Change, ClaimChange, DeclaimedHow, HoldChange, QueueChange, SaleChange,
    SetupChange, VisitorChange,
};
use crate::hold::{CheckIn, HoldState, HoldTerms};
use crate::ids::{BookingId, ClaimId, PaymentId, PlaceId, PoolId, UserId};
use crate::lines::Lines;
use crate::phase::Phase;
use crate::seats::SeatState;
use crate::stock::Pool;
use crate::time::Time;
use crate::view::{BanView, ClaimState, ClaimView};
use crate::waiting_room::session::{Session, SessionState};
use crate::waiting_room::{Entrants, Revealed};
use std::sync::Arc;

impl Event {
    /// Applies one change that happened at `at`.
    ///
    /// # Panics
    /// If the change contradicts the state, as no change of [`decide`](Self::decide) does.
    pub fn evolve(&mut self, at: Time, change: &Change) {
        assert!(at >= self.at, "time never goes back");
        self.at = at;
        match change {
            Change::Setup(change) => self.evolve_setup(at, change),
            Change::Sale(change) => self.evolve_sale(at, change),
            Change::Queue(change) => self.evolve_queue(at, change),
            Change::Visitor(change) => self.evolve_visitor(at, change),
            Change::Hold(change) => self.evolve_hold(at, change),
            Change::Booking(change) => self.evolve_booking(at, change),
            Change::Claim(change) => self.evolve_claim(at, change),
        }
    }

    fn evolve_setup(&mut self, at: Time, change: &SetupChange) {
        match change {
            SetupChange::EventCreated { settings } => {
                let is_new = self.settings.is_none() && self.archived.is_none();
                assert!(is_new, "an event is created once");
                self.settings = Some((**settings).clone());
            }
            SetupChange::SettingsChanged { settings } => self.settings = Some((**settings).clone()),
            SetupChange::PoolAdded { spec } => self.stock.add(spec.clone()),
            SetupChange::CapacityAdjusted { pool, before, after, reason: _ } => {
                self.stock.change(pool, |pool| {
                    assert_eq!(
                        pool.spec.capacity, *before,
                        "the journal knows the capacity before"
                    );
                    assert!(pool.committed() <= *after, "no capacity goes below what is committed");
                    pool.spec.capacity = *after;
                });
            }
            SetupChange::SeatsAdded { categories, seats } => {
                categories.iter().for_each(|category| self.seats.add_category(category));
                seats.iter().for_each(|seat| self.seats.add(seat));
            }
            SetupChange::PriceChanged { of, before_minor, price_minor, later, reason: _ } => {
                self.set_price(of, *before_minor, *price_minor);
                self.prices.change(of, *before_minor, later);
            }
            SetupChange::TypesSet { of, types, reason: _ } => self.types.set(of, types),
            SetupChange::UnitsBlocked { lines, reason } => {
                let block = |pool: &mut Pool, units| pool.block(units, &reason.why);
                let blocked = SeatState::Blocked(reason.why.clone());
                self.turn(lines, block, [SeatState::Free, blocked]);
            }
            SetupChange::ChannelSet { spec, reason: _ } => self.channels.set(spec),
            SetupChange::UnitsAllotted { lines, from, to, reason: _ } => {
                self.allot(lines, from.as_ref(), to.as_ref());
            }
            SetupChange::ChannelReleased { channel, into, reason: _ } => {
                self.release_channel(at, channel, into.as_ref());
            }
            SetupChange::UnitsUnblocked { lines, reason } => {
                for line in lines.pools() {
                    let unblock = |pool: &mut Pool| pool.unblock(line.quantity, &reason.why);
                    self.stock.change(&line.pool, unblock);
                }
                for seat in lines.seats() {
                    let before = self.seats.set(seat, SeatState::Free);
                    assert!(
                        matches!(before, SeatState::Blocked(_)),
                        "only blocked seats are unblocked"
                    );
                }
            }
        }
    }

    fn evolve_sale(&mut self, at: Time, change: &SaleChange) {
        match change {
            SaleChange::PrequeueOpened => self.phase = Phase::Prequeue,
            SaleChange::SaleOpened { seed, public_value } => {
                assert!(!self.opened, "a sale opens once");
                self.phase = Phase::Open;
                self.opened = true;
                let revealed = Revealed { seed: *seed, public_value: public_value.clone() };
                self.room.open(at, revealed);
            }
            SaleChange::SalePaused => self.phase = Phase::Paused,
            SaleChange::SaleResumed => self.phase = Phase::Open,
            SaleChange::SaleClosed => {
                self.phase = Phase::Closed;
                if !self.opened {
                    // Nobody can be admitted any more: those who came in vain may lapse.
                    self.opened = true;
                    self.room.open(at, Revealed::default());
                }
            }
            SaleChange::EventArchived { reason: _ } => {
                assert!(self.archived.is_none(), "an event is archived once");
                *self = Self { archived: Some(at), at, ..Self::new(self.id.clone()) };
            }
            SaleChange::Resumed { gap_ms } => {
                self.gaps.note(at, *gap_ms);
                self.room.move_on(*gap_ms);
                self.bookings.move_on(*gap_ms);
                self.claims.move_on(*gap_ms);
            }
        }
    }

    fn evolve_queue(&mut self, at: Time, change: &QueueChange) {
        match change {
            QueueChange::PlaceTaken { place, user, number } => {
                let user = self.users.find_or_add(user);
                let last_seen = self.opened.then_some(at);
                self.room.take(last_seen, *place, *number, user, &mut self.users);
            }
            QueueChange::PlaceSeen { place, user } => {
                let idx = self.waiting_place(*place, user);
                self.room.see(at, idx);
            }
            QueueChange::PlaceLeft { place, user, how: _ } => {
                let idx = self.waiting_place(*place, user);
                let left = self.room.leave(idx, &mut self.users);
                self.users.tidy(left.user);
                self.room.gone.add(at, *place);
            }
            QueueChange::PrequeueClosed { entrants, entrants_hash } => {
                assert_eq!(self.room.waiting(), *entrants, "all who wait take part");
                self.phase = Phase::Prequeue;
                self.room.entrants = Some(Entrants {
                    count: *entrants,
                    hash: *entrants_hash,
                    last_number: self.room.taken,
                    fixed_at: Some(at),
                });
            }
            QueueChange::Admitted { place, user, until, arrive_by } => {
                self.admit(at, *place, user, Self::invited(*until, *arrive_by));
            }
        }
    }

    fn evolve_visitor(&mut self, at: Time, change: &VisitorChange) {
        match change {
            VisitorChange::Arrived { place, user } => {
                let idx = self.session(*place, user);
                let SessionState::Invited { until, .. } = self.room.sessions.get(idx).state else {
                    panic!("only the invited arrive");
                };
                self.room.sessions.set_state(idx, SessionState::Active { until });
            }
            VisitorChange::SessionEnded { place, user, how: _ } => {
                let idx = self.session(*place, user);
                self.room.sessions.set_state(idx, SessionState::Ended);
            }
            VisitorChange::SlotFreed { place, user } => {
                let idx = self.session(*place, user);
                let session = self.room.sessions.remove(idx);
                assert_eq!(
                    session.state,
                    SessionState::Ended,
                    "only a session that is over frees its slot"
                );
                assert_eq!(session.live_holds, 0, "a live hold keeps the slot");
                let user = &mut self.users[session.user];
                user.session = None;
                self.room.park(user.first_place, false);
                self.users.tidy(session.user);
                self.room.gone.add(at, *place);
            }
            VisitorChange::VisitorRemoved { user, reason, banned } => {
                if *banned {
                    self.bans.add(BanView { user: user.clone(), reason: reason.clone(), at });
                }
            }
            VisitorChange::VisitorUnbanned { user, reason: _ } => self.bans.remove(user),
        }
    }

    fn evolve_hold(&mut self, at: Time, change: &HoldChange) {
        match change {
            HoldChange::HoldPlaced { terms, until } => self.place_hold(terms, *until),
            HoldChange::HoldExtended { booking, until, extension } => {
                let idx = self.bookings.find(booking);
                assert!(
                    matches!(self.bookings[idx].state, HoldState::Held { .. }),
                    "only a hold is extended"
                );
                self.set_state(idx, HoldState::Held { until: *until });
                self.bookings.count_extension(idx, *extension);
            }
            HoldChange::HoldReleased { booking } => {
                self.end_hold(booking, HoldState::Released { at })
            }
            HoldChange::HoldExpired { booking } => {
                let payment = match &self.bookings[self.bookings.find(booking)].state {
                    HoldState::Paying { payment, .. } => Some(payment.clone()),
                    HoldState::Held { .. }
                    | HoldState::Confirmed { .. }
                    | HoldState::Released { .. }
                    | HoldState::Expired { .. }
                    | HoldState::Cancelled { .. } => None,
                };
                self.end_hold(booking, HoldState::Expired { at, payment });
            }
            HoldChange::HoldForgotten { booking } => {
                let idx = self.bookings.find(booking);
                let user = self.bookings[idx].user;
                self.bookings.remove(idx, &mut self.users);
                self.users.tidy(user);
            }
        }
    }

    fn evolve_booking(&mut self, at: Time, change: &BookingChange) {
        match change {
            BookingChange::PayerNamed { booking, by, payer } => {
                let idx = self.bookings.find(booking);
                let hold = &self.bookings[idx];
                assert!(!hold.state.has_ended(), "what has ended is not paid for");
                let units = if hold.state.has_units() { hold.terms.lines.units() } else { 0 };
                self.payers.name(idx, units, *by, *payer);
            }
            BookingChange::PaymentBegun { booking, payment, until } => {
                let idx = self.bookings.find(booking);
                let HoldState::Held { until: before } = self.bookings[idx].state else {
                    panic!("only a hold is paid for");
                };
                let payment = payment.clone();
                self.set_state(idx, HoldState::Paying { until: *until, before, payment });
                self.bookings.count_payment(idx);
            }
            BookingChange::PaymentFailed { booking, payment, why: _, until } => {
                let idx = self.bookings.find(booking);
                let running = matches!(&self.bookings[idx].state,
                    HoldState::Paying { payment: running, .. } if running == payment);
                assert!(running, "only the payment that runs fails");
                self.set_state(idx, HoldState::Held { until: *until });
            }
            BookingChange::LatePaymentFailed { booking, payment, why: _ } => {
                let idx = self.bookings.find(booking);
                let HoldState::Expired { at, payment: Some(running) } = &self.bookings[idx].state
                else {
                    panic!("only an expired hold's payment is late");
                };
                assert_eq!(running, payment, "only the payment that runs fails");
                let state = HoldState::Expired { at: *at, payment: None };
                self.set_state(idx, state);
            }
            BookingChange::HoldConfirmed { booking, payment } => {
                let payment = payment.clone();
                self.end_hold(booking, HoldState::Confirmed { at, payment });
            }
            BookingChange::HoldConfirmedLate { booking, payment } => {
                self.confirm_late(at, booking, payment);
            }
            BookingChange::ConfirmedCancelled { booking, reason: _, refund_minor } => {
                let cancelled = HoldState::Cancelled { at, refund_minor: *refund_minor };
                self.cancel_confirmed(booking, cancelled);
            }
            BookingChange::CheckedIn { booking, ticket, scan } => {
                let idx = self.bookings.find(booking);
                assert!(
                    matches!(self.bookings[idx].state, HoldState::Confirmed { .. }),
                    "only a confirmed booking has tickets"
                );
                self.bookings.check_in(idx, CheckIn { ticket: *ticket, at, scan: *scan });
            }
        }
    }

    /// Gives a booking another state. Its payers have its units as long as it does, and are forgotten
    /// with its end.
    fn set_state(&mut self, idx: Idx, state: HoldState) {
        if self.payers.has_any() {
            let hold = &self.bookings[idx];
            let (units, has) = (hold.terms.lines.units(), [&hold.state, &state]);
            self.payers.count(idx, units, has.map(HoldState::has_units));
            if state.has_ended() {
                self.payers.forget(idx);
            }
        }
        self.bookings.set_state(idx, state);
    }

    fn evolve_claim(&mut self, at: Time, change: &ClaimChange) {
        match change {
            ClaimChange::Claimed { claim, user, pool, quantity, until, before, after } => {
                self.change_claimed(pool, [*before, *after], |pool| pool.claim(*quantity));
                let idx = self.users.find_or_add(user);
                self.users[idx].units += quantity;
                self.claims.insert(ClaimView {
                    claim: claim.clone(),
                    user: Some(user.clone()),
                    pool: pool.clone(),
                    amount: i64::from(*quantity),
                    before: *before,
                    after: *after,
                    first_until: *until,
                    state: ClaimState::Claimed { until: *until },
                });
            }
            ClaimChange::Declaimed { claim, how, before, after } => {
                self.declaim(at, claim, *how, *before, *after);
            }
            ClaimChange::ClaimedAdjusted { claim, pool, amount, before, after, reason: _ } => {
                let adjust = |pool: &mut Pool| pool.adjust_claimed(*amount);
                self.change_claimed(pool, [*before, *after], adjust);
                self.claims.insert(ClaimView {
                    claim: claim.clone(),
                    user: None,
                    pool: pool.clone(),
                    amount: *amount,
                    before: *before,
                    after: *after,
                    first_until: None,
                    state: ClaimState::Adjusted { at },
                });
            }
            ClaimChange::ClaimForgotten { claim } => self.claims.remove(claim),
        }
    }

    fn waiting_place(&self, place: PlaceId, user: &UserId) -> Idx {
        let user = self.users.get(user).expect("changes name only users who are there");
        self.room
            .places_of(user.first_place)
            .find(|idx| self.room.place(*idx).id == place)
            .expect("changes name only places that wait")
    }

    fn session(&self, place: PlaceId, user: &UserId) -> Idx {
        let user = self.users.get(user).expect("changes name only users who are there");
        let idx = user.session.expect("changes name only sessions that exist");
        assert_eq!(self.room.sessions.get(idx).place, place, "a session belongs to its place");
        idx
    }

    fn admit(&mut self, at: Time, place: PlaceId, user: &UserId, state: SessionState) {
        let idx = self.waiting_place(place, user);
        assert_eq!(
            self.room.next_place(),
            Some(idx),
            "the first in line is admitted, and no other"
        );
        if let Some(settings) = self.settings.as_ref().and_then(|settings| settings.room.as_ref()) {
            self.room.count_outflow(at, settings);
        }
        let left = self.room.leave(idx, &mut self.users);
        self.start_session(left.id, left.number, left.user, state);
    }

    /// Gives a user a slot and keeps their other places back.
    pub(crate) fn start_session(
        &mut self,
        place: PlaceId,
        number: u32,
        user: Idx,
        state: SessionState,
    ) {
        assert!(self.users[user].session.is_none(), "a user has one session at a time");
        let live_holds = self.bookings.live_of_user(self.users[user].last_hold).count();
        let live_holds = u32::try_from(live_holds).expect("a user has fewer than 2^32 holds");
        let session = Session { place, user, number, state, live_holds };
        self.users[user].session = Some(self.room.sessions.insert(session));
        self.room.park(self.users[user].first_place, true);
    }

    fn place_hold(&mut self, terms: &Arc<HoldTerms>, until: Time) {
        assert!(self.bookings.get(&terms.booking).is_none(), "a booking is held once");
        let user = self.users.find_or_add(&terms.user);
        let state = HoldState::Held { until };
        let idx = self.bookings.insert(Arc::clone(terms), state, user, &mut self.users);
        self.bring_out(terms, &terms.sources);
        self.occupy(&terms.lines, idx);
        self.channels.take(&terms.lines, &terms.sources);
        self.users[user].units += terms.lines.units();
        if let Some(session) = self.users[user].session {
            self.room.sessions.count_holds(session, 1);
        }
    }

    /// Takes free units for a hold.
    pub(crate) fn occupy(&mut self, lines: &Lines, idx: Idx) {
        self.turn(lines, Pool::hold, [SeatState::Free, SeatState::Held(idx)]);
    }

    /// Makes held units sold.
    pub(crate) fn sell(&mut self, lines: &Lines, idx: Idx) {
        self.turn(lines, Pool::confirm, [SeatState::Held(idx), SeatState::Sold(idx)]);
    }

    /// Turns units: those of pools by `pool`, seats from the one state into the other.
    fn turn(&mut self, lines: &Lines, pool: impl Fn(&mut Pool, u32), [from, to]: [SeatState; 2]) {
        for line in lines.pools() {
            self.stock.change(&line.pool, |found| pool(found, line.quantity));
        }
        for seat in lines.seats() {
            let before = self.seats.set(seat, to.clone());
            assert_eq!(before, from, "only seats in this state become {to:?}");
        }
    }

    fn end_hold(&mut self, booking: &BookingId, state: HoldState) {
        let idx = self.bookings.find(booking);
        let hold = &self.bookings[idx];
        assert!(hold.state.until().is_some(), "only a live hold ends");
        let (terms, user) = (Arc::clone(&hold.terms), hold.user);
        if matches!(state, HoldState::Confirmed { .. }) {
            self.sell(&terms.lines, idx);
        } else {
            self.turn(&terms.lines, Pool::release, [SeatState::Held(idx), SeatState::Free]);
            self.give_back_to_channels(&terms);
            self.give_back_units(user, terms.lines.units());
        }
        self.set_state(idx, state);
        if let Some(session) = self.users[user].session {
            self.room.sessions.count_holds(session, -1);
        }
    }

    /// Takes the units of a hold that ran out again, and sells them.
    fn confirm_late(&mut self, at: Time, booking: &BookingId, payment: &PaymentId) {
        let idx = self.bookings.find(booking);
        let hold = &self.bookings[idx];
        let late = matches!(&hold.state,
            HoldState::Expired { payment: Some(running), .. } if running == payment);
        assert!(late, "only an expired hold's running payment is late");
        let (terms, user) = (Arc::clone(&hold.terms), hold.user);
        self.bring_out(&terms, &self.sources_again(&terms));
        self.occupy(&terms.lines, idx);
        self.channels.take(&terms.lines, &terms.sources);
        self.sell(&terms.lines, idx);
        self.users[user].units += terms.lines.units();
        let state = HoldState::Confirmed { at, payment: Some(payment.clone()) };
        self.set_state(idx, state);
    }

    fn cancel_confirmed(&mut self, booking: &BookingId, cancelled: HoldState) {
        let idx = self.bookings.find(booking);
        let hold = &self.bookings[idx];
        assert!(
            matches!(hold.state, HoldState::Confirmed { .. }),
            "only a confirmed booking is cancelled"
        );
        let (terms, user) = (Arc::clone(&hold.terms), hold.user);
        self.turn(&terms.lines, Pool::cancel, [SeatState::Sold(idx), SeatState::Free]);
        self.give_back_to_channels(&terms);
        self.give_back_units(user, terms.lines.units());
        self.set_state(idx, cancelled);
    }

    fn give_back_units(&mut self, user: Idx, units: u32) {
        let left = self.users[user].units.checked_sub(units);
        self.users[user].units = left.expect("users give back only what they have");
    }

    /// Claims units or gives them back, so that the count of claimed ones goes from the one to the other.
    fn change_claimed(
        &mut self,
        pool: &PoolId,
        [before, after]: [u32; 2],
        change: impl FnOnce(&mut Pool),
    ) {
        self.stock.change(pool, |pool| {
            assert_eq!(pool.claimed, before, "the journal knows the count before");
            change(pool);
            assert_eq!(pool.claimed, after, "the journal knows the count after");
        });
    }

    fn declaim(&mut self, at: Time, claim: &ClaimId, how: DeclaimedHow, before: u32, after: u32) {
        let known = self.claims.get(claim).expect("changes name only claims that exist").clone();
        assert!(matches!(known.state, ClaimState::Claimed { .. }), "a claim is given back once");
        let quantity =
            u32::try_from(known.amount).expect("a visitor's claim is a positive quantity");
        self.change_claimed(&known.pool, [before, after], |pool| pool.declaim(quantity));
        let owner = known.user.as_ref().expect("only a visitor's claim is given back");
        let user = self.users.find(owner).expect("who has units is known");
        self.give_back_units(user, quantity);
        self.users.tidy(user);
        let state = match how {
            DeclaimedHow::Returned => ClaimState::Returned { at },
            DeclaimedHow::Expired => ClaimState::Expired { at },
        };
        self.claims.set_state(claim, state);
    }
}
