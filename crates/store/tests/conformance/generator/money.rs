//! Commands about money: payments, confirmations, cancellations, check-ins.

use super::Generator;
use crate::world::{payment, risky_text};
use onrush_core::Command;
use onrush_core::command::CancelTerms;
use onrush_core::hold::{HoldState, OnDecline};
use onrush_core::ids::{BookingId, ExtensionId, PayerId, PaymentId, ScanId, UserId};
use onrush_core::payers::PayerBy;
use onrush_core::snapshot::HoldRow;

impl Generator {
    fn payment_of(&mut self, state: &HoldState) -> PaymentId {
        let running = match state {
            HoldState::Paying { payment, .. } => Some(payment.clone()),
            HoldState::Expired { payment, .. } | HoldState::Confirmed { payment, .. } => {
                payment.clone()
            }
            HoldState::Held { .. } | HoldState::Released { .. } | HoldState::Cancelled { .. } => {
                None
            }
        };
        match running {
            Some(running) if self.random.percent(90) => running,
            _ => payment(self.random.below(self.fresh[3] + 1)),
        }
    }

    /// Names one of few payers, mostly where payers have limits: which one follows from how many
    /// payments there were.
    fn name_payer(&mut self, booking: &BookingId, user: &UserId) {
        let (settings, nth) = (&self.world.settings, self.fresh[3]);
        if settings.max_per_email.or(settings.max_per_card).is_none() && !nth.is_multiple_of(7) {
            return;
        }
        let by = PayerBy::ALL[usize::from(nth.is_multiple_of(2))];
        let payer = PayerId::from_u128(u128::from(nth % 3) << 64 | 0xabc);
        let (booking, user) = (booking.clone(), user.clone());
        self.ask(Command::NamePayer { booking, user, by, payer });
    }

    /// Asks for more time, mostly by one of two names: which one follows from how many bookings there
    /// were. Some ask once more.
    pub(super) fn extend(&mut self) {
        let (booking, user, _) = self.some_booking(|state| state.until().is_some());
        let nth = self.fresh[1];
        let named = !nth.is_multiple_of(3);
        let extension = named.then(|| ExtensionId::from_u128(u128::from(nth % 3)));
        let extend = Command::Extend { booking, user, extension };
        if nth.is_multiple_of(2) {
            self.ask(extend.clone());
        }
        self.ask(extend);
    }

    pub(super) fn money(&mut self) {
        let pays = |state: &HoldState| {
            matches!(state, HoldState::Paying { .. } | HoldState::Expired { payment: Some(_), .. })
        };
        match self.random.below(16) {
            0..=4 => {
                // Often one whose payment failed before.
                let is_held = |state: &HoldState| matches!(state, HoldState::Held { .. });
                let failed = |row: &&HoldRow| row.payments > 0 && is_held(&row.state);
                let again = self.known.holds.iter().rfind(failed).cloned();
                let (booking, user) = match again {
                    Some(row) if self.random.percent(40) => {
                        (row.terms.booking.clone(), row.terms.user.clone())
                    }
                    _ => {
                        let (booking, user, _) = self.some_booking(is_held);
                        (booking, user)
                    }
                };
                let payment = payment(self.fresh(3));
                self.name_payer(&booking, &user);
                self.ask(Command::BeginPayment { booking, user, payment });
            }
            5..=7 => {
                let (booking, user, state) = self.some_booking(pays);
                let failed = self.payment_of(&state);
                let then =
                    *self.random.pick(&[OnDecline::Keep, OnDecline::Keep, OnDecline::Release]);
                let why = risky_text(&mut self.random);
                let again = booking.clone();
                self.ask(Command::FailPayment { booking, payment: failed, why, then });
                // Most people try again at once.
                if self.random.percent(50) {
                    let payment = payment(self.fresh(3));
                    self.ask(Command::BeginPayment { booking: again, user, payment });
                }
            }
            8 | 9 => {
                let (booking, user, state) = self.some_booking(pays);
                self.name_payer(&booking, &user);
                let payment = self.random.percent(95).then(|| self.payment_of(&state));
                self.ask(Command::Confirm { booking, user, payment });
            }
            10 | 11 => {
                let (booking, user, _) =
                    self.some_booking(|state| matches!(state, HoldState::Held { .. }));
                let payment = self.random.percent(40).then(|| payment(self.fresh(3)));
                self.ask(Command::Confirm { booking, user, payment });
            }
            12 | 13 => {
                let (booking, user, _) =
                    self.some_booking(|state| matches!(state, HoldState::Confirmed { .. }));
                if self.fresh[3].is_multiple_of(4) {
                    self.name_payer(&booking, &user);
                }
                let refund_minor = *self.random.pick(&[
                    None,
                    None,
                    Some(0),
                    Some(1),
                    Some(60),
                    Some(61),
                    Some(-1),
                    Some(700),
                    Some(i64::MAX),
                ]);
                let terms = if self.random.percent(50) {
                    let agreed = [None, Some(60), Some(700), Some(i64::MAX)];
                    CancelTerms::Buyer { user, at_least_minor: *self.random.pick(&agreed) }
                } else {
                    CancelTerms::Organiser { refund_minor }
                };
                let reason = self.reason();
                let cancel = |terms| {
                    let (booking, reason) = (booking.clone(), reason.clone());
                    Command::CancelConfirmed { booking, reason, terms }
                };
                self.ask(cancel(terms));
                // Some organisers cancel once more, with the same amount or another.
                let nth = self.fresh[3];
                if nth.is_multiple_of(2) {
                    let refund_minor = [None, Some(0), Some(60)][nth as usize / 2 % 3];
                    self.ask(cancel(CancelTerms::Organiser { refund_minor }));
                }
            }
            _ => {
                let (booking, ..) =
                    self.some_booking(|state| matches!(state, HoldState::Confirmed { .. }));
                let ticket = self.random.below(5) as u32;
                let scan = *self.random.pick(&[None, Some(1), Some(2)]);
                let scan = scan.map(ScanId::from_u128);
                self.ask(Command::CheckIn { booking, ticket, scan });
            }
        }
    }
}
