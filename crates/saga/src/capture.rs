//! Money that is taken, and money that is set aside first: which card it is, whether that card may
//! pay, and taking it then.

use super::gateway::{Fingerprint, GatewayError, Standing};
use super::look::{Look, Trouble};
use super::rows::order_of;
use super::sagas::Sagas;
use onrush_base::amount::readable;
use onrush_core::ids::EventId;
use onrush_core::payers::PayerBy;
use onrush_core::saga::Outcome;
use onrush_core::{Command, Refusal};
use onrush_ledger::money::Capture;
use onrush_ledger::saga::{SET_ASIDE, SagaRecord, UNDER_WAY, declined};
use onrush_store::Failure;

/// Why a payment ends whose card has paid for as much as one card may.
const CARD_LIMIT: &str = "card_limit";
/// Why one ends whose card the gateway knows by nothing, so that nobody could count what it pays for.
const CARD_UNKNOWN: &str = "card_unknown";

/// Whether a card may pay.
enum Card {
    May,
    /// Not this one: why, in a word for the buyer's page.
    MayNot(&'static str),
    /// The hold does not wait for it any more.
    NotAwaited,
}

impl Sagas {
    /// When the money of a payment for this event is to be taken.
    pub(super) async fn capture_for(&self, event: &EventId) -> Result<Capture, Failure> {
        let limit = self.settings(event).await?.max_per_card;
        Ok(limit.map_or(Capture::AtOnce, |_| Capture::Later))
    }

    /// The gateway says that the present payment's money is set aside.
    pub(super) fn authorised(
        &self,
        record: &SagaRecord,
        reference: String,
    ) -> Result<Look, Trouble> {
        let mut draft = self.moving(record);
        draft.advance(Outcome::MoneyAuthorised, SET_ASIDE)?;
        draft.present(|row| row.reference = Some(reference));
        Ok(Look::Write(draft))
    }

    /// The present payment is not wanted: the gateway sets free what it has set aside.
    pub(super) fn unwanted(
        &self,
        record: &SagaRecord,
        note: &str,
        why: &str,
    ) -> Result<Look, Trouble> {
        let mut draft = self.moving(record);
        draft.advance(Outcome::PaymentUnwanted, note)?;
        draft.present(|row| row.why = Some(why.to_owned()));
        Ok(Look::Write(draft))
    }

    /// Asks the gateway which card it is, and the engine whether that card may pay.
    pub(super) async fn name_card(&self, record: &SagaRecord) -> Result<Look, Trouble> {
        let payment = Self::present(record)?;
        if self.waits_until(record, &payment.payment).await?.is_none() {
            return self.unwanted(record, NOT_AWAITED, "timeout");
        }
        let order = order_of(&record.saga, payment);
        let card = match self.asked(payment, |gateway| gateway.status(&order)).await? {
            Standing::Authorised { card, .. } => card,
            taken @ Standing::Captured { .. } => return self.captured(record, taken),
            Standing::Cancelled { why, .. } => return self.set_free(record, why),
            Standing::Open { .. }
            | Standing::Processing { .. }
            | Standing::Declined { .. }
            | Standing::Unknown => {
                let why = "the gateway does not say any more that the money is set aside";
                return Err(Trouble::Later(why.into()));
            }
        };
        match self.ask_card(record, card).await? {
            Card::May => {
                let mut draft = self.moving(record);
                draft.advance(Outcome::CardNamed, "the card may pay")?;
                Ok(Look::Write(draft))
            }
            Card::MayNot(why) => self.unwanted(record, &declined(why), why),
            Card::NotAwaited => self.unwanted(record, NOT_AWAITED, "timeout"),
        }
    }

