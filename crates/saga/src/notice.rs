//! A gateway tells of something.

use super::draft::Draft;
use super::gateway::{DeskNews, GatewayError, News, Notice, Order, Ours, RefundStanding, Standing};
use super::look::{DriveError, Look};
use super::refunds::{
    AFTER_ALL, BESIDE_ANOTHER, is_beside_another, is_part_of_what_is_owed, note_failed,
};
use super::rows::{order_of, order_of_refund, refund_of};
use super::sagas::Sagas;
use onrush_base::amount::readable;
use onrush_core::ids::{BookingId, PaymentId};
use onrush_core::money::Currency;
use onrush_core::saga::{Outcome, Stage, Step};
use onrush_ledger::desk::{DeskKind, DeskStatus};
use onrush_ledger::money::{Capture, Payment, Refund, RefundCause, RefundStatus};
use onrush_ledger::saga::{SET_ASIDE, SagaRecord, declined};
use onrush_ledger::{LedgerError, booking_of};
use onrush_relay::messages::refund_done;

/// What it says of money that nothing waits for.
const ENDED: &str = "money was taken for a payment that had ended";

/// Money that a message says was taken.
#[derive(Clone, Copy)]
struct Taken<'a> {
    /// What the gateway calls the payment.
    reference: &'a str,
    /// How much, in minor units of the payment's own currency.
    amount_minor: i64,
}

