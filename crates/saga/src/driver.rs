//! The driver: it does what a saga's row says is to be done, and writes down what came of it,
//! before and after.

use super::capture::NOT_AWAITED;
use super::draft::Draft;
use super::gateway::{GatewayError, Order, Standing};
use super::kill;
use super::look::{DriveError, Look, Trouble};
use super::refunds::{LONGEST_WAIT_MS, rest_with_what_is_left};
use super::rows::{AFTER_HOLD_MS, order_of};
use super::sagas::Sagas;
use super::steps;
use onrush_base::metrics::count;
use onrush_core::hold::{HoldState, OnDecline};
use onrush_core::ids::BookingId;
use onrush_core::saga::{Outcome, Stage, Todo, todo};
use onrush_core::view::HoldView;
use onrush_core::{Command, Time};
use onrush_ledger::LedgerError;
use onrush_ledger::money::{Payment, RefundCause};
use onrush_ledger::saga::{SagaRecord, UNDER_WAY, UNDER_WAY_UNWANTED, declined};
use onrush_store::{Ask, Failure};
use smallvec::SmallVec;
use std::time::{Duration, Instant};
use tracing::Instrument;

/// More steps than any saga has in one go: only a fault of ours takes as many.
const MOST_STEPS: u32 = 32;
/// How long a saga waits at most until it asks an engine again that was away.
pub(super) const LONGEST_ENGINE_PAUSE_MS: i64 = 30_000;
/// What it says of a payment that had ended after its hold.
const NO_HOLD: &str = "there is no hold any more";
/// How the reason begins for which money goes back that bought nothing.
const UNCONFIRMED: &str = "the booking cannot be confirmed";

impl Sagas {
    /// Drives a saga until nothing is to be done now. `woken` looks also at what only waits for others.
    pub(super) async fn drive(
        &self,
        booking: &BookingId,
        woken: bool,
    ) -> Result<SagaRecord, DriveError> {
        let _held = self.locks.hold(booking).await;
        let record = self.ledger.saga_record(booking).await?.ok_or(DriveError::NoSaga)?;
        self.drive_on(record, woken).await
    }

