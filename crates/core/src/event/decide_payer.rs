//! Who pays for a booking, and how much one payer may have.

use super::{Decision, Event};
use crate::change::BookingChange;
use crate::hold::{HoldState, HoldStatus};
use crate::ids::{BookingId, PayerId, UserId};
use crate::payers::PayerBy;
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::time::Time;
use crate::view::Reply;

impl Event {
    /// A payer is named as long as the booking may still be paid for: also one that ran out under its
    /// payment, whose money may buy it late.
    pub(super) fn decide_name_payer(
        &self,
        at: Time,
        settings: &Settings,
        booking: &BookingId,
        user: &UserId,
        by: PayerBy,
        payer: PayerId,
    ) -> Result<Decision, Refusal> {
        let hold = self.booking_of(booking, user)?;
        let is_named = self.payers.of(self.bookings.find(booking)).by(by) == Some(payer);
        match &hold.state {
            HoldState::Held { until } if at < *until => {
                // Whoever cannot begin a payment any more names nobody: each change has its place in
                // the journal.
                if !is_named && hold.payments >= settings.payment_attempts {
                    return Err(Refusal::TooManyAttempts { limit: settings.payment_attempts });
                }
            }
            HoldState::Paying { .. } | HoldState::Expired { payment: Some(_), .. } => {}
            HoldState::Confirmed { .. } if is_named => {}
            HoldState::Confirmed { .. } => return Err(Refusal::AlreadyConfirmed),
            HoldState::Held { .. } | HoldState::Expired { payment: None, .. } => {
                return Err(Refusal::HoldExpired);
            }
            HoldState::Released { .. } => return Err(Refusal::AlreadyReleased),
            HoldState::Cancelled { .. } => {
                return Err(Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled });
            }
        }
        let reply = Reply::Hold(hold.view());
        if is_named || settings.max_per(by).is_none() {
            return Ok(Decision::nothing(reply));
        }
        self.check_payer(by, payer, hold.terms.lines.units())?;
        let booking = booking.clone();
        Ok(Decision::one(reply, BookingChange::PayerNamed { booking, by, payer }))
    }

    /// Checks the limits of all who are named for a booking that has no units, and is to have them
    /// again.
    pub(super) fn check_payers(&self, booking: &BookingId) -> Result<(), Refusal> {
        if !self.payers.has_any() {
            return Ok(());
        }
        let idx = self.bookings.find(booking);
        let units = self.bookings[idx].terms.lines.units();
        self.payers.of(idx).iter().try_for_each(|(by, payer)| self.check_payer(by, payer, units))
    }

    /// Checks one payer's limit for so many units more.
    fn check_payer(&self, by: PayerBy, payer: PayerId, more: u32) -> Result<(), Refusal> {
        let limit = self.settings.as_ref().and_then(|settings| settings.max_per(by));
        match limit {
            Some(limit) if self.payers.units_of(by, payer).saturating_add(more) > limit => {
                Err(Refusal::PayerLimitExceeded { by, limit })
            }
            Some(_) | None => Ok(()),
        }
    }
}
