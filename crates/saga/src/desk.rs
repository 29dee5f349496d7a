//! What the gateway's own desk did: it is written down, flagged and told, and nothing is undone
//! because of it.
//!
//! A ticket whose money went back is not taken away here: whether the buyer may keep it is for
//! people to say. They cancel the booking without a refund, or give the money back of what was paid
//! twice, and settle the entry.

use super::draft::Draft;
use super::gateway::{DeskNews, Gateway, GatewayError, Ours};
use super::notice::NoticeError;
use super::sagas::Sagas;
use onrush_base::amount::readable;
use onrush_base::metrics::count;
use onrush_core::Time;
use onrush_core::ids::{BookingId, PaymentId};
use onrush_ledger::desk::{DeskEntry, DeskKind, DeskStatus, Settled};
use onrush_ledger::money::{Payment, RefundCause, RefundStatus};
use onrush_ledger::{LedgerError, booking_of};
use onrush_relay::messages::at_desk;

impl From<GatewayError> for NoticeError {
    fn from(error: GatewayError) -> Self {
        Self::Gateway(error.to_string())
    }
}

impl Sagas {
    /// Takes in what the desk did.
    pub(super) async fn desk_news(&self, mut news: DeskNews) -> Result<(), NoticeError> {
        if news.ours.is_none() {
            news.ours = self.whose(&news.of).await?;
        }
        // An account may have other uses than ours.
        let Some(Ours { payment, .. }) = &news.ours else { return Ok(()) };
        let Some(own) = booking_of(payment) else { return Ok(()) };
        let _held = self.locks.hold(&own).await;
        self.desk_entry(news, &own).await
    }

    /// Money went back: what of it was sent by the desk is found out, unless we sent all of it.
    pub(super) async fn went_back(
        &self,
        reference: &str,
        payment: Option<&PaymentId>,
        back_minor: i64,
    ) -> Result<(), NoticeError> {
        if let Some(booking) = payment.and_then(booking_of)
            && self.known_back_minor(&booking, payment, reference).await? >= back_minor
        {
            return Ok(());
        }
        let Some(gateway) = &self.gateway else { return Ok(()) };
        let Some(ours) = self.whose(reference).await? else { return Ok(()) };
        for news in gateway.desk_refunds(reference).await? {
            self.desk_news(DeskNews { ours: Some(ours.clone()), ..news }).await?;
        }
        Ok(())
    }

    /// Money of a payment that we had the gateway send back: what an operator gave back by hand never
    /// went through it.
    async fn known_back_minor(
        &self,
        booking: &BookingId,
        payment: Option<&PaymentId>,
        reference: &str,
    ) -> Result<i64, LedgerError> {
        let Some(record) = self.ledger.saga_record(booking).await? else { return Ok(0) };
        let row = record.payments.iter().find(|row| Some(&row.payment) == payment);
        if row.and_then(|row| row.reference.as_deref()) != Some(reference) {
            // The same order was paid once more, by another payment of the gateway's.
            return Ok(0);
        }
        let by_us = record.refunds.iter().filter(|row| {
            Some(&row.payment) == payment
                && row.cause != RefundCause::ByHand
                && matches!(row.status, RefundStatus::Sent | RefundStatus::Done)
        });
        Ok(by_us.map(|row| row.amount_minor).sum())
    }

    async fn whose(&self, reference: &str) -> Result<Option<Ours>, NoticeError> {
        match &self.gateway {
            None => Ok(None),
            Some(gateway) => Ok(gateway.ours(reference).await?),
        }
    }

