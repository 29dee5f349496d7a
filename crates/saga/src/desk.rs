//! What the gateway's own desk did: it is written down, flagged and told, and nothing is undone
//! because of it.
//!
//! A ticket whose money went back is not taken away here: whether the buyer may keep it is for
//! people to say. They cancel the booking with what is to go back of it altogether, or give the money
//! back of what was paid twice, and settle the entry. Of what is to go back for a cancelled booking the
//! desk's refunds, and lost disputes, are a part: the gateway is asked for the rest alone.

use super::draft::Draft;
use super::gateway::{DeskNews, FoundAtDesk, Gateway, GatewayError, Ours};
use super::look::Trouble;
use super::notice::NoticeError;
use super::rows::refund_of;
use super::sagas::Sagas;
use onrush_base::amount::readable;
use onrush_base::metrics::count;
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_ledger::desk::{DeskEntry, DeskFilter, DeskKind, DeskStatus, Settled};
use onrush_ledger::money::{Payment, Refund, RefundCause, RefundStatus};
use onrush_ledger::saga::SagaRecord;
use onrush_ledger::{LedgerError, booking_of};
use onrush_relay::messages::at_desk;

/// What a refund says that the desk had made.
pub(super) const AT_DESK: &str = "it had gone back at the gateway's own desk";
/// Entries that are read at once.
const PAGE: usize = 100;

/// What the desk gave back of a booking's payments, as far as no refund stands for it.
#[derive(Default)]
pub(super) struct Back {
    /// Its entries, the earliest first.
    entries: Vec<DeskEntry>,
    /// How the booking stands, for those who are told.
    status: Option<HoldStatus>,
}

