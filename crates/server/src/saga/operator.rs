//! What an operator may do about a saga that cannot go on by itself.

use super::Sagas;
use super::draft::Draft;
use super::driver::DriveError;
use super::rows::refund_of;
use onrush_core::booking::{Stage, Step};
use onrush_core::hold::OnDecline;
use onrush_core::ids::BookingId;
use onrush_ledger::LedgerError;
use onrush_ledger::money::{Payment, Refund, RefundStatus};
use onrush_ledger::saga::File;

/// What to do about a stuck saga.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Try again what it was about to do.
    Retry,
    /// Give back whatever money was taken for it.
    Refund,
    /// Give its hold back and end it: no money was taken, as the operator has made sure.
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
            match self.write(self.acted(&file, action, by)).await {
                Ok(file) => return self.drive_on(file, true).await.map(Some),
                Err(LedgerError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn acted(&self, file: &File, action: Action, by: &str) -> Draft {
        let at = self.now();
        let mut draft = Draft::of(file, at);
        draft.stuck(None);
        draft.tries(0);
        draft.next_at(Some(at.plus_ms(self.patience.abandoned_after_ms)));
        match action {
            Action::Retry => {
                for failed in failed_refunds(file) {
                    draft.reopen_refund(&failed);
                }
                draft.note(&format!("{by}: try again"));
            }
            Action::Refund => {
                if let Some(payment) = refundable(file) {
                    // A refund that is under way has its own key: another one beside it could give back twice.
                    if !file
                        .refunds
                        .iter()
                        .any(|row| is_open(row) && row.payment == payment.payment)
                    {
                        let (why, left_minor) =
                            (format!("refunded by {by}"), left_minor(file, payment));
                        draft.add_refund(refund_of(file, payment, left_minor, &why, at));
                    }
                    draft.settle(Step::Compensating, Stage::Refunding);
                }
                for failed in failed_refunds_of_strays(file) {
                    draft.reopen_refund(&failed);
                }
                draft.note(&format!("{by}: give the money back"));
            }
            Action::Release => {
                for refund in file.refunds.iter().filter(|row| is_open(row)) {
                    draft.end_refund(&refund.refund, &format!("ended by {by}"));
                }
                let strays: Vec<_> = file.strays().map(|row| row.payment.clone()).collect();
                for stray in &strays {
                    draft.stray(stray, Stage::Void, "a stray payment is seen to by hand");
                }
                // A booking that is final stays, and so does one whose stray payment was all the trouble.
                if file.saga.step != Step::Confirmed && strays.is_empty() {
                    if file.saga.payment.is_some() {
                        draft.settle(Step::PaymentSent, Stage::Closed);
                        draft.present(|row| row.on_decline = OnDecline::Release);
                    } else {
                        draft.give_up();
                    }
                }
                draft.note(&format!("{by}: end it without money"));
            }
        }
        draft
    }
}

/// The present payment, if there is money of it to give back and no final booking for it.
fn refundable(file: &File) -> Option<&Payment> {
    let payment = file.present().filter(|row| left_minor(file, row) > 0);
    payment.filter(|_| file.saga.step != Step::Confirmed)
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

fn failed_refunds(file: &File) -> Vec<String> {
    let failed = |refund: &&Refund| refund.status == RefundStatus::Failed;
    file.refunds.iter().filter(failed).map(|refund| refund.refund.clone()).collect()
}

fn failed_refunds_of_strays(file: &File) -> Vec<String> {
    let of_stray = |refund: &&Refund| {
        refund.status == RefundStatus::Failed
            && file.strays().any(|stray| stray.payment == refund.payment)
    };
    file.refunds.iter().filter(of_stray).map(|refund| refund.refund.clone()).collect()
}