    /// Writes down what the desk did, tells of it, and flags the payment. Whoever calls holds the
    /// booking's lock.
    pub(super) async fn desk_entry(
        &self,
        news: DeskNews,
        own: &BookingId,
    ) -> Result<(), NoticeError> {
        let unknown = || NoticeError::Mismatch("there is no such payment".into());
        let Some(Ours { payment, .. }) = news.ours.clone() else { return Err(unknown()) };
        let record = self.ledger.saga_record(own).await?.ok_or_else(unknown)?;
        let row = record.payments.iter().find(|row| row.payment == payment).ok_or_else(unknown)?;
        let at = self.now();
        let entry = DeskEntry {
            entry: format!("{}.{}", row.gateway, news.reference),
            kind: news.kind,
            status: news.status,
            gateway: row.gateway.clone(),
            reference: news.reference,
            payment: payment.clone(),
            booking: own.clone(),
            event: record.saga.event.clone(),
            amount_minor: news.amount_minor,
            currency: news.currency,
            why: news.why.chars().take(500).collect(),
            created_at: at,
            updated_at: at,
            settled: None,
        };
        let told = sentence(&entry);
        let message = at_desk(&entry, &self.channels);
        let has_message = message.is_some();
        let is_news = self.ledger.note_desk(entry.clone(), message).await?;
        if is_news {
            count(&self.counts.at_desk);
            let (entry, told) = (entry.entry.as_str(), told.as_str());
            let look = "see /api/v1/admin/desk";
            tracing::warn!(%payment, entry, told, look, "the gateway's own desk did something");
            if has_message {
                self.told.notify_one();
            }
        }
        self.flag_for_desk(own, &payment, &told, is_news).await
    }

    /// Flags a payment whose desk entry is written down, also if the process died between the two.
    async fn flag_for_desk(
        &self,
        own: &BookingId,
        payment: &PaymentId,
        told: &str,
        is_news: bool,
    ) -> Result<(), NoticeError> {
        loop {
            let Some(record) = self.ledger.saga_record(own).await? else { return Ok(()) };
            let knows = |row: &Payment| {
                row.payment == *payment
                    && row.flagged
                    && (!is_news || row.why.as_deref() == Some(told))
            };
            if record.payments.iter().any(knows) {
                return Ok(());
            }
            let mut draft = Draft::of(&record, self.now());
            draft.payment(payment, |row| {
                row.flagged = true;
                row.why = Some(told.to_owned());
            });
            draft.note(told);
            match self.write(draft).await {
                Ok(_) => return Ok(()),
                Err(LedgerError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes down what an operator did about an entry; `None` if there is none of this id. `seen` is
    /// when it was last news, as they read it.
    ///
    /// # Errors
    /// Those of the ledger: a conflict if there was other news since.
    pub async fn settle_desk(
        &self,
        entry: &str,
        seen: Option<Time>,
        by: String,
        why: String,
    ) -> Result<Option<DeskEntry>, LedgerError> {
        self.ledger.settle_desk(entry, seen, Settled { at: self.now(), by, why }).await
    }
}

/// What the desk did, for people.
#[must_use]
pub fn sentence(entry: &DeskEntry) -> String {
    let money = readable(entry.amount_minor, entry.currency);
    let DeskEntry { reference, why, .. } = entry;
    match (entry.kind, entry.status) {
        (DeskKind::Refund, DeskStatus::Open) => {
            format!("{money} are going back at the gateway's own desk ({reference}: {why})")
        }
        (DeskKind::Refund, DeskStatus::Moved) => {
            format!("{money} went back at the gateway's own desk ({reference}: {why})")
        }
        (DeskKind::Refund, DeskStatus::Stayed) => {
            format!("{money} did not go back at the gateway's own desk ({reference}: {why})")
        }
        (DeskKind::Dispute, DeskStatus::Open) => {
            format!("the buyer's bank disputes {money} ({reference}: {why})")
        }
        (DeskKind::Dispute, DeskStatus::Moved) => {
            format!("a dispute about {money} is lost ({reference}: {why})")
        }
        (DeskKind::Dispute, DeskStatus::Stayed) => {
            format!("a dispute about {money} is won ({reference}: {why})")
        }
        (DeskKind::SecondPayment, _) => {
            format!("{money} were paid a second time ({reference}: {why})")
        }
    }
}
