//! Payments that the ledger has lost: it was put back from before them, or is new, and the journal
//! knows what they bought.

use super::gateway::Standing;
use super::look::{Look, Trouble};
use super::rows::{order_of, payment_of_saga};
use super::sagas::Sagas;
use onrush_base::amount::readable;
use onrush_core::Time;
use onrush_core::hold::{HoldState, HoldStatus, OnDecline};
use onrush_core::ids::PaymentId;
use onrush_core::saga::Outcome;
use onrush_ledger::booking::Booking;
use onrush_ledger::booking_of;
use onrush_ledger::money::Capture;
use onrush_ledger::saga::SagaRecord;

impl Sagas {
    /// What the feed has told of a booking.
    pub(super) async fn told_of(&self, record: &SagaRecord) -> Result<Option<Booking>, Trouble> {
        let row = self.ledger.booking(&record.saga.booking).await;
        row.map_err(|error| Trouble::Later(error.to_string()))
    }

    /// The payment of ours that a booking was confirmed with, and when, if the ledger has no row of it.
    /// What the engine does not say any more, the feed has told.
    pub(super) async fn lost_payment(
        &self,
        record: &SagaRecord,
        state: Option<&HoldState>,
    ) -> Result<Option<(PaymentId, Time)>, Trouble> {
        let paid = match state {
            Some(HoldState::Confirmed { payment, at }) => payment.clone().map(|paid| (paid, *at)),
            Some(HoldState::Cancelled { .. }) | None => {
                let row = self.told_of(record).await?;
                let sold = row.filter(|row| match row.status {
                    HoldStatus::Confirmed | HoldStatus::Cancelled => true,
                    HoldStatus::Held
                    | HoldStatus::Paying
                    | HoldStatus::Released
                    | HoldStatus::Expired => false,
                });
                sold.and_then(|row| row.payment.map(|paid| (paid, row.updated_at)))
            }
            Some(
                HoldState::Held { .. }
                | HoldState::Paying { .. }
                | HoldState::Released { .. }
                | HoldState::Expired { .. },
            ) => None,
        };
        let is_lost = |paid: &PaymentId| {
            booking_of(paid).as_ref() == Some(&record.saga.booking)
                && record.payments.iter().all(|row| row.payment != *paid)
        };
        Ok(paid.filter(|(paid, _)| is_lost(paid)))
    }

    /// Writes a payment down again that a booking was confirmed with, by what the gateway says of it, and
    /// what its desk gave back of it. The engine is then asked to confirm, which changes nothing.
    pub(super) async fn find_lost(
        &self,
        record: &SagaRecord,
        payment: &PaymentId,
        sold_at: Time,
    ) -> Result<Look, Trouble> {
        let lost = format!("the booking was paid for with {payment}, which the ledger has lost");
        let Some(gateway) = &self.gateway else {
            let what = "set the payment gateway that took it, then try again";
            return Err(Trouble::Stuck(format!("{lost}: {what}")));
        };
        let (saga, name) = (&record.saga, gateway.name());
        // Its money was taken: when that was to be decides nothing any more.
        let (capture, then) = (Capture::AtOnce, OnDecline::Keep);
        let begun_at = saga.reserve_completed_at.unwrap_or(sold_at);
        let mut row = payment_of_saga(saga, payment, name, capture, then, begun_at);
        let order = order_of(saga, &row);
        let taken = match self.asked(&row, |gateway| gateway.status(&order)).await? {
            Standing::Captured { reference, amount_minor, currency } => {
                row.reference = Some(reference);
                (amount_minor, currency)
            }
            Standing::Unknown
            | Standing::Open { .. }
            | Standing::Processing { .. }
            | Standing::Authorised { .. }
            | Standing::Declined { .. }
            | Standing::Cancelled { .. } => {
                let what = "if another gateway took it, set that one and try again; \
                    else see to its money by hand and release it";
                return Err(Trouble::Stuck(format!(
                    "{lost}, and {name} took no money for it: {what}"
                )));
            }
        };
        if taken != (row.amount_minor, row.currency) {
            let (taken, asked) =
                (readable(taken.0, taken.1), readable(row.amount_minor, row.currency));
            let what = "see to its money by hand and release it";
            return Err(Trouble::Stuck(format!(
                "{lost}: {taken} were taken and {asked} were asked for; {what}"
            )));
        }
        row.captured_minor = row.amount_minor;
        // Before anything goes back: what its desk gave back is a part of that.
        let at_desk = self.find_at_desk(record, &mut row).await?;
        let mut draft = self.moving(record);
        draft.begin_payment(row, &lost)?;
        for told in &at_desk {
            draft.note(told);
        }
        draft.advance(Outcome::MoneyTaken, "money was taken")?;
        draft.captured_at(sold_at);
        Ok(Look::Write(draft))
    }
}