/// Why a genuine message changed nothing.
#[derive(Debug)]
pub enum NoticeError {
    /// It contradicts what was asked for; what exists was flagged.
    Mismatch(String),
    /// The ledger failed: the gateway should send it again.
    Ledger(LedgerError),
    /// What the message is about has to be asked of the gateway, which does not answer: it should
    /// send it again.
    Gateway(String),
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
    /// Takes a genuine message in: what it tells is durable when this returns, and driven on as far
    /// as possible.
    ///
    /// # Errors
    /// See [`NoticeError`].
    pub async fn notice(&self, notice: Notice) -> Result<(), NoticeError> {
        match notice.news {
            None => Ok(()),
            Some(News::Payment { payment, booking, standing }) => {
                self.payment_news(&payment, &booking, standing).await
            }
            Some(News::Refund { payment, refund, amount_minor, currency, standing }) => {
                self.refund_news(&payment, &refund, (amount_minor, currency), standing).await
            }
            Some(News::Desk(news)) => self.desk_news(news).await,
            Some(News::WentBack { reference, payment, back_minor }) => {
                self.went_back(&reference, payment.as_ref(), back_minor).await
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
            let record = self.ledger.saga_record(&own).await?.ok_or_else(unknown)?;
            let row = record.payments.iter().find(|row| row.payment == *payment);
            let row = row.ok_or_else(unknown)?;
            if let Some(news) = second_payment(row, booking, &standing) {
                drop(record);
                return self.desk_entry(news, &own).await;
            }
            if let Some(why) = contradiction(row, booking, &standing) {
                let taken = taken_all_the_same(row, booking, &standing);
                match self.flag(&record, row, taken, &why).await {
                    Err(LedgerError::Conflict) => continue,
                    Err(error) => return Err(error.into()),
                    // It is safe now; what is left to do is not the gateway's concern.
                    Ok(Some(record)) => drop(self.drive_on(record, false).await?),
                    Ok(None) => {}
                }
                return Err(NoticeError::Mismatch(why));
            }
            let present = record.saga.payment.as_ref() == Some(payment);
            match rather_asked(&record, row, present, &standing) {
                Some(Rather::Watch) => {
                    self.drive_on(record, true).await?;
                    return Ok(());
                }
                Some(Rather::SetFree(reference)) => {
                    let reference = Some(reference.to_owned());
                    let order = Order { reference, ..order_of(&record.saga, row) };
                    // What comes of it is told by a message of its own.
                    return match self.asked(row, |gateway| gateway.cancel(&order)).await {
                        Ok(_) => Ok(()),
                        Err(error) => Err(NoticeError::Gateway(error.to_string())),
                    };
                }
                None => {}
            }
            let draft = match told(&record, row, present, &standing, self.now()) {
                Some(mut draft) => {
                    draft.next_at(Some(self.now().plus_ms(self.patience.abandoned_after_ms)));
                    // News is what a saga that had given up was waiting for.
                    draft.stuck(None);
                    draft.tries(0);
                    let record = draft.record();
                    let is_present = record.saga.payment.as_ref() == Some(payment);
                    if is_present && record.position().stage == Some(Stage::Captured) {
                        draft.captured_at(self.now());
                    }
                    draft
                }
                // It is known already, or out of date.
                None => return Ok(()),
            };
            match self.write(draft).await {
                Ok(record) => {
                    // It is safe now; what is left to do is not the gateway's concern.
                    self.drive_on(record, false).await?;
                    return Ok(());
                }
                Err(LedgerError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Flags a payment that a message contradicts; the record, if the saga has something to do then.
    ///
    /// Money that came for a payment that had ended is written down as it was taken: it goes back,
    /// and an operator waits only for what cannot.
    async fn flag(
        &self,
        record: &SagaRecord,
        row: &Payment,
        taken: Option<Taken<'_>>,
        why: &str,
    ) -> Result<Option<SagaRecord>, LedgerError> {
        let payment = &row.payment;
        tracing::warn!(%payment, why, "a gateway's message contradicts what was asked for");
        let has_ended =
            matches!(row.stage, Stage::Closed | Stage::Void | Stage::Returned | Stage::Refunded);
        let is_written_down = taken.is_some_and(|taken| {
            row.captured_minor == taken.amount_minor
                && row.reference.as_deref() == Some(taken.reference)
        });
        let comes_late = taken.filter(|_| has_ended && row.captured_minor == 0);
        // Who sees to a saga, or the buyer's next payment, has it stuck no more.
        let is_waited_for = !has_ended || is_written_down || record.saga.stuck.is_some();
        if row.flagged && comes_late.is_none() && is_waited_for {
            return Ok(None);
        }
        let mut draft = Draft::of(record, self.now());
        draft.payment(payment, |row| {
            row.flagged = true;
            row.why = Some(why.to_owned());
        });
        draft.note(&format!("a message was refused: {why}"));
        if let Some(taken) = comes_late {
            self.take_late(&mut draft, row, taken);
            return self.write(draft).await.map(Some);
        }
        if has_ended {
            // Nobody would ask the gateway about it again.
            draft.tries(0);
            draft.stuck(Some(&format!("a payment that had ended: {why}")));
        }
        self.write(draft).await.map(|_| None)
    }

    /// Money was taken for a payment that had ended, and not what was asked for: it goes back.
    fn take_late(&self, draft: &mut Draft, row: &Payment, taken: Taken<'_>) {
        let Taken { reference, amount_minor } = taken;
        draft.payment(&row.payment, |row| {
            row.captured_minor = amount_minor;
            row.reference = Some(reference.to_owned());
        });
        let is_present = draft.record().saga.payment.as_ref() == Some(&row.payment);
        if is_present && row.stage == Stage::Closed {
            // The engine still waits for it, and hears of its end once the money is back.
            let (cause, record) = (RefundCause::Stray, draft.record());
            let refund = refund_of(record, row, amount_minor, cause, ENDED, self.now());
            draft.add_refund(refund);
            draft.settle(Step::Compensating, Stage::Refunding);
            draft.note(ENDED);
        } else {
            draft.stray(&row.payment, Stage::Captured, ENDED);
            if is_present {
                draft.abandon_present();
            }
        }
        draft.tries(0);
        draft.stuck(None);
        draft.next_at(Some(self.now().plus_ms(self.patience.abandoned_after_ms)));
    }

    async fn refund_news(
        &self,
        payment: &PaymentId,
        refund: &str,
        (amount_minor, currency): (i64, Currency),
        standing: RefundStanding,
    ) -> Result<(), NoticeError> {
        let unknown = || NoticeError::Mismatch("there is no such refund".into());
        let own = booking_of(payment).ok_or_else(unknown)?;
        let _held = self.locks.hold(&own).await;
        loop {
            let record = self.ledger.saga_record(&own).await?.ok_or_else(unknown)?;
            let is_it = |row: &&Refund| row.refund == refund && row.payment == *payment;
            let row = record.refunds.iter().find(is_it).ok_or_else(unknown)?;
            if let Some(why) = otherwise(row.amount_minor, row.currency, amount_minor, currency) {
                let of = |paid: &&Payment| paid.payment == *payment;
                let paid = record.payments.iter().find(of).ok_or_else(unknown)?;
                match self.flag(&record, paid, None, &why).await {
                    Err(LedgerError::Conflict) => continue,
                    flagged => drop(flagged?),
                }
                return Err(NoticeError::Mismatch(why));
            }
            let draft = match (row.status, &standing) {
                (RefundStatus::Requested | RefundStatus::Sent, RefundStanding::Pending { .. })
                | (
                    RefundStatus::Done,
                    RefundStanding::Pending { .. } | RefundStanding::Done { .. },
                )
                | (
                    RefundStatus::Failed,
                    RefundStanding::Pending { .. } | RefundStanding::Failed { .. },
                ) => return Ok(()),
                // The gateway is asked under the same key, and what it says is believed.
                (
                    RefundStatus::Requested | RefundStatus::Sent,
                    RefundStanding::Done { .. } | RefundStanding::Failed { .. },
                ) => match self.ended(&record, row).await? {
                    Some(draft) => draft,
                    None => return Ok(()),
                },
                // The buyer's bank sent it back after all.
                (RefundStatus::Done, RefundStanding::Failed { why, .. }) => {
                    self.bounced(&record, payment, refund, why)
                }
                (RefundStatus::Failed, RefundStanding::Done { reference }) => {
                    // Messages come in any order, and again after days: of a refund that the gateway
                    // had made and that failed, an older one says that it was made.
                    if row.reference.is_some() && !self.is_made_now(&record, row).await? {
                        return Ok(());
                    }
                    self.done_after_all(&record, payment, refund, reference).await?
                }
            };
            match self.write(draft).await {
                Ok(record) => {
                    self.drive_on(record, true).await?;
                    return Ok(());
                }
                Err(LedgerError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What came of a refund that a message says is over; `None` if the gateway is asked again soon.
    ///
    /// It is written down whatever else the saga is stuck for.
    async fn ended(&self, record: &SagaRecord, row: &Refund) -> Result<Option<Draft>, NoticeError> {
        let of = |paid: &&Payment| paid.payment == row.payment;
        let unknown = || NoticeError::Mismatch("there is no such payment".into());
        let paid = record.payments.iter().find(of).ok_or_else(unknown)?;
        let heard = self.heard_of(record);
        let why = match self.refund_at_gateway(record, paid, row).await {
            Ok(RefundStanding::Pending { .. }) => "the gateway says that it works on it".into(),
            // Who has to see to it, the driver says: the booking's own payment goes before that.
            Ok(RefundStanding::Failed { reference, why }) => {
                let mut draft = Draft::of(&heard, self.now());
                note_failed(&mut draft, row, reference, &why);
                draft.next_at(Some(self.now()));
                return Ok(Some(draft));
            }
            Ok(standing @ RefundStanding::Done { .. }) => {
                match self.came_of(&heard, row, standing).await {
                    Ok(
                        Look::Write(draft) | Look::WriteAndAsk(draft) | Look::WriteAndRest(draft),
                    ) => return Ok(Some(draft)),
                    Ok(Look::Rest) => return Ok(None),
                    Err(trouble) => trouble.why(),
                }
            }
            Err(error) => error.to_string(),
        };
        // Nobody looks at a saga that is stuck, unless the gateway tells again.
        if record.saga.stuck.is_some() {
            return Err(NoticeError::Gateway(why));
        }
        let soon = self.now().plus_ms(self.patience.first_pause_ms);
        let is_due_soon = record.saga.next_at.is_some_and(|next_at| next_at <= soon);
        if record.saga.tries > 0 || is_due_soon {
            return Ok(None);
        }
        let mut draft = Draft::of(record, self.now());
        draft.next_at(Some(soon));
        draft.note(&format!("a message says that a refund is over: {why}"));
        Ok(Some(draft))
    }

    /// News is what a saga was waiting for whose patience had been used up: it goes on.
    fn heard_of(&self, record: &SagaRecord) -> SagaRecord {
        let mut record = record.clone();
        if record.saga.stuck.is_some() && record.saga.tries >= self.patience.tries {
            (record.saga.stuck, record.saga.tries) = (None, 0);
            record.saga.next_at = Some(self.now());
        }
        record
    }

    /// Whether the gateway says now that a refund which failed was made.
    async fn is_made_now(&self, record: &SagaRecord, row: &Refund) -> Result<bool, NoticeError> {
        let of = |paid: &&Payment| paid.payment == row.payment;
        let Some(paid) = record.payments.iter().find(of) else { return Ok(false) };
        let order = order_of_refund(record, paid, row);
        match self.asked(paid, |gateway| gateway.refund(&order)).await {
            Ok(RefundStanding::Done { .. }) => Ok(true),
            Ok(RefundStanding::Pending { .. } | RefundStanding::Failed { .. })
            | Err(GatewayError::Refused(_) | GatewayError::UnknownRefund(_)) => Ok(false),
            Err(GatewayError::Unavailable(why)) => Err(NoticeError::Gateway(why.to_string())),
        }
    }

    /// Money that had gone back is here again: somebody has to find another way.
    pub(super) fn bounced(
        &self,
        record: &SagaRecord,
        payment: &PaymentId,
        refund: &str,
        why: &str,
    ) -> Draft {
        let why = format!("a refund came back: {why}");
        let mut draft = Draft::of(record, self.now());
        draft.refund(refund, |row| {
            row.status = RefundStatus::Failed;
            row.why.clone_from(&why);
        });
        if record.saga.payment.as_ref() == Some(payment) {
            draft.settle(Step::Compensating, Stage::Refunding);
            draft.note(&why);
        } else {
            draft.stray(payment, Stage::Refunding, &why);
        }
        draft.tries(0);
        draft.stuck(Some(&why));
        draft
    }

    /// A refund that was said to have failed was made after all.
    async fn done_after_all(
        &self,
        record: &SagaRecord,
        payment: &PaymentId,
        refund: &str,
        reference: &str,
    ) -> Result<Draft, LedgerError> {
        let mut draft = Draft::of(record, self.now());
        draft.refund(refund, |row| {
            row.status = RefundStatus::Done;
            row.reference = Some(reference.to_owned());
        });
        let note = AFTER_ALL;
        let row = record.refunds.iter().find(|row| row.refund == refund);
        if row.is_some_and(|row| is_beside_another(record, row)) {
            // Another one is under way or made: somebody has to look which of the two to stop. The row
            // says so too, until they do: the saga may be woken for something else before.
            draft.refund(refund, |row| BESIDE_ANOTHER.clone_into(&mut row.why));
            draft.note(note);
            draft.tries(0);
            draft.stuck(Some(BESIDE_ANOTHER));
            return Ok(draft);
        }
        let status = self.status_of(record).await?;
        let told = row.and_then(|row| {
            let made = Refund { why: note.to_owned(), ..row.clone() };
            refund_done(&made, &record.saga.event, self.now(), status, &self.channels)
        });
        if let Some(message) = told {
            draft.tell(message);
        }
        draft.stuck(None);
        draft.tries(0);
        draft.next_at(Some(self.now()));
        if row.is_some_and(|row| is_part_of_what_is_owed(record, row)) {
            // The other part is owed still: whoever drives it on has it wait for an operator.
            draft.note(note);
            return Ok(draft);
        }
        let present = record.saga.payment.as_ref() == Some(payment);
        if !(present && draft.advance(Outcome::MoneyReturned, note).is_ok()) {
            draft.stray(payment, Stage::Refunded, note);
        }
        Ok(draft)
    }
}

/// What in a message contradicts the payment's row.
fn contradiction(row: &Payment, booking: &BookingId, standing: &Standing) -> Option<String> {
    if row.booking != *booking {
        return Some(format!("the message names booking {booking}"));
    }
    let Standing::Captured { amount_minor, currency, .. } = standing else { return None };
    otherwise(row.amount_minor, row.currency, *amount_minor, *currency)
}

/// What a message says was taken although it contradicts the payment's row: money of another
/// currency, or for another booking, is nothing that could go back for this payment.
fn taken_all_the_same<'a>(
    row: &Payment,
    booking: &BookingId,
    standing: &'a Standing,
) -> Option<Taken<'a>> {
    let Standing::Captured { reference, amount_minor, currency } = standing else { return None };
    let fits = row.booking == *booking && row.currency == *currency && *amount_minor > 0;
    fits.then_some(Taken { reference, amount_minor: *amount_minor })
}

/// What in a message contradicts an amount that was asked for.
fn otherwise(
    asked_minor: i64,
    asked_in: Currency,
    said_minor: i64,
    said_in: Currency,
) -> Option<String> {
    ((said_minor, said_in) != (asked_minor, asked_in)).then(|| {
        let (said, asked) = (readable(said_minor, said_in), readable(asked_minor, asked_in));
        format!("the message says {said}; {asked} were asked for")
    })
}

/// Money that was taken for the same order once more: the gateway calls this payment otherwise than
/// the one that was paid.
fn second_payment(row: &Payment, booking: &BookingId, standing: &Standing) -> Option<DeskNews> {
    let Standing::Captured { reference, amount_minor, currency } = standing else { return None };
    let known = row.reference.as_ref().filter(|_| row.captured_minor > 0)?;
    (known != reference && row.booking == *booking).then(|| DeskNews {
        kind: DeskKind::SecondPayment,
        status: DeskStatus::Moved,
        reference: reference.clone(),
        of: reference.clone(),
        ours: Some(Ours { payment: row.payment.clone(), booking: booking.clone() }),
        amount_minor: *amount_minor,
        currency: *currency,
        why: format!("the order was paid before, by {known}"),
    })
}

/// Whether a message is of another payment of the gateway's, which was made with our ids: what becomes
/// of that one says nothing about ours.
fn is_of_another(row: &Payment, standing: &Standing) -> bool {
    let told = match standing {
        Standing::Open { reference, .. }
        | Standing::Processing { reference }
        | Standing::Authorised { reference, .. }
        | Standing::Declined { reference, .. }
        | Standing::Captured { reference, .. } => Some(reference),
        Standing::Cancelled { reference, .. } => reference.as_ref(),
        Standing::Unknown => None,
    };
    told.is_some_and(|told| row.reference.as_ref().is_some_and(|known| known != told))
}

/// What is done about a message instead of believing it.
enum Rather<'a> {
    /// The gateway is asked where the payment stands.
    Watch,
    /// The gateway sets free what it has set aside under this name: for a payment that had ended, or
    /// beside the one that we know.
    SetFree(&'a str),
}

/// Whether the gateway had better be asked than its message be believed.
fn rather_asked<'a>(
    record: &SagaRecord,
    row: &Payment,
    present: bool,
    standing: &'a Standing,
) -> Option<Rather<'a>> {
    let has_ended = matches!(row.stage, Stage::Closed | Stage::Void);
    let is_of_another = is_of_another(row, standing);
    match standing {
        Standing::Declined { .. } | Standing::Cancelled { .. } if is_of_another => {
            present.then_some(Rather::Watch)
        }
        // A decline that comes late must not call off what another card has set aside since.
        Standing::Declined { .. } => {
            let waits = present && row.stage < Stage::Authorised && record.saga.stuck.is_none();
            (row.capture == Capture::Later && waits).then_some(Rather::Watch)
        }
        Standing::Authorised { reference, .. } => {
            (has_ended || is_of_another).then_some(Rather::SetFree(reference))
        }
        Standing::Unknown
        | Standing::Open { .. }
        | Standing::Processing { .. }
        | Standing::Cancelled { .. }
        | Standing::Captured { .. } => None,
    }
}

/// What a message makes of a record; `None` if nothing.
fn told(
    record: &SagaRecord,
    row: &Payment,
    present: bool,
    standing: &Standing,
    at: onrush_core::Time,
) -> Option<Draft> {
    let mut draft = Draft::of(record, at);
    match standing {
        Standing::Captured { reference, amount_minor, .. } => {
            if row.captured_minor > 0 {
                return None;
            }
            let advanced = present && draft.advance(Outcome::MoneyTaken, "money was taken").is_ok();
            if !advanced {
                draft.stray(&row.payment, Stage::Captured, ENDED);
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
        // Which card it is, the gateway is asked next.
        Standing::Authorised { reference, .. } if present && row.stage < Stage::Authorised => {
            draft.advance(Outcome::MoneyAuthorised, SET_ASIDE).ok()?;
            draft.present(|row| row.reference = Some(reference.clone()));
            Some(draft)
        }
        Standing::Declined { why, .. } if present && row.stage < Stage::Authorised => {
            draft.advance(Outcome::PaymentUnwanted, &declined(why)).ok()?;
            draft.present(|row| row.why = Some(why.clone()));
            Some(draft)
        }
        Standing::Cancelled { why, .. } if present && row.stage < Stage::Closed => {
            draft.advance(Outcome::PaymentClosed, &format!("cancelled: {why}")).ok()?;
            draft.present(|row| {
                row.why.get_or_insert_with(|| why.clone());
            });
            Some(draft)
        }
        Standing::Authorised { .. }
        | Standing::Declined { .. }
        | Standing::Cancelled { .. }
        | Standing::Open { .. }
        | Standing::Processing { .. }
        | Standing::Unknown => None,
    }
}
