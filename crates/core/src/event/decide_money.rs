//! What is asked for a booking's money: its payments, its confirmation, its end.

use super::decide_organiser::check_reason;
use super::{Changes, Decision, Event};
use crate::bookings::Hold;
use crate::change::{BookingChange, HoldChange, SessionEnd, VisitorChange};
use crate::command::CancelTerms;
use crate::hold::{CheckIn, HoldState, HoldStatus, OnDecline};
use crate::ids::{BookingId, PaymentId, ScanId, UserId};
use crate::limits::{AFTER_FAILED_PAYMENT_MS, fits_text};
use crate::phase::Phase;
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::spec::Reason;
use crate::time::Time;
use crate::view::{HoldView, Reply};
use crate::waiting_room::session::SessionState;
use smallvec::smallvec;

impl Event {
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
                    return Err(Refusal::NothingToPay);
                }
                if hold.payments >= settings.payment_attempts {
                    return Err(Refusal::TooManyAttempts { limit: settings.payment_attempts });
                }
                let latest = settings.latest_until(&hold.terms, &self.gaps);
                let moved = at.plus_ms(settings.payment_window_ms).min(latest).max(*until);
                let (booking, payment) = (booking.clone(), payment.clone());
                let state =
                    HoldState::Paying { until: moved, before: *until, payment: payment.clone() };
                let view = HoldView { state, payments: hold.payments + 1, ..hold.view() };
                let begun = BookingChange::PaymentBegun { booking, payment, until: moved };
                Ok(Decision::one(Reply::Hold(view), begun))
            }
            // The payment that runs stays: the answer names it.
            HoldState::Paying { until, .. } if at < *until => {
                Ok(Decision::nothing(Reply::Hold(hold.view())))
            }
            HoldState::Held { .. } | HoldState::Paying { .. } | HoldState::Expired { .. } => {
                Err(Refusal::HoldExpired)
            }
            HoldState::Confirmed { .. } => Err(Refusal::AlreadyConfirmed),
            HoldState::Released { .. } => Err(Refusal::AlreadyReleased),
            HoldState::Cancelled { .. } => {
                Err(Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled })
            }
        }
    }

    pub(super) fn decide_fail_payment(
        &self,
        at: Time,
        booking: &BookingId,
        payment: &PaymentId,
        why: &str,
        then: OnDecline,
    ) -> Result<Decision, Refusal> {
        if !fits_text(why) {
            return Err(Refusal::InvalidSettings {
                field: Some("why".into()),
                why: "why: use at most 500 characters".into(),
            });
        }
        let hold = self.bookings.get(booking).ok_or(Refusal::ReservationNotFound)?;
        let late = |booking: &BookingId| BookingChange::LatePaymentFailed {
            booking: booking.clone(),
            payment: payment.clone(),
            why: why.into(),
        };
        match &hold.state {
            HoldState::Paying { payment: running, before, until } if running == payment => {
                if at < *until {
                    let until = at.plus_ms(AFTER_FAILED_PAYMENT_MS).max(*before);
                    let payment = payment.clone();
                    let failed = BookingChange::PaymentFailed {
                        booking: booking.clone(),
                        payment,
                        why: why.into(),
                        until,
                    };
                    let mut changes: Changes = smallvec![failed.into()];
                    let state = match then {
                        OnDecline::Keep => HoldState::Held { until },
                        OnDecline::Release => {
                            let booking = booking.clone();
                            changes.push(HoldChange::HoldReleased { booking }.into());
                            changes.extend(self.session_after(hold, SessionEnd::PaymentFailed));
                            HoldState::Released { at }
                        }
                    };
                    Ok(Decision { reply: Reply::Hold(HoldView { state, ..hold.view() }), changes })
                } else {
                    // The hold ran out already, and its tick has not come yet.
                    let mut changes = self.expiry_of(hold);
                    changes.push(late(booking).into());
                    let state = HoldState::Expired { at, payment: None };
                    Ok(Decision { reply: Reply::Hold(HoldView { state, ..hold.view() }), changes })
                }
            }
            HoldState::Expired { payment: Some(running), at: expired_at } if running == payment => {
                let state = HoldState::Expired { at: *expired_at, payment: None };
                let view = HoldView { state, ..hold.view() };
                Ok(Decision::one(Reply::Hold(view), late(booking)))
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

    pub(super) fn decide_confirm(
        &self,
        at: Time,
        booking: &BookingId,
        user: &UserId,
        payment: Option<&PaymentId>,
    ) -> Result<Decision, Refusal> {
        let hold = self.booking_of(booking, user)?;
        match &hold.state {
            HoldState::Paying { until, payment: running, .. }
                if *until <= at && payment == Some(running) =>
            {
                // The hold ran out already, and its tick has not come yet: its units are still its own.
                self.check_may_buy_late(at)?;
                let changes = self.expiry_of(hold);
                return Ok(Self::confirmed_late(at, hold, running, changes));
            }
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
            HoldState::Expired { payment: Some(running), .. } if payment == Some(running) => {
                self.check_may_buy_late(at)?;
                self.check_free_again(&hold.terms)?;
                self.check_user_limit(user, hold.terms.lines.units())?;
                self.check_limits(user, &hold.terms.lines, hold.terms.types.as_deref())?;
                self.check_payers(booking)?;
                return Ok(Self::confirmed_late(at, hold, running, Changes::new()));
            }
            HoldState::Expired { .. } => return Err(Refusal::HoldExpired),
            HoldState::Cancelled { .. } => {
                return Err(Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled });
            }
        }
        let payment = payment.cloned();
        let state = HoldState::Confirmed { at, payment: payment.clone() };
        let mut changes: Changes =
            smallvec![BookingChange::HoldConfirmed { booking: booking.clone(), payment }.into()];
        changes.extend(self.session_after(hold, SessionEnd::Completed));
        Ok(Decision { reply: Reply::Hold(HoldView { state, ..hold.view() }), changes })
    }

    /// Late money buys only while the sale is open: whoever held in time could have paid in time.
    fn check_may_buy_late(&self, at: Time) -> Result<(), Refusal> {
        match self.phase_at(at) {
            Phase::Open => Ok(()),
            phase @ (Phase::Scheduled | Phase::Prequeue | Phase::Paused | Phase::Closed) => {
                Err(Refusal::EventNotOpen { phase })
            }
        }
    }

    fn confirmed_late(
        at: Time,
        hold: &Hold,
        payment: &PaymentId,
        mut changes: Changes,
    ) -> Decision {
        let (booking, payment) = (hold.terms.booking.clone(), payment.clone());
        let state = HoldState::Confirmed { at, payment: Some(payment.clone()) };
        changes.push(BookingChange::HoldConfirmedLate { booking, payment }.into());
        Decision { reply: Reply::Hold(HoldView { state, ..hold.view() }), changes }
    }

    /// A visitor who has everything they came for leaves the room, and so does one whose
    /// payment failed, unless they hold more.
    fn session_after(&self, hold: &Hold, how: SessionEnd) -> Changes {
        let mut changes = Changes::new();
        let Some(idx) = self.users[hold.user].session else { return changes };
        let session = self.room.sessions.get(idx);
        if session.live_holds > 1 {
            return changes;
        }
        let (place, user) = (session.place, &hold.terms.user);
        if session.state != SessionState::Ended {
            changes.push(VisitorChange::SessionEnded { place, user: user.clone(), how }.into());
        }
        changes.push(VisitorChange::SlotFreed { place, user: user.clone() }.into());
        changes
    }

    pub(super) fn decide_cancel(
        &self,
        at: Time,
        settings: &Settings,
        booking: &BookingId,
        reason: &Reason,
        terms: &CancelTerms,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        let hold = match terms {
            CancelTerms::Buyer { user, .. } => self.booking_of(booking, user)?,
            CancelTerms::Organiser { .. } => {
                self.bookings.get(booking).ok_or(Refusal::ReservationNotFound)?
            }
        };
        match &hold.state {
            HoldState::Confirmed { .. } => {}
            HoldState::Cancelled { refund_minor, .. } => {
                // What goes back is decided once: nobody is told that another amount does.
                let goes_back = match terms {
                    CancelTerms::Buyer { .. } => *refund_minor,
                    CancelTerms::Organiser { refund_minor: wanted } => {
                        wanted.unwrap_or(hold.terms.amount_minor)
                    }
                };
                if goes_back != *refund_minor {
                    return Err(Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled });
                }
                return Ok(Decision::nothing(Reply::Hold(hold.view())));
            }
            state @ (HoldState::Held { .. }
            | HoldState::Paying { .. }
            | HoldState::Released { .. }
            | HoldState::Expired { .. }) => {
                return Err(Refusal::InvalidStatus { booking_status: state.status() });
            }
        }
        if let Some(first) = hold.checked_in.first() {
            return Err(Refusal::AlreadyCheckedIn { checked_in_at: first.at });
        }
        let (amount_minor, step_minor) = (hold.terms.amount_minor, settings.step_minor());
        let refund_minor = match terms {
            CancelTerms::Buyer { at_least_minor, .. } => {
                let refund = settings.refund_now(&hold.terms, at);
                let refund_minor = refund.ok_or(Refusal::NotCancellable)?.refund_minor;
                if at_least_minor.is_some_and(|least| refund_minor < least) {
                    return Err(Refusal::RefundLowered { refund_minor });
                }
                refund_minor
            }
            CancelTerms::Organiser { refund_minor: None } => amount_minor,
            CancelTerms::Organiser { refund_minor: Some(wanted) } => {
                if !(0..=amount_minor).contains(wanted) {
                    return Err(Refusal::RefundExceedsPaid { paid_minor: amount_minor });
                }
                if wanted % step_minor != 0 && *wanted != amount_minor {
                    return Err(Refusal::RefundBetweenSteps { step_minor });
                }
                *wanted
            }
        };
        let state = HoldState::Cancelled { at, refund_minor };
        let (booking, reason) = (booking.clone(), reason.clone());
        let cancelled = BookingChange::ConfirmedCancelled { booking, reason, refund_minor };
        Ok(Decision::one(Reply::Hold(HoldView { state, ..hold.view() }), cancelled))
    }

    pub(super) fn decide_check_in(
        &self,
        at: Time,
        booking: &BookingId,
        ticket: u32,
        scan: Option<ScanId>,
    ) -> Result<Decision, Refusal> {
        let hold = self.bookings.get(booking).ok_or(Refusal::ReservationNotFound)?;
        match &hold.state {
            HoldState::Confirmed { .. } => {}
            state @ (HoldState::Held { .. }
            | HoldState::Paying { .. }
            | HoldState::Released { .. }
            | HoldState::Expired { .. }
            | HoldState::Cancelled { .. }) => {
                return Err(Refusal::InvalidStatus { booking_status: state.status() });
            }
        }
        if !(1..=hold.terms.lines.units()).contains(&ticket) {
            return Err(Refusal::TicketNotFound { tickets: hold.terms.lines.units() });
        }
        let known = hold.checked_in.binary_search_by_key(&ticket, |check_in| check_in.ticket);
        match known {
            Ok(index) => {
                let known = hold.checked_in[index];
                if scan.is_some() && scan == known.scan {
                    return Ok(Decision::nothing(Reply::Hold(hold.view())));
                }
                Err(Refusal::AlreadyCheckedIn { checked_in_at: known.at })
            }
            Err(place) => {
                let mut view = hold.view();
                view.checked_in.insert(place, CheckIn { ticket, at, scan });
                let booking = booking.clone();
                let checked_in = BookingChange::CheckedIn { booking, ticket, scan };
                Ok(Decision::one(Reply::Hold(view), checked_in))
            }
        }
    }
}
