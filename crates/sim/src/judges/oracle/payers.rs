//! Who pays: the limits of one e-mail address and one card, with all bookings looked through each time.

use super::{Answer, Oracle};
use onrush_core::change::BookingChange;
use onrush_core::hold::{HoldState, HoldStatus};
use onrush_core::ids::{BookingId, PayerId, UserId};
use onrush_core::payers::PayerBy;
use onrush_core::settings::Settings;
use onrush_core::view::Reply;
use onrush_core::{Refusal, Time};

/// The setting of one kind of payer.
fn most(settings: &Settings, by: PayerBy) -> Option<u32> {
    match by {
        PayerBy::Email => settings.max_per_email,
        PayerBy::Card => settings.max_per_card,
    }
}

/// The first of the two settings that is wrong.
pub(super) fn wrong_limit_of_payers(settings: &Settings) -> Option<String> {
    let fine = |limit: Option<u32>| limit.is_none_or(|limit| limit > 0 && limit <= 1_000);
    let all = [("max_per_email", settings.max_per_email), ("max_per_card", settings.max_per_card)];
    let wrong = all.into_iter().find(|(_, limit)| !fine(*limit));
    wrong.map(|(name, _)| name.to_owned())
}

impl Oracle {
    pub(super) fn name_payer(
        &mut self,
        at: Time,
        id: &BookingId,
        user: &UserId,
        by: PayerBy,
        payer: PayerId,
    ) -> Answer {
        let attempts = self.settings().payment_attempts;
        let known = self.own(id, user)?;
        let again = known.payers.contains(&(by, payer));
        match &known.state {
            HoldState::Held { until } if *until > at => {
                if known.payments >= attempts && !again {
                    return Err(Refusal::TooManyAttempts { limit: attempts });
                }
            }
            HoldState::Paying { .. } | HoldState::Expired { payment: Some(_), .. } => {}
            HoldState::Confirmed { .. } => {
                if !again {
                    return Err(Refusal::AlreadyConfirmed);
                }
            }
            HoldState::Held { .. } | HoldState::Expired { .. } => return Err(Refusal::HoldExpired),
            HoldState::Released { .. } => return Err(Refusal::AlreadyReleased),
            HoldState::Cancelled { .. } => {
                return Err(Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled });
            }
        }
        let view = known.view();
        if !again && most(self.settings(), by).is_some() {
            let units = known.terms.lines.units();
            self.within_limit_of_payer(by, payer, units)?;
            self.update(id, |booking| {
                booking.payers.retain(|(other, _)| *other != by);
                booking.payers.push((by, payer));
            });
            self.change(BookingChange::PayerNamed { booking: id.clone(), by, payer });
        }
        Ok(Reply::Hold(view))
    }

    /// Checks that all payers of a booking that ran out may have its units again.
    pub(super) fn within_limits_of_payers(&self, id: &BookingId) -> Result<(), Refusal> {
        let known = &self.bookings[id];
        let units = known.terms.lines.units();
        for kind in [PayerBy::Email, PayerBy::Card] {
            for (by, payer) in known.payers.iter().filter(|(by, _)| *by == kind) {
                self.within_limit_of_payer(*by, *payer, units)?;
            }
        }
        Ok(())
    }

    fn within_limit_of_payer(&self, by: PayerBy, payer: PayerId, more: u32) -> Result<(), Refusal> {
        let Some(limit) = most(self.settings(), by) else { return Ok(()) };
        let theirs = self.bookings.values().filter(|booking| {
            let has_units = match booking.state {
                HoldState::Held { .. } | HoldState::Paying { .. } | HoldState::Confirmed { .. } => {
                    true
                }
                HoldState::Released { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. } => false,
            };
            has_units && booking.payers.contains(&(by, payer))
        });
        let has: u32 = theirs.map(|booking| booking.terms.lines.units()).sum();
        if has + more > limit {
            return Err(Refusal::PayerLimitExceeded { by, limit });
        }
        Ok(())
    }
}