    /// The same for a record that was just read, by whoever holds its lock.
    pub(super) async fn drive_on(
        &self,
        mut record: SagaRecord,
        mut woken: bool,
    ) -> Result<SagaRecord, DriveError> {
        for _ in 0..MOST_STEPS {
            if record.saga.stuck.is_some() {
                return Ok(record);
            }
            let (todo, begun) = (todo(record.position()), Instant::now());
            let span = steps::span(&record, todo);
            let look = self.find_work(&record, woken).instrument(span.clone()).await;
            let (mut draft, more, ask) = match look {
                // Whoever was not woken has not asked the gateway: what is due stays due.
                Ok(Look::Rest) if woken && self.is_due(&record) => {
                    (self.at_rest(&record), false, false)
                }
                Ok(Look::Rest) => return Ok(record),
                Ok(Look::Write(draft)) => (draft, true, false),
                Ok(Look::WriteAndAsk(draft)) => (draft, true, true),
                Ok(Look::WriteAndRest(draft)) => (draft, false, false),
                Err(Trouble::Later(why) | Trouble::Until(_, why) | Trouble::NoEngine(why))
                    if !self.is_its_turn(&record) =>
                {
                    // Only attempts in their own time count: whoever asks in between uses up
                    // nobody's patience.
                    tracing::debug!(booking = %record.saga.booking, %why, "asked in between, in vain");
                    return Ok(record);
                }
                Err(trouble) => (self.in_vain(&record, trouble).await?, false, false),
            };
            if !more {
                rest_with_what_is_left(&mut draft);
            }
            match self.write(draft).instrument(span.clone()).await {
                Ok(written) => {
                    self.steps.note(todo, begun.elapsed());
                    steps::came_to(&span, &written);
                    record = written;
                    woken = ask;
                    if !more {
                        return Ok(record);
                    }
                }
                Err(LedgerError::Conflict) => {
                    let booking = record.saga.booking.clone();
                    record = self.ledger.saga_record(&booking).await?.ok_or(DriveError::NoSaga)?;
                    // The feed had it woken meanwhile, which what is written next would undo.
                    woken = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
        tracing::error!(booking = %record.saga.booking, "a saga does not come to rest");
        Ok(record)
    }

    fn is_due(&self, record: &SagaRecord) -> bool {
        record.saga.next_at.is_some_and(|next_at| next_at <= self.now())
    }

    /// Whether the pause after the last failure is over, if there was one.
    pub(super) fn is_its_turn(&self, record: &SagaRecord) -> bool {
        let is_over = record.saga.next_at.is_none_or(|next_at| next_at <= self.now());
        record.saga.tries == 0 || is_over
    }

    /// Nothing is to be done although it was due: nobody needs to look again.
    fn at_rest(&self, record: &SagaRecord) -> Draft {
        let mut draft = self.draft(record);
        draft.note("looked at; nothing is to be done");
        draft
    }

    /// Writes a draft down, durably.
    pub(super) async fn write(&self, mut draft: Draft) -> Result<SagaRecord, LedgerError> {
        if draft.record().strays().next().is_some() && draft.record().saga.next_at.is_none() {
            draft.next_at(Some(self.now().plus_ms(self.patience.abandoned_after_ms)));
        }
        let gets_stuck = draft.gets_stuck();
        let stages: SmallVec<[Stage; 2]> = draft.new_stages().collect();
        let (transition, record) = draft.finish();
        let has_messages = !transition.messages.is_empty();
        let position = record.position();
        kill::point("before", position);
        let next_at = record.saga.next_at;
        self.advance_and_tell_clerk(transition).await?;
        kill::point("after", position);
        if has_messages {
            self.told.notify_one();
        }
        self.counts.add(&stages);
        if gets_stuck {
            count(&self.counts.stuck);
            let (booking, why) = (&record.saga.booking, record.saga.stuck.as_deref().unwrap_or(""));
            tracing::warn!(%booking, why, "a saga is stuck: see /api/v1/admin/sagas?stuck=true");
        }
        if let Some(next_at) = next_at {
            self.due_at(next_at);
        }
        Ok(record)
    }

    pub(super) fn draft(&self, record: &SagaRecord) -> Draft {
        let mut draft = Draft::of(record, self.now());
        draft.next_at(None);
        draft
    }

    /// A draft whose next step is taken at once, and by recovery if this process dies before.
    pub(super) fn moving(&self, record: &SagaRecord) -> Draft {
        let mut draft = Draft::of(record, self.now());
        draft.next_at(Some(self.now().plus_ms(self.patience.abandoned_after_ms)));
        draft
    }

    /// What is written of a look that came to nothing. However often an engine is asked while it is
    /// away, the history has one line of that.
    async fn in_vain(&self, record: &SagaRecord, trouble: Trouble) -> Result<Draft, LedgerError> {
        let was_in_vain = record.saga.tries > 0;
        let may_be_known = was_in_vain && matches!(trouble, Trouble::NoEngine(_));
        let mut draft = self.troubled(record, trouble);
        if may_be_known {
            let history = self.ledger.history(&record.saga.booking).await?;
            if let Some(last) = history.last() {
                draft.say_no_more_than(&last.note);
            }
        }
        Ok(draft)
    }

    fn troubled(&self, record: &SagaRecord, trouble: Trouble) -> Draft {
        let mut draft = self.draft(record);
        let tries = trouble.tries(record.saga.tries);
        draft.tries(tries);
        match trouble {
            Trouble::Later(why) if tries < self.patience.tries => {
                draft.note(&why);
                draft.next_at(Some(self.now().plus_ms(self.pause_ms(tries))));
            }
            Trouble::Until(at, why) => {
                draft.note(&why);
                let pause_ms = at.since_ms(self.now()).min(LONGEST_WAIT_MS);
                let pause_ms = pause_ms.max(self.patience.longest_pause_ms);
                draft.next_at(Some(self.now().plus_ms(pause_ms)));
            }
            Trouble::NoEngine(why) => {
                draft.note(&why);
                draft.next_at(Some(self.now().plus_ms(self.engine_pause_ms(record))));
            }
            Trouble::Later(why) | Trouble::Stuck(why) => {
                draft.note(&why);
                draft.stuck(Some(&why));
            }
        }
        draft
    }

    /// Twice as long after each failure, and up to half of it left to chance, so that not all come at once.
    fn pause_ms(&self, tries: u32) -> i64 {
        let doubled = self.patience.first_pause_ms.saturating_mul(1 << (tries - 1).min(30));
        by_chance(doubled.min(self.patience.longest_pause_ms))
    }

    /// About twice as long as the last pause. Nothing counts how often an engine was away, and nothing
    /// has to: the row says how long that was. What is held and paid for ends while it waits, so this
    /// one never gets long.
    fn engine_pause_ms(&self, record: &SagaRecord) -> i64 {
        let SagaRecord { saga, .. } = record;
        let last = saga.next_at.filter(|_| saga.tries > 0);
        let last_ms = last.map_or(0, |next_at| next_at.since_ms(saga.updated_at));
        let doubled = last_ms.saturating_mul(2).max(self.patience.first_pause_ms);
        by_chance(doubled.min(self.patience.longest_pause_ms).min(LONGEST_ENGINE_PAUSE_MS))
    }

    pub(super) async fn look_at(&self, record: &SagaRecord, woken: bool) -> Result<Look, Trouble> {
        let position = record.position();
        match todo(position) {
            Todo::Rest => Ok(Look::Rest),
            Todo::AskHold if woken => self.ask_hold(record).await,
            Todo::Watch if woken => self.watch(record).await,
            Todo::AskHold | Todo::Watch => Ok(Look::Rest),
            Todo::Create => self.create(record, woken).await,
            Todo::NameCard => self.name_card(record).await,
            Todo::Capture => self.capture(record).await,
            Todo::Cancel => self.cancel(record).await,
            Todo::TellFailed => self.tell_failed(record).await,
            Todo::Confirm => self.confirm(record).await,
            Todo::Refund => self.look_at_refunds(record).await,
            Todo::TellRefunded => self.tell_refunded(record).await,
        }
    }

    /// The present payment; a saga at a step that has one has it.
    pub(super) fn present(record: &SagaRecord) -> Result<&Payment, Trouble> {
        record.present().ok_or_else(|| Trouble::Stuck("the saga's payment is missing".into()))
    }

    async fn watch(&self, record: &SagaRecord) -> Result<Look, Trouble> {
        let payment = Self::present(record)?;
        let Some(until) = self.waits_until(record, &payment.payment).await? else {
            return self.unwanted(record, NOT_AWAITED, "timeout");
        };
        let order = order_of(&record.saga, payment);
        let standing = self.asked(payment, |gateway| gateway.status(&order)).await?;
        self.heard(record, standing, until)
    }

    async fn create(&self, record: &SagaRecord, woken: bool) -> Result<Look, Trouble> {
        let payment = Self::present(record)?;
        // The one who just began it knows that the hold waits.
        let until = if woken || record.saga.tries > 0 {
            self.waits_until(record, &payment.payment).await?
        } else {
            Some(self.now().plus_ms(self.patience.ask_after_ms))
        };
        let Some(until) = until else {
            return self.unwanted(record, NOT_AWAITED, "timeout");
        };
        let description = self.title(&record.saga.event).await?;
        let order = Order { description, ..order_of(&record.saga, payment) };
        match self.asked(payment, |gateway| gateway.create(&order)).await {
            Ok(standing) => self.heard(record, standing, until),
            Err(GatewayError::Refused(why)) => {
                let mut draft = self.moving(record);
                draft.advance(Outcome::PaymentUnwanted, &format!("the gateway refuses: {why}"))?;
                draft.present(|row| row.why = Some(why));
                Ok(Look::Write(draft))
            }
            Err(error @ (GatewayError::Unavailable(_) | GatewayError::UnknownRefund(_))) => {
                Err(error.into())
            }
        }
    }

    /// What the gateway says of the present payment, while the hold waits for it.
    fn heard(&self, record: &SagaRecord, standing: Standing, until: Time) -> Result<Look, Trouble> {
        let mut draft = self.moving(record);
        match standing {
            Standing::Open { reference, url, client_secret } => {
                draft.advance(Outcome::PaymentOpen, "the gateway waits for the buyer")?;
                draft.present(|row| {
                    row.reference = Some(reference);
                    row.url = url;
                    row.client_secret = client_secret;
                });
                let ask_at = self.now().plus_ms(self.patience.ask_after_ms);
                draft.next_at(Some(ask_at.min(until.plus_ms(AFTER_HOLD_MS))));
                Ok(Look::WriteAndRest(draft))
            }
            Standing::Processing { reference } => {
                draft.advance(Outcome::PaymentOpen, UNDER_WAY)?;
                draft.present(|row| row.reference = Some(reference));
                let ask_at = self.now().plus_ms(self.patience.ask_after_ms);
                draft.next_at(Some(ask_at.min(until.plus_ms(AFTER_HOLD_MS))));
                Ok(Look::WriteAndRest(draft))
            }
            Standing::Authorised { reference, .. } => self.authorised(record, reference),
            Standing::Captured { .. } => self.captured(record, standing),
            Standing::Declined { reference, why } => {
                draft.advance(Outcome::PaymentUnwanted, &declined(&why))?;
                draft.present(|row| (row.reference, row.why) = (Some(reference), Some(why)));
                Ok(Look::Write(draft))
            }
            Standing::Cancelled { why, .. } => self.set_free(record, why),
            Standing::Unknown => {
                draft.advance(Outcome::PaymentUnwanted, "the gateway knows no such payment")?;
                Ok(Look::Write(draft))
            }
        }
    }

    async fn cancel(&self, record: &SagaRecord) -> Result<Look, Trouble> {
        let payment = Self::present(record)?;
        let mut order = order_of(&record.saga, payment);
        if payment.reference.is_none() {
            // A gateway may create it under its key to cancel it: then all of it is as it was.
            order.description = match self.title(&record.saga.event).await {
                Ok(title) => title,
                Err(Failure::Refused(_)) => order.description,
                Err(failure) => return Err(failure.into()),
            };
        }
        match self.asked(payment, |gateway| gateway.cancel(&order)).await? {
            standing @ Standing::Captured { .. } => self.captured(record, standing),
            Standing::Cancelled { why, .. } => {
                let mut draft = self.moving(record);
                draft.advance(Outcome::PaymentClosed, "the gateway will take no money")?;
                draft.present(|row| {
                    row.why.get_or_insert(why);
                });
                Ok(Look::Write(draft))
            }
            // Nothing is wrong: a debit takes days, and nobody can hurry it. The gateway tells when
            // it knows, and is asked now and then in case that is lost.
            Standing::Processing { reference } => {
                let mut draft = self.draft(record);
                draft.tries(0);
                draft.present(|row| row.reference = Some(reference));
                draft.note(UNDER_WAY_UNWANTED);
                draft.next_at(Some(self.now().plus_ms(self.patience.ask_after_ms)));
                Ok(Look::WriteAndRest(draft))
            }
            Standing::Open { .. }
            | Standing::Authorised { .. }
            | Standing::Declined { .. }
            | Standing::Unknown => {
                Err(Trouble::Later("the gateway has not cancelled the payment".into()))
            }
        }
    }

    async fn tell_failed(&self, record: &SagaRecord) -> Result<Look, Trouble> {
        let payment = Self::present(record)?;
        let why = payment.why.clone().unwrap_or_else(|| "cancelled".into());
        let told = self.fail_in_engine(record, payment, &why, payment.on_decline).await?;
        let state = match told {
            Some(view) => Some(view.state),
            None => self.hold(record).await?.map(|view| view.state),
        };
        let mut draft = self.draft(record);
        match &state {
            Some(HoldState::Held { until }) => {
                draft.advance(Outcome::HoldKept, "the hold waits for another payment")?;
                draft.next_at(Some(until.plus_ms(AFTER_HOLD_MS)));
            }
            Some(HoldState::Released { .. } | HoldState::Expired { payment: None, .. }) => {
                draft.advance(Outcome::HoldGone, NO_HOLD)?;
            }
            Some(HoldState::Cancelled { .. }) | None
                if self.lost_payment(record, state.as_ref()).await?.is_none() =>
            {
                draft.advance(Outcome::HoldGone, NO_HOLD)?;
            }
            // The engine was told before, and that could not be written down; the next payment runs
            // already. Nobody else is about to write that one down: who begins a payment keeps
            // others out until it is.
            Some(
                HoldState::Paying { .. }
                | HoldState::Confirmed { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. },
            )
            | None => {
                let mut draft = self.moving(record);
                draft.advance(Outcome::HoldKept, "the booking goes on with another payment")?;
                return Ok(Look::WriteAndAsk(draft));
            }
        }
        Ok(Look::WriteAndRest(draft))
    }

    /// Tells the engine that a payment ended without money for us; `None` if it does not wait for that one.
    pub(super) async fn fail_in_engine(
        &self,
        record: &SagaRecord,
        payment: &Payment,
        why: &str,
        then: OnDecline,
    ) -> Result<Option<HoldView>, Trouble> {
        let command = Command::FailPayment {
            booking: record.saga.booking.clone(),
            payment: payment.payment.clone(),
            why: why.chars().take(500).collect::<String>().into(),
            then,
        };
        match self.engine.run(record.saga.event.clone(), command).await {
            Ok(answer) => Ok(Some(answer.value)),
            Err(Failure::Refused(_)) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn confirm(&self, record: &SagaRecord) -> Result<Look, Trouble> {
        let payment = Self::present(record)?;
        let command = Command::Confirm {
            booking: record.saga.booking.clone(),
            user: record.saga.user.clone(),
            payment: Some(payment.payment.clone()),
        };
        match self.engine.execute(record.saga.event.clone(), command).await {
            Ok(_) => {
                let mut draft = self.draft(record);
                draft.advance(Outcome::HoldConfirmed, "the booking is confirmed")?;
                Ok(Look::WriteAndRest(draft))
            }
            Err(Failure::Refused(_)) if self.had_confirmed(record, payment).await? => {
                // What goes back if it was cancelled since is the cancellation's to say.
                let mut draft = self.moving(record);
                draft.advance(Outcome::HoldConfirmed, "the booking had been confirmed")?;
                Ok(Look::WriteAndAsk(draft))
            }
            Err(Failure::Refused(refusal)) => {
                let why = format!("{UNCONFIRMED}: {}", refusal.code());
                let (outcome, cause) = (Outcome::ConfirmRefused, RefundCause::Unconfirmed);
                self.give_back(record, payment.captured_minor, outcome, cause, &why)
            }
            Err(failure) => Err(failure.into()),
        }
    }

    /// Asks the gateway something about a payment, for as long as patience lasts. Only the one that a
    /// payment was begun with knows of it: what another said would be that there is no such thing.
    pub(super) async fn asked<'a, T>(
        &'a self,
        about: &Payment,
        ask: impl FnOnce(&'a dyn super::gateway::Gateway) -> super::gateway::Answer<'a, T>,
    ) -> Result<T, GatewayError> {
        let Some(gateway) = &self.gateway else {
            return Err(GatewayError::Unavailable("no payment gateway is configured".into()));
        };
        if gateway.name() != about.gateway {
            let (own, other) = (gateway.name(), &about.gateway);
            let why = format!(
                "the payment is {other}'s, and the gateway is {own} now; set gateway = \"{other}\" again"
            );
            return Err(GatewayError::Unavailable(why.into()));
        }
        let patience = Duration::from_millis(self.patience.gateway_timeout_ms);
        match tokio::time::timeout(patience, ask(&**gateway)).await {
            Ok(answer) => answer,
            Err(_) => Err(GatewayError::Unavailable("no answer in time".into())),
        }
    }
}

/// Up to half of a pause is left to chance, so that not all come at once.
fn by_chance(longest_ms: i64) -> i64 {
    let longest_ms = longest_ms.max(1);
    let chance = i64::from(onrush_base::auth::random::<1>()[0]);
    longest_ms - longest_ms * chance / 512
}
