//! What is asked for a booking, from the hold to the confirmation, and for claims.

use super::decide_organiser::check_reason;
use super::{Changes, Decision, Event, Phase};
use crate::bookings::Hold;
use crate::change::{Change, DeclaimedHow, SessionEnd};
use crate::command::Reason;
use crate::hold::{HoldState, HoldTerms};
use crate::ids::{BookingId, ClaimId, PaymentId, PoolId, UserId};
use crate::limits::{
    AFTER_FAILED_PAYMENT_MS, MAX_DURATION_MS, MAX_POOL_CAPACITY, MAX_UNITS_PER_HOLD, fits_text,
};
use crate::lines::Lines;
use crate::refusal::Refusal;
use crate::seats::SeatState;
use crate::settings::Settings;
use crate::time::Time;
use crate::view::{ClaimState, ClaimView, HoldView, Reply};
use crate::waiting_room::session::{Session, SessionState};
use smallvec::smallvec;
use std::sync::Arc;

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

    fn price_minor(&self, lines: &Lines) -> i64 {
        let pools = lines.pools().iter().filter_map(|line| {
            let pool = self.stock.get(&line.pool)?;
            Some(pool.spec.price_minor * i64::from(line.quantity))
        });
        let seats = lines.seats().iter().filter_map(|seat| {
            let seat = self.seats.get(seat)?;
            Some(self.seats.category_of(seat).price_minor)
        });
        pools.sum::<i64>() + seats.sum::<i64>()
    }

    /// Checks that `user` may take units now; gives the session if he must have one.
    fn check_may_take(&self, at: Time, user: &UserId) -> Result<Option<&Session>, Refusal> {
        match self.phase_at(at) {
            Phase::Open => {}
            phase @ (Phase::Scheduled | Phase::Prequeue | Phase::Paused | Phase::Closed) => {
                return Err(Refusal::EventNotOpen { phase });
            }
        }
        if self.room_settings().is_none() {
            return Ok(None);
        }
        let session = self.user(user).and_then(|user| user.session);
        match session.map(|idx| self.room.sessions.get(idx)) {
            Some(session) if session.state.may_hold(at) => Ok(Some(session)),
            Some(_) => {
                Err(Refusal::InvalidState { why: "your session is over; join the queue again" })
            }
            None => {
                Err(Refusal::InvalidState { why: "it is not your turn; join the queue and wait" })
            }
        }
    }

    fn check_user_limit(&self, user: &UserId, more: u32) -> Result<(), Refusal> {
        let limit = self.settings.as_ref().and_then(|settings| settings.max_per_user);
        let held = self.user(user).map_or(0, |user| user.units);
        match limit {
            Some(limit) if held.saturating_add(more) > limit => {
                Err(Refusal::UserLimitExceeded { limit, held })
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn decide_hold(
        &self,
        at: Time,
        settings: &Settings,
        booking: &BookingId,
        user: &UserId,
        lines: &Lines,
    ) -> Result<Decision, Refusal> {
        if let Some(hold) = self.bookings.get(booking) {
            let same = hold.terms.user == *user && hold.terms.lines == *lines;
            let reply = || Decision::nothing(Reply::Hold(hold.view()));
            return if same { Ok(reply()) } else { Err(Refusal::BookingMismatch) };
        }
        self.check_lines_exist(lines)?;
        let session = self.check_may_take(at, user)?;
        self.check_lines_free(lines)?;
        self.check_user_limit(user, lines.units())?;

        let terms = Arc::new(HoldTerms {
            booking: booking.clone(),
            user: user.clone(),
            lines: lines.clone(),
            amount_minor: self.price_minor(lines),
            created_at: at,
        });
        let until = at.plus_ms(settings.hold_ttl_ms);
        let mut changes = Changes::new();
        changes.extend(self.arrival(session, user));
        changes.push(Change::HoldPlaced { terms: Arc::clone(&terms), until });
        let view = HoldView { terms, state: HoldState::Held { until }, payments: 0, extensions: 0 };
        Ok(Decision { reply: Reply::Hold(view), changes })
    }

    /// Who takes something has shown up.
    fn arrival(&self, session: Option<&Session>, user: &UserId) -> Option<Change> {
        let session = session?;
        match session.state {
            SessionState::Invited { .. } => {
                Some(Change::Arrived { place: session.place, user: user.clone() })
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
    ) -> Result<Decision, Refusal> {
        let hold = self.booking_of(booking, user)?;
        match &hold.state {
            HoldState::Held { until } if at < *until => {
                let longest = hold.terms.created_at.plus_ms(settings.hold_max_ms);
                let extended = at.plus_ms(settings.hold_ttl_ms).min(longest);
                if hold.extensions >= settings.extensions || extended <= *until {
                    return Err(Refusal::ExtensionLimit { limit: settings.extensions });
                }
                let view = HoldView {
                    state: HoldState::Held { until: extended },
                    extensions: hold.extensions + 1,
                    ..hold.view()
                };
                let booking = booking.clone();
                Ok(Decision {
                    reply: Reply::Hold(view),
                    changes: smallvec![Change::HoldExtended { booking, until: extended }],
                })
            }
            HoldState::Paying { .. } => Err(Refusal::CannotCancel),
            HoldState::Held { .. } | HoldState::Expired { .. } => Err(Refusal::HoldExpired),
            HoldState::Confirmed { .. } => Err(Refusal::AlreadyConfirmed),
            HoldState::Released { .. } => Err(Refusal::AlreadyReleased),
            HoldState::Cancelled { .. } => Err(Refusal::InvalidStatus { status: "cancelled" }),
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
                    smallvec![Change::HoldReleased { booking: booking.clone() }];
                changes.extend(self.slot_after(hold));
                let view = HoldView { state: HoldState::Released { at }, ..hold.view() };
                Ok(Decision { reply: Reply::Hold(view), changes })
            }
            HoldState::Paying { .. } => Err(Refusal::CannotCancel),
            HoldState::Held { .. } | HoldState::Expired { .. } => Err(Refusal::HoldExpired),
            HoldState::Confirmed { .. } => Err(Refusal::AlreadyConfirmed),
            HoldState::Released { .. } => Err(Refusal::AlreadyReleased),
            HoldState::Cancelled { .. } => Err(Refusal::InvalidStatus { status: "cancelled" }),
        }
    }

    /// The slot is freed if this was the last live hold of a session that is over.
    pub(super) fn slot_after(&self, hold: &Hold) -> Option<Change> {
        let session = self.room.sessions.get(self.users[hold.user].session?);
        let last = session.live_holds == 1 && session.state == SessionState::Ended;
        last.then(|| Change::SlotFreed { place: session.place, user: hold.terms.user.clone() })
    }

    pub(super) fn decide_begin_payment(
        &self,
        at: Time,
        settings: &Settings,
        booking: &BookingId,
        user: &UserId,
        payment: &PaymentId,
    ) -> Result<Decision, Refusal> {
        let hold = self.booking_of(booking, user)?;
        match &hold.state {
            HoldState::Held { until } if at < *until => {
                if hold.terms.amount_minor == 0 {
                    return Err(Refusal::InvalidState {
                        why: "nothing is to be paid; confirm at once",
                    });
                }
                if hold.payments >= settings.payment_attempts {
                    return Err(Refusal::TooManyAttempts { limit: settings.payment_attempts });
                }
                let longest = hold.terms.created_at.plus_ms(settings.hold_max_ms);
                let moved = at.plus_ms(settings.payment_window_ms).min(longest).max(*until);
                let (booking, payment) = (booking.clone(), payment.clone());
                let state =
                    HoldState::Paying { until: moved, before: *until, payment: payment.clone() };
                let view = HoldView { state, payments: hold.payments + 1, ..hold.view() };
                Ok(Decision {
                    reply: Reply::Hold(view),
                    changes: smallvec![Change::PaymentBegun { booking, payment, until: moved }],
                })
            }
            // The payment that runs stays (S3.5): the answer names it.
            HoldState::Paying { until, .. } if at < *until => {
                Ok(Decision::nothing(Reply::Hold(hold.view())))
            }
            HoldState::Held { .. } | HoldState::Paying { .. } | HoldState::Expired { .. } => {
                Err(Refusal::HoldExpired)
            }
            HoldState::Confirmed { .. } => Err(Refusal::AlreadyConfirmed),
            HoldState::Released { .. } => Err(Refusal::AlreadyReleased),
            HoldState::Cancelled { .. } => Err(Refusal::InvalidStatus { status: "cancelled" }),
        }
    }

    pub(super) fn decide_fail_payment(
        &self,
        at: Time,
        booking: &BookingId,
        payment: &PaymentId,
        why: &str,
    ) -> Result<Decision, Refusal> {
        if !fits_text(why) {
            return Err(Refusal::InvalidSettings { why: "why: use at most 500 characters" });
        }
        let hold = self.bookings.get(booking).ok_or(Refusal::ReservationNotFound)?;
        let late = |booking: &BookingId| Change::LatePaymentFailed {
            booking: booking.clone(),
            payment: payment.clone(),
            why: why.into(),
        };
        match &hold.state {
            HoldState::Paying { payment: running, before, until } if running == payment => {
                if at < *until {
                    let until = at.plus_ms(AFTER_FAILED_PAYMENT_MS).max(*before);
                    let view = HoldView { state: HoldState::Held { until }, ..hold.view() };
                    let (booking, payment) = (booking.clone(), payment.clone());
                    let change = Change::PaymentFailed { booking, payment, why: why.into(), until };
                    Ok(Decision { reply: Reply::Hold(view), changes: smallvec![change] })
                } else {
                    // The hold ran out already, and its tick has not come yet.
                    let mut changes = self.expiry_of(hold);
                    changes.push(late(booking));
                    let state = HoldState::Expired { at, payment: None };
                    Ok(Decision { reply: Reply::Hold(HoldView { state, ..hold.view() }), changes })
                }
            }
            HoldState::Expired { payment: Some(running), at: expired_at } if running == payment => {
                let state = HoldState::Expired { at: *expired_at, payment: None };
                Ok(Decision {
                    reply: Reply::Hold(HoldView { state, ..hold.view() }),
                    changes: smallvec![late(booking)],
                })
            }
            HoldState::Confirmed { payment: Some(paid), .. } if paid == payment => {
                Err(Refusal::AlreadyConfirmed)
            }
            HoldState::Held { .. }
            | HoldState::Paying { .. }
            | HoldState::Confirmed { .. }
            | HoldState::Released { .. }
            | HoldState::Expired { .. }
            | HoldState::Cancelled { .. } => Err(Refusal::PaymentMismatch),
        }
    }

    /// What the end of a live hold by its deadline changes.
    pub(super) fn expiry_of(&self, hold: &Hold) -> Changes {
        let mut changes: Changes =
            smallvec![Change::HoldExpired { booking: hold.terms.booking.clone() }];
        changes.extend(self.slot_after(hold));
        changes
    }

    pub(super) fn decide_confirm(
        &self,
        at: Time,
        booking: &BookingId,
        user: &UserId,
        payment: Option<&PaymentId>,
    ) -> Result<Decision, Refusal> {
        let hold = self.booking_of(booking, user)?;
        match &hold.state {
            HoldState::Held { until } | HoldState::Paying { until, .. } if *until <= at => {
                return Err(Refusal::HoldExpired);
            }
            HoldState::Held { .. } => {
                if hold.terms.amount_minor > 0 && payment.is_none() {
                    return Err(Refusal::PaymentRequired { amount_minor: hold.terms.amount_minor });
                }
            }
            HoldState::Paying { payment: running, .. } => match payment {
                Some(payment) if payment == running => {}
                Some(_) => return Err(Refusal::PaymentMismatch),
                None => {
                    return Err(Refusal::PaymentRequired { amount_minor: hold.terms.amount_minor });
                }
            },
            HoldState::Confirmed { payment: paid, .. } => {
                let same = paid.as_ref() == payment;
                let reply = || Decision::nothing(Reply::Hold(hold.view()));
                return if same { Ok(reply()) } else { Err(Refusal::AlreadyConfirmed) };
            }
            HoldState::Released { .. } => return Err(Refusal::AlreadyReleased),
            HoldState::Expired { .. } => return Err(Refusal::HoldExpired),
            HoldState::Cancelled { .. } => {
                return Err(Refusal::InvalidStatus { status: "cancelled" });
            }
        }
        let payment = payment.cloned();
        let state = HoldState::Confirmed { at, payment: payment.clone() };
        let mut changes: Changes =
            smallvec![Change::HoldConfirmed { booking: booking.clone(), payment }];
        changes.extend(self.session_after_confirm(hold));
        Ok(Decision { reply: Reply::Hold(HoldView { state, ..hold.view() }), changes })
    }

    /// Who has what he came for leaves the room (S3.6), unless he holds more.
    fn session_after_confirm(&self, hold: &Hold) -> Changes {
        let mut changes = Changes::new();
        let Some(idx) = self.users[hold.user].session else { return changes };
        let session = self.room.sessions.get(idx);
        if session.live_holds > 1 {
            return changes;
        }
        let (place, user) = (session.place, &hold.terms.user);
        if session.state != SessionState::Ended {
            let how = SessionEnd::Completed;
            changes.push(Change::SessionEnded { place, user: user.clone(), how });
        }
        changes.push(Change::SlotFreed { place, user: user.clone() });
        changes
    }

    pub(super) fn decide_cancel(
        &self,
        booking: &BookingId,
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        let hold = self.bookings.get(booking).ok_or(Refusal::ReservationNotFound)?;
        match &hold.state {
            HoldState::Confirmed { .. } => {
                let (booking, reason) = (booking.clone(), reason.clone());
                Ok(Decision::done(Change::ConfirmedCancelled { booking, reason }))
            }
            HoldState::Cancelled { .. } => Ok(Decision::nothing(Reply::Done)),
            state @ (HoldState::Held { .. }
            | HoldState::Paying { .. }
            | HoldState::Released { .. }
            | HoldState::Expired { .. }) => Err(Refusal::InvalidStatus { status: state.status() }),
        }
    }

    pub(super) fn decide_claim(
        &self,
        at: Time,
        claim: &ClaimId,
        user: &UserId,
        pool: &PoolId,
        quantity: u32,
        ttl_ms: Option<i64>,
    ) -> Result<Decision, Refusal> {
        if ttl_ms.is_some_and(|ttl_ms| !(1..=MAX_DURATION_MS).contains(&ttl_ms)) {
            return Err(Refusal::InvalidSettings { why: "ttl_ms: use 1 ms to 366 days" });
        }
        if !(1..=MAX_UNITS_PER_HOLD).contains(&quantity) {
            return Err(Refusal::InvalidQuantity);
        }
        if let Some(known) = self.claims.get(claim) {
            let same = known.user.as_ref() == Some(user)
                && known.pool == *pool
                && known.amount == i64::from(quantity);
            let reply = || Decision::nothing(Reply::Claim(known.clone()));
            return if same { Ok(reply()) } else { Err(Refusal::BookingMismatch) };
        }
        let found =
            self.stock.get(pool).ok_or_else(|| Refusal::ZoneNotFound { pool: pool.clone() })?;
        let session = self.check_may_take(at, user)?;
        if quantity > found.free() {
            return Err(Refusal::ClaimExceedsQuantity { free: found.free() });
        }
        self.check_user_limit(user, quantity)?;
        if found.spec.price_minor > 0 {
            let amount_minor = found.spec.price_minor * i64::from(quantity);
            return Err(Refusal::PaymentRequired { amount_minor });
        }
        let (before, after) = (found.claimed, found.claimed + quantity);
        let until = ttl_ms.map(|ttl_ms| at.plus_ms(ttl_ms));
        let mut changes = Changes::new();
        changes.extend(self.arrival(session, user));
        changes.push(Change::Claimed {
            claim: claim.clone(),
            user: user.clone(),
            pool: pool.clone(),
            quantity,
            until,
            before,
            after,
        });
        let view = ClaimView {
            claim: claim.clone(),
            user: Some(user.clone()),
            pool: pool.clone(),
            amount: i64::from(quantity),
            before,
            after,
            state: ClaimState::Claimed { until },
        };
        Ok(Decision { reply: Reply::Claim(view), changes })
    }

    pub(super) fn decide_declaim(
        &self,
        at: Time,
        claim: &ClaimId,
        user: &UserId,
    ) -> Result<Decision, Refusal> {
        let known = self.claims.get(claim).ok_or(Refusal::ClaimNotFound)?;
        if known.user.as_ref() != Some(user) {
            return Err(Refusal::ClaimNotFound);
        }
        let ClaimState::Claimed { until } = known.state else {
            return Ok(Decision::nothing(Reply::Claim(known.clone())));
        };
        let expired = until.is_some_and(|until| until <= at);
        let (how, state) = if expired {
            (DeclaimedHow::Expired, ClaimState::Expired { at })
        } else {
            (DeclaimedHow::Returned, ClaimState::Returned { at })
        };
        Ok(Decision {
            reply: Reply::Claim(ClaimView { state, ..known.clone() }),
            changes: smallvec![self.declaimed(known, how)],
        })
    }

    pub(super) fn declaimed(&self, claim: &ClaimView, how: DeclaimedHow) -> Change {
        let before = self.stock.get(&claim.pool).map_or(0, |pool| pool.claimed);
        let quantity =
            u32::try_from(claim.amount).expect("a visitor's claim is a positive quantity");
        Change::Declaimed { claim: claim.claim.clone(), how, before, after: before - quantity }
    }

    pub(super) fn decide_adjust_claimed(
        &self,
        at: Time,
        claim: &ClaimId,
        pool: &PoolId,
        amount: i64,
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        if amount == 0 || amount.unsigned_abs() > u64::from(MAX_POOL_CAPACITY) {
            return Err(Refusal::InvalidQuantity);
        }
        if let Some(known) = self.claims.get(claim) {
            let same = known.user.is_none() && known.pool == *pool && known.amount == amount;
            let reply = || Decision::nothing(Reply::Claim(known.clone()));
            return if same { Ok(reply()) } else { Err(Refusal::BookingMismatch) };
        }
        let found =
            self.stock.get(pool).ok_or_else(|| Refusal::ZoneNotFound { pool: pool.clone() })?;
        if amount > i64::from(found.free()) {
            return Err(Refusal::ClaimExceedsQuantity { free: found.free() });
        }
        if -amount > i64::from(found.claimed_by_services) {
            return Err(Refusal::ClaimBelowZero { claimed: found.claimed_by_services });
        }
        let before = found.claimed;
        let after = u32::try_from(i64::from(before) + amount).expect("both ends were checked");
        let (claim, pool, reason) = (claim.clone(), pool.clone(), reason.clone());
        let view = ClaimView {
            claim: claim.clone(),
            user: None,
            pool: pool.clone(),
            amount,
            before,
            after,
            state: ClaimState::Adjusted { at },
        };
        Ok(Decision {
            reply: Reply::Claim(view),
            changes: smallvec![Change::ClaimedAdjusted {
                claim,
                pool,
                amount,
                before,
                after,
                reason
            }],
        })
    }
}
