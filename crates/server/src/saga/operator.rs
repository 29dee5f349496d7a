//! What an operator may do about a saga that cannot go on by itself.

use super::Sagas;
use super::draft::Draft;
use super::driver::DriveError;
use super::rows::refund_of;
use onrush_core::Command;
use onrush_core::booking::{Stage, Step};
use onrush_core::hold::OnDecline;
use onrush_core::ids::{BookingId, PaymentId};
use onrush_ledger::LedgerError;
use onrush_ledger::money::{Payment, Refund, RefundStatus};
use onrush_ledger::saga::File;

/// What to do about a stuck saga.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Try again what it was about to do; a refund that failed is asked for anew, under another key.
    Retry,
    /// Give back whatever money was taken that no final booking is paid with.
    Refund,
    /// End it, and its hold: money that was taken has been given back by other means, as the operator has made sure.
    Release,
}

impl Sagas {
    /// Does it, and drives the saga on; `None` if the saga is not stuck.
    ///
    /// # Errors
    /// See [`DriveError`].
    pub async fn act(
        &self,
        booking: &BookingId,
        action: Action,
        by: &str,
    ) -> Result<Option<File>, DriveError> {
        let _held = self.locks.hold(booking).await;
        loop {
            let file = self.ledger.file(booking).await?.ok_or(DriveError::NoSaga)?;
            if file.saga.stuck.is_none() {
                return Ok(None);
            }
            if action == Action::Release {
                let (booking, user) = (file.saga.booking.clone(), file.saga.user.clone());
                let release = Command::Release { booking, user };
                // Whatever it says: a booking that is final stays, and a hold that is paid for ends with its payment.
                drop(self.engine.execute(file.saga.event.clone(), release).await);
            }
            match self.write(self.acted(&file, action, by)).await {
                Ok(file) => return self.drive_on(file, true).await.map(Some),
                Err(LedgerError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn acted(&self, file: &File, action: Action, by: &str) -> Draft {
        let mut draft = Draft::of(file, self.now());
        draft.stuck(None);
        draft.tries(0);
        draft.next_at(Some(self.now()));
        match action {
            Action::Retry => {
                for payment in owing(file) {
                    self.refund_anew(&mut draft, file, payment, "asked for again");
                }
                draft.note(&format!("{by}: try again"));
            }
            Action::Refund => {
                for payment in owing(file) {
                    self.refund_anew(&mut draft, file, payment, "asked for again");
                }
                if let Some(payment) = unsettled(file) {
                    self.refund_anew(&mut draft, file, payment, &format!("refunded by {by}"));
                    draft.settle(Step::Compensating, Stage::Refunding);
                }
                draft.note(&format!("{by}: give the money back"));
            }
            Action::Release => {
                self.release(&mut draft, file, by);
                draft.note(&format!("{by}: end it"));
            }
        }
        draft
    }

    /// Has what is left of a payment's money given back under a new key. A refund that is under way goes on instead.
    fn refund_anew(&self, draft: &mut Draft, file: &File, payment: &Payment, why: &str) {
        let under_way = |row: &&Refund| row.payment == payment.payment && is_open(row);
        if file.refunds.iter().any(|row| under_way(&row)) {
            return;
        }
        // What failed before says how much was to go back: after a cancellation that may be less than all.
        let failed =
            |row: &&Refund| row.payment == payment.payment && row.status == RefundStatus::Failed;
        let left_minor = left_minor(file, payment);
        let wanted_minor =
            file.refunds.iter().rfind(failed).map_or(left_minor, |row| row.amount_minor);
        let amount_minor = wanted_minor.min(left_minor);
        let refund = refund_of(draft.file(), payment, amount_minor, why, self.now());
        draft.add_refund(refund);
    }

    fn release(&self, draft: &mut Draft, file: &File, by: &str) {
        let by_hand = |draft: &mut Draft, payment: &Payment| {
            let why = format!("by hand: {by}");
            for row in
                file.refunds.iter().filter(|row| row.payment == payment.payment && is_open(row))
            {
                draft.refund(&row.refund, |row| row.status = RefundStatus::Failed);
            }
            let left_minor = left_minor(file, payment);
            if left_minor > 0 {
                let mut refund = refund_of(draft.file(), payment, left_minor, &why, self.now());
                refund.status = RefundStatus::Done;
                draft.add_refund(refund);
            }
        };
        for stray in file.strays() {
            by_hand(draft, stray);
            draft.stray(&stray.payment, Stage::Refunded, "a stray payment was seen to by hand");
        }
        let is_final = file.saga.step == Step::Confirmed;
        match file.present().filter(|_| !is_final) {
            Some(payment) if payment.captured_minor > 0 => {
                by_hand(draft, payment);
                draft.settle(Step::Compensating, Stage::Returned);
            }
            Some(_) => {
                draft.settle(Step::PaymentSent, Stage::Closed);
                draft.present(|row| row.on_decline = OnDecline::Release);
            }
            None if is_final => {}
            None => draft.give_up(),
        }
    }
}

/// Payments whose money is to go back, and whose refund has failed.
fn owing(file: &File) -> impl Iterator<Item = &Payment> {
    let failed = |payment: &PaymentId| {
        file.refunds.iter().any(|row| row.payment == *payment && row.status == RefundStatus::Failed)
    };
    file.payments.iter().filter(move |row| row.stage == Stage::Refunding && failed(&row.payment))
}

/// The present payment, if money was taken for it that bought nothing and is not on its way back.
fn unsettled(file: &File) -> Option<&Payment> {
    let bought = file.saga.step == Step::Confirmed;
    let payment = file.present().filter(|_| !bought)?;
    let under_way = payment.stage == Stage::Refunding;
    (!under_way && left_minor(file, payment) > 0).then_some(payment)
}

/// Money of a payment that was taken and did not go back.
fn left_minor(file: &File, payment: &Payment) -> i64 {
    let done = |row: &&Refund| row.payment == payment.payment && row.status == RefundStatus::Done;
    let back_minor: i64 = file.refunds.iter().filter(done).map(|row| row.amount_minor).sum();
    payment.captured_minor - back_minor
}

fn is_open(refund: &Refund) -> bool {
    matches!(refund.status, RefundStatus::Requested | RefundStatus::Sent)
}
