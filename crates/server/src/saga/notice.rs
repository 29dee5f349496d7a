//! A gateway tells of something.

use super::Sagas;
use super::draft::Draft;
use super::driver::DriveError;
use super::gateway::{News, Notice, RefundStanding, Standing};
use onrush_core::booking::{Outcome, Stage};
use onrush_core::ids::{BookingId, PaymentId};
use onrush_ledger::money::{Payment, RefundStatus};
use onrush_ledger::saga::File;
use onrush_ledger::{LedgerError, booking_of};

/// Why a genuine message changed nothing.
#[derive(Debug)]
pub enum NoticeError {
    /// It contradicts what was asked for; what exists was flagged.
    Mismatch(String),
    /// The ledger failed: the gateway should send it again.
    Ledger(LedgerError),
}

impl From<LedgerError> for NoticeError {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl From<DriveError> for NoticeError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::NoSaga => Self::Mismatch("there is no such payment".into()),
            DriveError::Ledger(error) => Self::Ledger(error),
        }
    }
}

impl Sagas {
    /// Takes a genuine message in: what it tells is durable when this returns, and driven on as far as possible.
    ///
    /// # Errors
    /// See [`NoticeError`].
    pub async fn notice(&self, notice: Notice) -> Result<(), NoticeError> {
        match notice.news {
            None => Ok(()),
            Some(News::Payment { payment, booking, standing }) => {
                self.payment_news(&payment, &booking, standing).await
            }
            Some(News::Refund { payment, refund, standing }) => {
                self.refund_news(&payment, &refund, standing).await
            }
        }
    }

    async fn payment_news(
        &self,
        payment: &PaymentId,
        booking: &BookingId,
        standing: Standing,
    ) -> Result<(), NoticeError> {
        let unknown = || NoticeError::Mismatch("there is no such payment".into());
        let own = booking_of(payment).ok_or_else(unknown)?;
        let _held = self.locks.hold(&own).await;
        loop {
            let file = self.ledger.file(&own).await?.ok_or_else(unknown)?;
            let row = file.payments.iter().find(|row| row.payment == *payment);
            let row = row.ok_or_else(unknown)?;
            if let Some(why) = contradiction(row, booking, &standing) {
                match self.flag(&file, payment, &why).await {
                    Err(LedgerError::Conflict) => continue,
                    flagged => flagged?,
                }
                return Err(NoticeError::Mismatch(why));
            }
            let present = file.saga.payment.as_ref() == Some(payment);
            let draft = match told(&file, row, present, &standing, self.now()) {
                Some(mut draft) => {
                    draft.next_at(Some(self.now().plus_ms(self.patience.abandoned_after_ms)));
                    // News is what a saga that had given up was waiting for.
                    draft.stuck(None);
                    if matches!(standing, Standing::Captured { .. }) {
                        draft.captured_at(self.now());
                    }
                    draft
                }
                // It is known already, or out of date.
                None => return Ok(()),
            };
            match self.write(draft).await {
                Ok(file) => {
                    // It is safe now; what is left to do is not the gateway's concern.
                    self.drive_on(file, false).await?;
                    return Ok(());
                }
                Err(LedgerError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn flag(&self, file: &File, payment: &PaymentId, why: &str) -> Result<(), LedgerError> {
        tracing::warn!(%payment, why, "a gateway's message contradicts what was asked for");
        let known = file.payments.iter().any(|row| row.payment == *payment && row.flagged);
        if known {
            return Ok(());
        }
        let mut draft = Draft::of(file, self.now());
        draft.payment(payment, |row| {
            row.flagged = true;
            row.why = Some(why.to_owned());
        });
        draft.note(&format!("a message was refused: {why}"));
        self.write(draft).await.map(drop)
    }

    async fn refund_news(
        &self,
        payment: &PaymentId,
        refund: &str,
        standing: RefundStanding,
    ) -> Result<(), NoticeError> {
        let unknown = || NoticeError::Mismatch("there is no such refund".into());
        let own = booking_of(payment).ok_or_else(unknown)?;
        let file = self.ledger.file(&own).await?.ok_or_else(unknown)?;
        let row = file.refunds.iter().find(|row| row.refund == refund && row.payment == *payment);
        let row = row.ok_or_else(unknown)?;
        match (row.status, standing) {
            (RefundStatus::Done | RefundStatus::Failed, _)
            | (RefundStatus::Requested, _)
            | (RefundStatus::Sent, RefundStanding::Pending { .. }) => Ok(()),
            // The driver asks the gateway again under the same key, and writes what it says.
            (RefundStatus::Sent, RefundStanding::Done { .. } | RefundStanding::Failed { .. }) => {
                self.drive(&own, true).await?;
                Ok(())
            }
        }
    }
}

/// What in a message contradicts the payment's row.
fn contradiction(row: &Payment, booking: &BookingId, standing: &Standing) -> Option<String> {
    if row.booking != *booking {
        return Some(format!("the message names booking {booking}"));
    }
    let Standing::Captured { amount_minor, currency, .. } = standing else { return None };
    let (asked, in_currency) = (row.amount_minor, row.currency);
    ((*amount_minor, *currency) != (asked, in_currency)).then(|| {
        format!("the message says {amount_minor} {currency}; {asked} {in_currency} were asked for")
    })
}

/// What a message makes of a file; `None` if nothing.
fn told(
    file: &File,
    row: &Payment,
    present: bool,
    standing: &Standing,
    at: onrush_core::Time,
) -> Option<Draft> {
    let mut draft = Draft::of(file, at);
    match standing {
        Standing::Captured { reference, amount_minor, .. } => {
            if row.captured_minor > 0 {
                return None;
            }
            let advanced = present && draft.advance(Outcome::MoneyTaken, "money was taken").is_ok();
            if !advanced {
                let note = "money was taken for a payment that had ended";
                draft.stray(&row.payment, Stage::Captured, note);
                if present {
                    draft.abandon_present();
                }
            }
            draft.payment(&row.payment, |row| {
                row.captured_minor = *amount_minor;
                row.reference = Some(reference.clone());
            });
            Some(draft)
        }
        Standing::Declined { why, .. } if present && row.stage < Stage::Closing => {
            draft.advance(Outcome::PaymentUnwanted, &format!("declined: {why}")).ok()?;
            draft.present(|row| row.why = Some(why.clone()));
            Some(draft)
        }
        Standing::Cancelled { why } if present && row.stage < Stage::Closed => {
            draft.advance(Outcome::PaymentClosed, &format!("cancelled: {why}")).ok()?;
            draft.present(|row| {
                row.why.get_or_insert_with(|| why.clone());
            });
            Some(draft)
        }
        Standing::Declined { .. }
        | Standing::Cancelled { .. }
        | Standing::Open { .. }
        | Standing::Unknown => None,
    }
}
