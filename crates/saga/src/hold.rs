//! What the engine says of a hold, and what a saga makes of it that only waits for that.

use super::look::{Look, Trouble};
use super::refunds::paid_here;
use super::rows::{AFTER_HOLD_MS, payment_of_saga};
use super::sagas::Sagas;
use onrush_core::hold::{HoldState, HoldStatus, OnDecline};
use onrush_core::ids::{EventId, PaymentId};
use onrush_core::limits::ENDED_KNOWN_MS;
use onrush_core::question::{BookingOf, EventNow};
use onrush_core::saga::{Outcome, Stage, Step};
use onrush_core::view::HoldView;
use onrush_core::{Refusal, Time};
use onrush_ledger::booking::Booking;
use onrush_ledger::booking_of;
use onrush_ledger::money::{Payment, RefundCause};
use onrush_ledger::saga::SagaRecord;
use onrush_store::{Ask, Failure};

/// Why money goes back for a booking that its buyer or the organiser took back.
const CANCELLED: &str = "the booking was cancelled";
/// What it says while the ledger is so far behind that a booking may have ended since.
const UNTOLD: &str = "the feed has not told yet what became of the booking";

impl Sagas {
    /// What the engine knows of a booking; `None` if nothing.
    pub(super) async fn hold(&self, record: &SagaRecord) -> Result<Option<HoldView>, Trouble> {
        let anyones = BookingOf { booking: record.saga.booking.clone(), user: None };
        match self.engine.ask(record.saga.event.clone(), anyones).await {
            Ok(answer) => Ok(Some(answer.value)),
            Err(Failure::Refused(
                Refusal::ReservationNotFound
                | Refusal::EventNotFound
                | Refusal::EventArchived { .. },
            )) => Ok(None),
            // Nothing else refuses a question; what might is no answer to it.
            Err(failure) => Err(failure.into()),
        }
    }