impl Back {
    /// Whether some of it is of this payment.
    pub(super) fn is_of(&self, payment: &Payment) -> bool {
        self.entries.iter().any(|entry| entry.payment == payment.payment)
    }
}

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

    /// Money of a payment that we had the gateway send back: what its desk gave back is an entry already,
    /// and what an operator gave back by hand never went through it.
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
                && row.cause.is_asked_for()
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
        let entry = self.entry_of(news, row, &record.saga.event);
        let told = sentence(&entry);
        let came_back = (entry.status == DeskStatus::Stayed).then(|| entry.reference.clone());
        let is_news = self.note_entry(&entry, &told).await?;
        self.flag_for_desk(own, &payment, &told, is_news).await?;
        match came_back {
            Some(reference) => self.back_again(own, &payment, &reference, &told).await,
            None => Ok(()),
        }
    }

    /// Writes down again what the desk gave back of a payment which the ledger has lost, with all that it
    /// was told of it, and flags its row, which is about to be written. Says what it was, a sentence each,
    /// for the history.
    pub(super) async fn find_at_desk(
        &self,
        record: &SagaRecord,
        row: &mut Payment,
    ) -> Result<Vec<String>, Trouble> {
        let Some(reference) = row.reference.clone() else { return Ok(Vec::new()) };
        let made = self.asked(row, |gateway| gateway.desk_history(&reference)).await?;
        let mut sentences = Vec::new();
        for FoundAtDesk { news, is_after_ours } in made {
            let mut entry = self.entry_of(news, row, &record.saga.event);
            // Our own refund is asked for again under the key that it had, and with the amount: what came
            // after it would be taken for a part of that.
            if is_after_ours {
                entry.paid_as = None;
            }
            let told = sentence(&entry);
            let noted = self.note_entry(&entry, &told).await;
            noted.map_err(|error| Trouble::Later(error.to_string()))?;
            row.flagged = true;
            row.why = Some(told.clone());
            sentences.push(told);
        }
        Ok(sentences)
    }

    /// The entry about what the desk did with a payment.
    fn entry_of(&self, news: DeskNews, row: &Payment, event: &EventId) -> DeskEntry {
        let at = self.now();
        DeskEntry {
            entry: format!("{}.{}", row.gateway, news.reference),
            kind: news.kind,
            status: news.status,
            gateway: row.gateway.clone(),
            reference: news.reference,
            payment: row.payment.clone(),
            paid_as: Some(news.of),
            booking: row.booking.clone(),
            event: event.clone(),
            amount_minor: news.amount_minor,
            currency: news.currency,
            why: news.why.chars().take(500).collect(),
            created_at: at,
            updated_at: at,
            settled: None,
        }
    }

    /// Writes an entry down and tells of it, unless that was done; says whether it is news.
    async fn note_entry(&self, entry: &DeskEntry, told: &str) -> Result<bool, LedgerError> {
        let message = at_desk(entry, &self.channels);
        let has_message = message.is_some();
        let is_news = self.ledger.note_desk(entry.clone(), message).await?;
        if is_news {
            count(&self.counts.at_desk);
            let (payment, entry) = (&entry.payment, entry.entry.as_str());
            let look = "see /api/v1/admin/desk";
            tracing::warn!(%payment, entry, told, look, "the gateway's own desk did something");
            if has_message {
                self.told.notify_one();
            }
        }
        Ok(is_news)
    }

    /// Money is here again that the desk had given back, and that a refund stands for: it is owed still,
    /// and an operator says which way it goes.
    async fn back_again(
        &self,
        own: &BookingId,
        payment: &PaymentId,
        reference: &str,
        told: &str,
    ) -> Result<(), NoticeError> {
        loop {
            let Some(record) = self.ledger.saga_record(own).await? else { return Ok(()) };
            let of_it = |row: &&Refund| row.payment == *payment && stands_for(row, reference);
            let Some(row) = record.refunds.iter().find(of_it) else { return Ok(()) };
            match self.write(self.bounced(&record, payment, &row.refund, told)).await {
                // Several refunds may stand for parts of it.
                Ok(_) | Err(LedgerError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What the desk gave back of a booking's payments that no refund stands for yet.
    ///
    /// An entry flags its payment, so that only those are asked for that may have one.
    pub(super) async fn back_at_desk(&self, record: &SagaRecord) -> Result<Back, LedgerError> {
        if !record.payments.iter().any(|row| row.flagged) {
            return Ok(Back::default());
        }
        let all = self.desk_entries(&record.saga.booking).await?.into_iter();
        let mut entries: Vec<_> = all.filter_map(|entry| still_back(record, entry)).collect();
        if entries.is_empty() {
            return Ok(Back::default());
        }
        entries.reverse();
        Ok(Back { entries, status: self.status_of(record).await? })
    }

    /// All entries about a booking's payments, the latest first.
    async fn desk_entries(&self, booking: &BookingId) -> Result<Vec<DeskEntry>, LedgerError> {
        let (mut entries, mut after) = (Vec::new(), None);
        loop {
            let booking = Some(booking.clone());
            let filter = DeskFilter { booking, after, ..DeskFilter::default() };
            let page = self.ledger.desk(filter, PAGE).await?;
            entries.extend(page.rows);
            after = page.next;
            if after.is_none() {
                return Ok(entries);
            }
        }
    }

    /// Looks again at what the desk gave back of payments whose own refund has failed: what came after
    /// that was no part of it when it was found again with its payment, and counts now. Where nothing
    /// was found like that, the gateway is not asked.
    ///
    /// # Errors
    /// Why that cannot be told just now, for people.
    pub(super) async fn look_at_desk_again(
        &self,
        record: &SagaRecord,
        failed: &[&Payment],
    ) -> Result<(), String> {
        let failed: Vec<&Payment> = failed.iter().copied().filter(|row| row.flagged).collect();
        if failed.is_empty() {
            return Ok(());
        }
        let entries = self.desk_entries(&record.saga.booking).await;
        let entries = entries.map_err(|error| error.to_string())?;
        for row in failed {
            let is_left_out = |entry: &DeskEntry| {
                entry.payment == row.payment
                    && entry.kind == DeskKind::Refund
                    && entry.paid_as.is_none()
            };
            let Some(reference) = row.reference.clone() else { continue };
            if !entries.iter().any(is_left_out) {
                continue;
            }
            let made = self.asked(row, |gateway| gateway.desk_history(&reference)).await;
            let made = made.map_err(|error| error.to_string())?;
            for found in made.into_iter().filter(|found| !found.is_after_ours) {
                let entry = self.entry_of(found.news, row, &record.saga.event);
                let noted = self.note_entry(&entry, &sentence(&entry)).await;
                noted.map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// Adds what the desk gave back of a payment as refunds that were made, up to what is owed; says
    /// what is still owed then. `by` is the operator who asked for the rest, if one did.
    pub(super) fn take_from_desk(
        &self,
        draft: &mut Draft,
        payment: &Payment,
        owed_minor: i64,
        back: &Back,
        by: Option<&str>,
    ) -> i64 {
        let mut left_minor = owed_minor;
        for entry in back.entries.iter().filter(|entry| entry.payment == payment.payment) {
            let amount_minor = entry.amount_minor.min(left_minor);
            if amount_minor <= 0 {
                continue;
            }
            left_minor -= amount_minor;
            let (record, cause) = (draft.record(), RefundCause::AtDesk);
            let refund = refund_of(record, payment, amount_minor, cause, AT_DESK, self.now());
            let made = Refund {
                status: RefundStatus::Done,
                decided_by: by.map(str::to_owned),
                reference: Some(entry.reference.clone()),
                ..refund
            };
            // They are told as of the refund that it is a part of.
            let cause = cause_of(draft.record(), payment);
            self.tell(draft, &Refund { cause, ..made.clone() }, back.status);
            draft.add_refund(made);
        }
        left_minor
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
                // Why a payment took no money is its buyer's to know, and stays.
                if row.captured_minor > 0 || row.why.is_none() {
                    row.why = Some(told.to_owned());
                }
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

/// What an entry says is back with the buyer of a payment of ours, as far as no refund stands for that.
fn still_back(record: &SagaRecord, entry: DeskEntry) -> Option<DeskEntry> {
    let is_moved = match entry.kind {
        DeskKind::Refund | DeskKind::Dispute => entry.status == DeskStatus::Moved,
        DeskKind::SecondPayment => false,
    };
    // An order that was paid twice has two payments at the gateway under the one id that is ours. What
    // goes back of the second one leaves the first where it is.
    let is_of = |row: &Payment| {
        row.payment == entry.payment
            && row.gateway == entry.gateway
            && row.currency == entry.currency
            && entry.paid_as.is_some()
            && row.reference == entry.paid_as
    };
    let is_ours = record.payments.iter().any(is_of);
    let is_known =
        |row: &&Refund| row.payment == entry.payment && stands_for(row, &entry.reference);
    let known_minor: i64 = record.refunds.iter().filter(is_known).map(|row| row.amount_minor).sum();
    let amount_minor = entry.amount_minor - known_minor;
    (is_moved && is_ours && amount_minor > 0).then_some(DeskEntry { amount_minor, ..entry })
}

/// Why money of a payment was owed: as the first refund says that was asked for, or as its booking was
/// cancelled; a stray payment is one.
fn cause_of(record: &SagaRecord, payment: &Payment) -> RefundCause {
    if record.saga.payment.as_ref() != Some(&payment.payment) {
        return RefundCause::Stray;
    }
    let is_asked = |row: &&Refund| row.payment == payment.payment && row.cause.is_asked_for();
    record.refunds.iter().find(is_asked).map_or(RefundCause::Cancelled, |row| row.cause)
}

/// Whether a refund stands for what the desk gave back under this reference.
fn stands_for(refund: &Refund, reference: &str) -> bool {
    refund.cause == RefundCause::AtDesk
        && refund.status == RefundStatus::Done
        && refund.reference.as_deref() == Some(reference)
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
