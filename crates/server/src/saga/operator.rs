//! What an operator may do about a saga that cannot go on by itself.

use super::Sagas;
use super::draft::Draft;
use super::driver::DriveError;
use super::rows::refund_of;
use onrush_core::booking::{Stage, Step};
use onrush_core::ids::BookingId;
use onrush_ledger::LedgerError;
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
                if let Some(payment) = file.present().filter(|row| row.captured_minor > 0) {
                    let why = format!("refunded by {by}");
                    draft.add_refund(refund_of(file, payment, payment.captured_minor, &why, at));
                    draft.settle(Step::Compensating, Stage::Refunding);
                }
                draft.note(&format!("{by}: give the money back"));
            }
            Action::Release => {
                if file.saga.payment.is_some() {
                    draft.settle(Step::PaymentSent, Stage::Closed);
                } else {
                    draft.give_up();
                }
                draft.note(&format!("{by}: end it without money"));
            }
        }
        draft
    }
}

fn failed_refunds(file: &File) -> Vec<String> {
    let failed = |refund: &&onrush_ledger::money::Refund| {
        refund.status == onrush_ledger::money::RefundStatus::Failed
    };
    file.refunds.iter().filter(failed).map(|refund| refund.refund.clone()).collect()
}