    /// Whether the event was archived: then the engine knows no booking of it.
    async fn is_archived(&self, event: &EventId) -> Result<bool, Trouble> {
        match self.engine.ask(event.clone(), EventNow).await {
            Ok(_) => Ok(false),
            Err(Failure::Refused(refusal)) => Ok(matches!(refusal, Refusal::EventArchived { .. })),
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) async fn ask_hold(&self, record: &SagaRecord) -> Result<Look, Trouble> {
        let view = self.hold(record).await?;
        let mut draft = self.draft(record);
        let state = view.as_ref().map(|view| &view.state);
        if record.saga.step == Step::Confirmed {
            return match state {
                Some(HoldState::Cancelled { refund_minor, .. }) if *refund_minor > 0 => {
                    self.give_back_cancelled(record, *refund_minor).await
                }
                Some(HoldState::Cancelled { .. }) => {
                    draft.advance(Outcome::CancelledUnrefunded, CANCELLED)?;
                    Ok(Look::WriteAndRest(draft))
                }
                None => self.cancelled_and_forgotten(record).await,
                Some(
                    HoldState::Confirmed { .. }
                    | HoldState::Held { .. }
                    | HoldState::Paying { .. }
                    | HoldState::Released { .. }
                    | HoldState::Expired { .. },
                ) => Ok(Look::Rest),
            };
        }
        if let Some((payment, sold_at)) = self.lost_payment(record, state).await? {
            return self.find_lost(record, &payment, sold_at).await;
        }
        match state {
            Some(HoldState::Held { until }) => {
                draft.advance(Outcome::Held, "the units are held")?;
                draft.next_at(Some(until.plus_ms(AFTER_HOLD_MS)));
                Ok(Look::WriteAndRest(draft))
            }
            // A payment was begun, and nobody lived to write it down.
            Some(
                HoldState::Paying { payment, .. }
                | HoldState::Expired { payment: Some(payment), .. },
            ) if booking_of(payment).as_ref() == Some(&record.saga.booking) => {
                let Some(gateway) = &self.gateway else {
                    return Err(Trouble::Stuck("no payment gateway is configured".into()));
                };
                let mut draft = self.moving(record);
                let known = record.payments.iter().find(|row| row.payment == *payment);
                if let Some(known) = known {
                    return self.end_again(record, known).await;
                }
                let (saga, name, then) = (&record.saga, gateway.name(), OnDecline::Keep);
                let capture = self.capture_for(&saga.event).await?;
                let row = payment_of_saga(saga, payment, name, capture, then, self.now());
                draft.begin_payment(row, "a payment was begun and not written down")?;
                // The hold may have run out since, and then no gateway shall hear of it.
                Ok(Look::WriteAndAsk(draft))
            }
            // Somebody else's payment, such as the box office's, is somebody else's business.
            Some(HoldState::Paying { until, .. }) => {
                draft.note("a payment runs that is not ours");
                draft.next_at(Some(until.plus_ms(AFTER_HOLD_MS)));
                Ok(Look::WriteAndRest(draft))
            }
            Some(HoldState::Confirmed { .. }) => {
                draft.advance(Outcome::HoldConfirmed, "confirmed without a payment of ours")?;
                Ok(Look::WriteAndRest(draft))
            }
            Some(
                HoldState::Released { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. },
            )
            | None => {
                draft.advance(Outcome::NotHeld, "the units are not held")?;
                Ok(Look::WriteAndRest(draft))
            }
        }
    }

    /// A payment whose end the ledger has passed runs in the engine, which has lost what it was
    /// told: it is told again.
    async fn end_again(&self, record: &SagaRecord, payment: &Payment) -> Result<Look, Trouble> {
        if payment.stage != Stage::Void {
            let payment = &payment.payment;
            return Err(Trouble::Stuck(format!("payment {payment} has ended and runs")));
        }
        let why = payment.why.clone().unwrap_or_else(|| "cancelled".into());
        let told = self.fail_in_engine(record, payment, &why, payment.on_decline).await?;
        let mut draft = self.draft(record);
        match told.map(|view| view.state) {
            Some(HoldState::Held { until }) => {
                draft.advance(Outcome::Held, "the engine was told again that the payment ended")?;
                draft.next_at(Some(until.plus_ms(AFTER_HOLD_MS)));
            }
            Some(
                HoldState::Released { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. },
            ) => draft.advance(Outcome::NotHeld, "the units are not held")?,
            Some(HoldState::Paying { .. } | HoldState::Confirmed { .. }) | None => {
                return Err(Trouble::Later("the booking goes on otherwise".into()));
            }
        }
        Ok(Look::WriteAndRest(draft))
    }

    /// The engine forgets a cancelled booking after a day. What goes back for it was told by the feed before.
    async fn cancelled_and_forgotten(&self, record: &SagaRecord) -> Result<Look, Trouble> {
        let is_told = self.is_told(record, false).await?;
        let row = self.told_of(record).await?;
        let Some(row) = row.filter(|row| row.status == HoldStatus::Cancelled) else {
            if self.is_archived(&record.saga.event).await? {
                // It was confirmed when the event was archived, and nothing ends that.
                return Ok(Look::Rest);
            }
            if !is_told {
                return Err(Trouble::Later(UNTOLD.into()));
            }
            return Err(Trouble::Stuck("the engine knows no such booking any more".into()));
        };
        if row.refund_minor > 0 {
            return self.give_back_cancelled(record, row.refund_minor).await;
        }
        let mut draft = self.draft(record);
        draft.advance(Outcome::CancelledUnrefunded, CANCELLED)?;
        Ok(Look::WriteAndRest(draft))
    }

    async fn give_back_cancelled(
        &self,
        record: &SagaRecord,
        refund_minor: i64,
    ) -> Result<Look, Trouble> {
        if self.lost_payment(record, None).await?.is_some() {
            // The box office is said to have been paid: older versions took what was lost for that.
            let mut draft = self.moving(record);
            draft.begin_again("the booking was paid for here");
            return Ok(Look::WriteAndAsk(draft));
        }
        let back = self.back_at_desk(record).await;
        let back = back.map_err(|error| Trouble::Later(error.to_string()))?;
        if let Some(payment) = paid_here(record, refund_minor)
            && back.is_of(payment)
        {
            return self.give_back_beside_desk(record, payment, refund_minor, &back, CANCELLED);
        }
        let (outcome, cause) = (Outcome::Cancelled, RefundCause::Cancelled);
        self.give_back(record, refund_minor, outcome, cause, CANCELLED)
    }

    /// Until when the hold waits for this payment; `None` if it does not.
    pub(super) async fn waits_until(
        &self,
        record: &SagaRecord,
        payment: &PaymentId,
    ) -> Result<Option<Time>, Trouble> {
        let view = self.hold(record).await?;
        Ok(match view.map(|view| view.state) {
            Some(HoldState::Paying { payment: running, until, .. }) if running == *payment => {
                Some(until)
            }
            Some(
                HoldState::Held { .. }
                | HoldState::Paying { .. }
                | HoldState::Confirmed { .. }
                | HoldState::Released { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. },
            )
            | None => None,
        })
    }

    /// Whether the booking had been confirmed with this payment, which could not be written down, and
    /// the engine does not say so any more: it was cancelled since, or its event was archived. What
    /// the engine has forgotten, the feed has told.
    pub(super) async fn had_confirmed(
        &self,
        record: &SagaRecord,
        payment: &Payment,
    ) -> Result<bool, Trouble> {
        if let Some(view) = self.hold(record).await? {
            if !matches!(view.state, HoldState::Cancelled { .. }) {
                return Ok(false);
            }
            // Only what was confirmed is ever cancelled, and the feed tells what it was confirmed with.
            let row = self.told_of(record).await?;
            let told = row.filter(|row| row.status == HoldStatus::Cancelled);
            let Some(told) = told else { return Err(Trouble::Later(UNTOLD.into())) };
            return Ok(told.payment.as_ref() == Some(&payment.payment));
        }
        let is_archived = self.is_archived(&record.saga.event).await?;
        let is_told = self.is_told(record, is_archived).await?;
        let row = self.told_of(record).await?;
        let with_it = |row: &Booking| row.payment.as_ref() == Some(&payment.payment);
        match row.filter(with_it).map(|row| row.status) {
            Some(HoldStatus::Cancelled) => Ok(true),
            Some(HoldStatus::Confirmed) if is_archived => Ok(true),
            _ if !is_told => Err(Trouble::Later(UNTOLD.into())),
            Some(
                HoldStatus::Held
                | HoldStatus::Paying
                | HoldStatus::Confirmed
                | HoldStatus::Released
                | HoldStatus::Expired,
            )
            | None => Ok(false),
        }
    }

    /// Whether the feed has told what became of a booking that the engine has forgotten: a day after
    /// its end at the earliest, or with its event. A ledger that was away for long has yet to follow.
    async fn is_told(&self, record: &SagaRecord, is_archived: bool) -> Result<bool, Trouble> {
        let last = match self.engine.settled(record.saga.event.clone()).await {
            Ok(answer) => answer.value,
            Err(Failure::Refused(_)) => self.engine.committed(),
            Err(failure) => return Err(failure.into()),
        };
        let told = self.ledger.position().await;
        let told = told.map_err(|error| Trouble::Later(error.to_string()))?;
        let is_young = |at: Time| self.now().since_ms(at) < ENDED_KNOWN_MS;
        Ok(told.seq >= last.0 || (!is_archived && told.at.is_some_and(is_young)))
    }
}
