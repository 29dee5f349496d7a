//! What is asked about a booking's money: payments, confirmation, cancellation, check-in.

use super::settings::{check_reason, invalid, step};
use super::stock::Move;
use super::{Answer, Oracle};
use onrush_core::change::{BookingChange, HoldChange, SessionEnd};
use onrush_core::hold::{CheckIn, HoldState, HoldStatus, OnDecline};
use onrush_core::ids::{BookingId, PaymentId, ScanId, UserId};
use onrush_core::spec::Reason;
use onrush_core::view::Reply;
use onrush_core::{Phase, Refusal, Time};

const DAY_MS: i64 = 86_400_000;

impl Oracle {
    fn shown(&self, id: &BookingId) -> Answer {
        Ok(Reply::Hold(self.bookings[id].view()))
    }

    pub(super) fn begin_payment(
        &mut self,
        at: Time,
        id: &BookingId,
        user: &UserId,
        payment: &PaymentId,
    ) -> Answer {
        let settings = self.settings();
        let (limit, window_ms) = (settings.payment_attempts, settings.payment_window_ms);
        let max_ms = settings.hold_max_ms;
        let known = self.own(id, user)?;
        let before = match &known.state {
            HoldState::Held { until } if at < *until => *until,
            HoldState::Paying { until, .. } if at < *until => return self.shown(id),
            HoldState::Held { .. } | HoldState::Paying { .. } | HoldState::Expired { .. } => {
                return Err(Refusal::HoldExpired);
            }
            HoldState::Confirmed { .. } => return Err(Refusal::AlreadyConfirmed),
            HoldState::Released { .. } => return Err(Refusal::AlreadyReleased),
            HoldState::Cancelled { .. } => {
                return Err(Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled });
            }
        };
        if known.terms.amount_minor == 0 {
            return Err(Refusal::NothingToPay);
        }
        if known.payments >= limit {
            return Err(Refusal::TooManyAttempts { limit });
        }
        let most = self.at_most(known.terms.created_at, max_ms);
        let until = before.max(most.min(at.plus_ms(window_ms)));
        let view = self.update(id, |booking| {
            booking.payments += 1;
            booking.state = HoldState::Paying { until, before, payment: payment.clone() };
        });
        let (booking, payment) = (id.clone(), payment.clone());
        self.change(BookingChange::PaymentBegun { booking, payment, until });
        Ok(Reply::Hold(view))
    }

    pub(super) fn fail_payment(
        &mut self,
        at: Time,
        id: &BookingId,
        payment: &PaymentId,
        why: &str,
        then: OnDecline,
    ) -> Answer {
        if why.chars().count() > 500 {
            return Err(invalid(Some("why")));
        }
        let known = self.bookings.get(id).ok_or(Refusal::ReservationNotFound)?;
        let user = known.terms.user.clone();
        match known.state.clone() {
            HoldState::Paying { until, before, payment: running } if running == *payment => {
                if at >= until {
                    self.expire(at, id);
                    self.end_late_payment(id, payment, why, at);
                    return self.shown(id);
                }
                let until = before.max(at.plus_ms(60_000));
                self.update(id, |booking| booking.state = HoldState::Held { until });
                let (booking, payment, why) = (id.clone(), payment.clone(), why.into());
                self.change(BookingChange::PaymentFailed { booking, payment, why, until });
                match then {
                    OnDecline::Keep => {}
                    OnDecline::Release => {
                        self.change(HoldChange::HoldReleased { booking: id.clone() });
                        self.end_live(id, HoldState::Released { at });
                        self.leave_if_done(at, &user, SessionEnd::PaymentFailed);
                    }
                }
                self.shown(id)
            }
            HoldState::Expired { payment: Some(running), at: since } if running == *payment => {
                self.end_late_payment(id, payment, why, since);
                self.shown(id)
            }
            HoldState::Confirmed { payment: Some(paid), .. } if paid == *payment => {
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

    /// The payment of a hold that ran out ended without money.
    fn end_late_payment(&mut self, id: &BookingId, payment: &PaymentId, why: &str, since: Time) {
        self.update(id, |booking| booking.state = HoldState::Expired { at: since, payment: None });
        self.remember_end(id);
        let (booking, payment, why) = (id.clone(), payment.clone(), why.into());
        self.change(BookingChange::LatePaymentFailed { booking, payment, why });
    }

    /// Who holds nothing more leaves the room.
    fn leave_if_done(&mut self, at: Time, user: &UserId, how: SessionEnd) {
        if self.live_of(user).is_empty() {
            self.end_session(user, how);
            self.free_slot(at, user);
        }
    }

    pub(super) fn confirm(
        &mut self,
        at: Time,
        id: &BookingId,
        user: &UserId,
        paid: Option<&PaymentId>,
    ) -> Answer {
        let known = self.own(id, user)?;
        let terms = std::sync::Arc::clone(&known.terms);
        let unpaid = Err(Refusal::PaymentRequired { amount_minor: terms.amount_minor });
        match known.state.clone() {
            HoldState::Held { until } if at >= until => return Err(Refusal::HoldExpired),
            HoldState::Held { .. } => {
                if terms.amount_minor > 0 && paid.is_none() {
                    return unpaid;
                }
            }
            HoldState::Paying { until, payment, .. } if at >= until => {
                if paid != Some(&payment) {
                    return Err(Refusal::HoldExpired);
                }
                self.open_for_late_money(at)?;
                self.expire(at, id);
                return self.sell_late(at, id, payment);
            }
            HoldState::Paying { payment, .. } => match paid {
                Some(paid) if *paid == payment => {}
                Some(_) => return Err(Refusal::PaymentMismatch),
                None => return unpaid,
            },
            HoldState::Confirmed { payment, .. } => {
                let same = payment.as_ref() == paid;
                return if same { self.shown(id) } else { Err(Refusal::AlreadyConfirmed) };
            }
            HoldState::Released { .. } => return Err(Refusal::AlreadyReleased),
            HoldState::Expired { payment: Some(payment), .. } if paid == Some(&payment) => {
                self.open_for_late_money(at)?;
                self.free_again(&terms)?;
                self.within_limit(user, terms.lines.units())?;
                self.within_limits(user, &terms.lines, terms.types.as_deref())?;
                self.within_limits_of_payers(id)?;
                return self.sell_late(at, id, payment);
            }
            HoldState::Expired { .. } => return Err(Refusal::HoldExpired),
            HoldState::Cancelled { .. } => {
                return Err(Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled });
            }
        }
        let payment = paid.cloned();
        self.change(BookingChange::HoldConfirmed { booking: id.clone(), payment: payment.clone() });
        self.end_live(id, HoldState::Confirmed { at, payment });
        self.leave_if_done(at, user, SessionEnd::Completed);
        self.shown(id)
    }

    fn open_for_late_money(&self, at: Time) -> Result<(), Refusal> {
        match self.phase_at(at) {
            Phase::Open => Ok(()),
            phase @ (Phase::Scheduled | Phase::Prequeue | Phase::Paused | Phase::Closed) => {
                Err(Refusal::EventNotOpen { phase })
            }
        }
    }

    /// Late money buys the same units.
    fn sell_late(&mut self, at: Time, id: &BookingId, payment: PaymentId) -> Answer {
        let state = HoldState::Confirmed { at, payment: Some(payment.clone()) };
        let terms = self.update(id, |booking| booking.state = state).terms;
        self.take_aside(&terms, true);
        self.move_units(&terms, Move::FreeToSold);
        self.add_units(&terms.user, terms.lines.units());
        self.change(BookingChange::HoldConfirmedLate { booking: id.clone(), payment });
        self.shown(id)
    }

    /// What a buyer who cancels gets back; `None` if they cannot.
    fn refund_of(&self, at: Time, id: &BookingId) -> Option<i64> {
        let settings = self.settings();
        let starts_at = settings.starts_at?;
        let terms = &self.bookings[id].terms;
        let counts = |days: u16| at.0 <= starts_at.0 - DAY_MS * i64::from(days);
        let rules = settings.refunds.iter().filter(|rule| counts(rule.days_before));
        // The earliest rule that still counts; of equal ones the later named.
        let rule = rules.reduce(
            |best, rule| {
                if rule.days_before >= best.days_before { rule } else { best }
            },
        )?;
        let step = i128::from(step(settings));
        let exact = i128::from(terms.amount_minor - terms.fee_minor) * i128::from(rule.percent);
        let whole = 100 * step;
        let steps = exact / whole + i128::from(exact % whole != 0);
        let share = i64::try_from(steps * step).unwrap_or(i64::MAX);
        Some(share.min(terms.amount_minor))
    }

    /// Takes a confirmed booking back: for its buyer, or for the organiser if `buyer` is `None`.
    pub(super) fn cancel(
        &mut self,
        at: Time,
        id: &BookingId,
        reason: &Reason,
        buyer: Option<&UserId>,
        wanted: Option<i64>,
    ) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        let known = match buyer {
            Some(user) => self.own(id, user)?,
            None => self.bookings.get(id).ok_or(Refusal::ReservationNotFound)?,
        };
        match known.state.status() {
            HoldStatus::Confirmed => {}
            booking_status @ HoldStatus::Cancelled => {
                // The first decision about the money stands, and no other is said to.
                let HoldState::Cancelled { refund_minor, .. } = known.state else {
                    unreachable!("the status is the state's")
                };
                let all_minor = known.terms.amount_minor;
                return match buyer {
                    None if wanted.unwrap_or(all_minor) != refund_minor => {
                        Err(Refusal::InvalidStatus { booking_status })
                    }
                    Some(_) | None => self.shown(id),
                };
            }
            booking_status @ (HoldStatus::Held
            | HoldStatus::Paying
            | HoldStatus::Released
            | HoldStatus::Expired) => return Err(Refusal::InvalidStatus { booking_status }),
        }
        if let Some(first) = known.checked_in.iter().min_by_key(|ticket| ticket.ticket) {
            return Err(Refusal::AlreadyCheckedIn { checked_in_at: first.at });
        }
        let paid_minor = known.terms.amount_minor;
        let step_minor = step(self.settings());
        let refund_minor = match (buyer, wanted) {
            (Some(_), agreed) => {
                let refund_minor = self.refund_of(at, id).ok_or(Refusal::NotCancellable)?;
                if agreed.is_some_and(|agreed| agreed > refund_minor) {
                    return Err(Refusal::RefundLowered { refund_minor });
                }
                refund_minor
            }
            (None, None) => paid_minor,
            (None, Some(wanted)) if wanted < 0 || wanted > paid_minor => {
                return Err(Refusal::RefundExceedsPaid { paid_minor });
            }
            (None, Some(wanted)) if wanted != paid_minor && wanted % step_minor != 0 => {
                return Err(Refusal::RefundBetweenSteps { step_minor });
            }
            (None, Some(wanted)) => wanted,
        };
        let state = HoldState::Cancelled { at, refund_minor };
        let terms = self.update(id, |booking| booking.state = state).terms;
        self.move_units(&terms, Move::SoldToFree);
        self.put_aside(&terms);
        self.drop_units(&terms.user, terms.lines.units());
        self.remember_end(id);
        let (booking, reason) = (id.clone(), reason.clone());
        self.change(BookingChange::ConfirmedCancelled { booking, reason, refund_minor });
        self.shown(id)
    }

    pub(super) fn check_in(
        &mut self,
        at: Time,
        id: &BookingId,
        ticket: u32,
        scan: Option<ScanId>,
    ) -> Answer {
        let known = self.bookings.get(id).ok_or(Refusal::ReservationNotFound)?;
        let booking_status = known.state.status();
        if booking_status != HoldStatus::Confirmed {
            return Err(Refusal::InvalidStatus { booking_status });
        }
        let tickets = known.terms.lines.units();
        if ticket == 0 || ticket > tickets {
            return Err(Refusal::TicketNotFound { tickets });
        }
        if let Some(before) = known.checked_in.iter().find(|other| other.ticket == ticket) {
            if before.scan.is_some() && before.scan == scan {
                return self.shown(id);
            }
            return Err(Refusal::AlreadyCheckedIn { checked_in_at: before.at });
        }
        self.update(id, |booking| {
            booking.checked_in.push(CheckIn { ticket, at, scan });
            booking.checked_in.sort_by_key(|one| one.ticket);
        });
        self.change(BookingChange::CheckedIn { booking: id.clone(), ticket, scan });
        self.shown(id)
    }
}