    async fn ask_card(
        &self,
        record: &SagaRecord,
        card: Option<Fingerprint>,
    ) -> Result<Card, Trouble> {
        let event = &record.saga.event;
        if self.settings(event).await?.max_per_card.is_none() {
            // The limit was lifted since.
            return Ok(Card::May);
        }
        let Some(card) = card else { return Ok(Card::MayNot(CARD_UNKNOWN)) };
        let name = Command::NamePayer {
            booking: record.saga.booking.clone(),
            user: record.saga.user.clone(),
            by: PayerBy::Card,
            payer: self.payers.card(event, card.reveal()),
        };
        match self.engine.execute(event.clone(), name).await {
            Ok(_) => Ok(Card::May),
            Err(Failure::Refused(Refusal::PayerLimitExceeded { .. })) => {
                Ok(Card::MayNot(CARD_LIMIT))
            }
            // Whatever else the engine refuses, the booking is not one that this may still buy.
            Err(Failure::Refused(_)) => Ok(Card::NotAwaited),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Has the gateway take what is set aside, as long as the hold waits for it. Should it have been
    /// taken before without a word, cancelling says so.
    pub(super) async fn capture(&self, record: &SagaRecord) -> Result<Look, Trouble> {
        let payment = Self::present(record)?;
        if self.waits_until(record, &payment.payment).await?.is_none() {
            return self.unwanted(record, NOT_AWAITED, "timeout");
        }
        let order = order_of(&record.saga, payment);
        match self.asked(payment, |gateway| gateway.capture(&order)).await {
            Ok(taken @ Standing::Captured { .. }) => self.captured(record, taken),
            Ok(Standing::Cancelled { why, .. }) => self.set_free(record, why),
            Ok(Standing::Processing { .. }) => Ok(self.under_way(record)),
            Ok(
                Standing::Authorised { .. }
                | Standing::Open { .. }
                | Standing::Declined { .. }
                | Standing::Unknown,
            ) => Err(Trouble::Later("the gateway has not taken the money".into())),
            Err(GatewayError::Refused(why)) => {
                let note = format!("the gateway will not take the money: {why}");
                self.unwanted(record, &note, "capture_refused")
            }
            Err(error @ (GatewayError::Unavailable(_) | GatewayError::UnknownRefund(_))) => {
                Err(error.into())
            }
        }
    }

    /// Money was taken for the present payment.
    pub(super) fn captured(
        &self,
        record: &SagaRecord,
        standing: Standing,
    ) -> Result<Look, Trouble> {
        let Standing::Captured { reference, amount_minor, currency } = standing else {
            return Err(Trouble::Stuck("only captured money counts".into()));
        };
        let payment = Self::present(record)?;
        if (amount_minor, currency) != (payment.amount_minor, payment.currency) {
            let why = format!(
                "{} were taken and {} were asked for",
                readable(amount_minor, currency),
                readable(payment.amount_minor, payment.currency)
            );
            let mut draft = self.draft(record);
            draft.present(|row| {
                row.flagged = true;
                row.captured_minor = amount_minor;
                row.why = Some(why.clone());
                row.reference = Some(reference);
            });
            draft.note(&why);
            draft.stuck(Some(&why));
            return Ok(Look::WriteAndRest(draft));
        }
        let mut draft = self.moving(record);
        draft.advance(Outcome::MoneyTaken, "money was taken")?;
        draft.captured_at(self.now());
        draft.present(|row| {
            row.captured_minor = amount_minor;
            row.reference = Some(reference);
        });
        Ok(Look::Write(draft))
    }

    /// The gateway has called the payment off: no money was taken, and none will be.
    pub(super) fn set_free(&self, record: &SagaRecord, why: String) -> Result<Look, Trouble> {
        let mut draft = self.moving(record);
        draft.advance(Outcome::PaymentClosed, &format!("cancelled: {why}"))?;
        draft.present(|row| row.why = Some(why));
        Ok(Look::Write(draft))
    }

    /// The gateway takes it and does not know yet whether it will have it.
    fn under_way(&self, record: &SagaRecord) -> Look {
        let mut draft = self.draft(record);
        draft.tries(0);
        draft.note(UNDER_WAY);
        draft.next_at(Some(self.now().plus_ms(self.patience.longest_pause_ms)));
        Look::WriteAndRest(draft)
    }
}

/// What it says of a payment that nobody waits for.
pub(super) const NOT_AWAITED: &str = "the hold does not wait for the payment";
