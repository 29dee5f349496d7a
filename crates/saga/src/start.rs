//! A buyer wants to pay.

use super::draft::Draft;
use super::look::DriveError;
use super::payers::Begins;
use super::rows::{AFTER_HOLD_MS, booking_of_hold, payment_of_saga};
use super::sagas::Sagas;
use onrush_core::hold::{HoldState, OnDecline};
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::limits::MAX_TEXT_CHARS;
use onrush_core::money::Currency;
use onrush_core::question::{BookingOf, EventNow};
use onrush_core::saga::{Position, Stage, Step};
use onrush_core::settings::Settings;
use onrush_core::view::HoldView;
use onrush_core::{Command, Refusal, Time};
use onrush_ledger::LedgerError;
use onrush_ledger::booking::{Buyer, Correction};
use onrush_ledger::money::Payment;
use onrush_ledger::saga::{Saga, SagaRecord};
use onrush_store::{Ask, Failure};

/// Payments that have ended and are met one after the other by one request, at most.
const ROUNDS: usize = 3;
/// Why a payment cannot begin while the last one has not ended.
const CALLING_OFF: &str = "the last payment is still being called off";
/// The shortest time after which to ask again.
const SOON_MS: u32 = 500;
/// Where a saga stands whose hold waits for another payment.
const KEPT: Position = Position { step: Step::ReserveOk, stage: Some(Stage::Void) };

/// What a buyer wants.
pub struct PaymentRequest {
    /// The booking.
    pub booking: BookingId,
    /// Its event.
    pub event: EventId,
    /// Who wants it.
    pub user: UserId,
    /// Who pays, as tickets and mail name them.
    pub buyer: Option<Buyer>,
    /// What a decline does to the hold.
    pub on_decline: OnDecline,
}

/// A payment that runs.
pub struct Started {
    /// It.
    pub payment: Payment,
    /// The booking's saga.
    pub step: Step,
    /// Until when the hold waits for it.
    pub until: Time,
    /// Whether it had been begun before.
    pub existed: bool,
}

/// Why no payment runs.
#[derive(Debug)]
pub enum StartError {
    /// No gateway is configured.
    Off,
    /// The event limits what one e-mail address may have, and none was given.
    EmailWanted,
    /// The engine says no, or nothing.
    Engine(Failure),
    /// The ledger failed.
    Ledger(LedgerError),
    /// The gateway does not answer. The payment is tried again under the same key, at its own time.
    GatewayUnavailable {
        /// What is known.
        why: String,
        /// When it will have been tried again.
        retry_after_ms: u32,
    },
    /// The gateway will not have the payment.
    GatewayRefused(String),
    /// An operator has to act.
    Stuck,
}

impl From<Failure> for StartError {
    fn from(failure: Failure) -> Self {
        Self::Engine(failure)
    }
}

impl From<LedgerError> for StartError {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl From<DriveError> for StartError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Ledger(error) => Self::Ledger(error),
            DriveError::NoSaga => Self::Ledger(LedgerError::Unavailable("a saga vanished".into())),
        }
    }
}

impl Sagas {
    /// Begins a payment, or finds the one that runs.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(&self, wish: PaymentRequest) -> Result<Started, StartError> {
        let gateway = self.gateway.as_ref().ok_or(StartError::Off)?.name();
        // Held from here on: nobody else shall find the payment begun and not written down.
        let _held = self.locks.hold(&wish.booking).await;
        for _ in 0..ROUNDS {
            if let Some(started) = self.begin(&wish, gateway).await? {
                return Ok(started);
            }
        }
        let why = CALLING_OFF.into();
        Err(StartError::GatewayUnavailable { why, retry_after_ms: SOON_MS })
    }

    /// Begins a payment, or finds the one that runs; `None` if that one has ended by now and
    /// another one may begin.
    async fn begin(
        &self,
        wish: &PaymentRequest,
        gateway: &str,
    ) -> Result<Option<Started>, StartError> {
        let PaymentRequest { booking, event, user, buyer, on_decline } = wish;
        self.refuse_used_id(event, booking, user).await?;
        self.name_email(Begins::Payment, event, booking, user, buyer.as_ref()).await?;
        let fresh = fresh_payment(booking);
        let begin = Command::BeginPayment {
            booking: booking.clone(),
            user: user.clone(),
            payment: fresh.clone(),
        };
        let view: HoldView = self.engine.run(event.clone(), begin).await?.value;
        let (payment, until) = paying(&view)?;
        let mut record = match self.ledger.saga_record(booking).await? {
            Some(record) => record,
            None => self.open_record(event, &view, until).await?,
        };
        let mut existed = payment != fresh;
        let known = record.payments.iter().find(|row| row.payment == payment);
        let stage = known.map(|row| row.stage);
        if let Some(ended) = known.filter(|row| row.stage == Stage::Void) {
            // The engine has lost what it was told of its end, or has gone on since.
            let why = ended.why.as_deref().unwrap_or("cancelled");
            self.end_in_engine(event, booking, &payment, why, ended.on_decline).await?;
            return Ok(None);
        }
        if record.saga.payment.as_ref() != Some(&payment) && known.is_some() {
            // It ended while this request waited its turn, and another one may run by now.
            return self.started(record, &payment, until, true).map(Some);
        }
        let (mut is_ours, mut is_driven) = (false, false);
        while record.saga.payment.as_ref() != Some(&payment) {
            existed = false;
            let capture = self.capture_for(event).await?;
            let at = self.now();
            let mut draft = Draft::of(&record, at);
            let saga = &record.saga;
            let row = payment_of_saga(saga, &payment, gateway, capture, *on_decline, at);
            if let Err(illegal) = draft.begin_payment(row, "the buyer wants to pay") {
                if !matches!(record.saga.step, Step::Confirmed | Step::Failed) {
                    // The engine knows that the last payment has ended, and the ledger does not: it was
                    // put back from before, or whoever was to write that down died. That comes first.
                    let was_tried = record.saga.tries > 0 && !self.is_its_turn(&record);
                    if is_driven || was_tried {
                        return Err(self.ask_again(&record, CALLING_OFF));
                    }
                    is_driven = true;
                    record = self.drive_on(record, true).await?;
                    continue;
                }
                tracing::error!(%booking, %illegal, "a payment cannot begin");
                // The engine must not wait for it.
                let (why, then) = ("the saga has ended", OnDecline::Release);
                self.end_in_engine(event, booking, &payment, why, then).await?;
                return Err(StartError::Stuck);
            }
            // What an operator has to see to is another payment's, and does not keep the buyer from
            // paying: once that has ended it is looked at again.
            draft.stuck(None);
            draft.buyer(buyer.clone());
            draft.next_at(Some(at.plus_ms(self.patience.abandoned_after_ms)));
            record = match self.write(draft).await {
                Ok(record) => {
                    is_ours = true;
                    record
                }
                // The feed's follower wrote first, or another node.
                Err(LedgerError::Conflict) => {
                    self.ledger.saga_record(booking).await?.ok_or(DriveError::NoSaga)?
                }
                Err(error) => return Err(error.into()),
            };
        }
        if let Some(buyer) = buyer {
            self.name_again(booking, user, buyer, is_ours).await?;
        }
        // While the gateway is away it is asked in the saga's own time, however often the buyer asks.
        let asks_gateway = matches!(
            stage,
            Some(Stage::Creating | Stage::Authorised | Stage::Capturing | Stage::Closing)
        );
        if !(existed && asks_gateway && !self.is_its_turn(&record)) {
            record = self.drive_on(record, false).await?;
        }
        if existed && matches!(stage, Some(Stage::Closing | Stage::Closed)) {
            // Its end was decided before this request, and is no answer to it.
            if record.position() == KEPT {
                return Ok(None);
            }
            if record.saga.stuck.is_none() && record.saga.step == Step::PaymentSent {
                return Err(self.ask_again(&record, "the last payment is still being called off"));
            }
        }
        let answer = self.started(record, &payment, until, existed);
        let is_refused = matches!(&answer, Err(StartError::GatewayRefused(_)));
        // The hold may have run out while the gateway was silent: then that is why, and not the gateway.
        if is_refused && self.has_run_out(event, booking).await? {
            return Err(Failure::Refused(Refusal::HoldExpired).into());
        }
        answer.map(Some)
    }

    /// Names the buyer of a payment that is written down, with them if `is_ours`, unless they are known.
    async fn name_again(
        &self,
        booking: &BookingId,
        user: &UserId,
        buyer: &Buyer,
        is_ours: bool,
    ) -> Result<(), LedgerError> {
        let known = self.ledger.buyer(booking).await?;
        let is_wanted = match &known {
            // Recovery wrote the payment down, and could not know who pays.
            None => !is_ours,
            // A confirmation that is refused because of the payment has put back who was known before.
            Some(known) => is_ours && known.email != buyer.email,
        };
        if !is_wanted {
            return Ok(());
        }
        let (booking, user, buyer) = (booking.clone(), user.clone(), buyer.clone());
        let naming = Correction { booking, user, was: known.map(|known| known.email), buyer };
        match self.ledger.correct_buyer(naming).await {
            // Somebody has been named since.
            Ok(_) | Err(LedgerError::Conflict) => Ok(()),
            Err(error @ LedgerError::Unavailable(_)) => Err(error),
        }
    }

    async fn has_run_out(&self, event: &EventId, booking: &BookingId) -> Result<bool, Failure> {
        let anyones = BookingOf { booking: booking.clone(), user: None };
        let answer = self.engine.ask(event.clone(), anyones).await?;
        Ok(match &answer.value.state {
            HoldState::Expired { .. } => true,
            HoldState::Held { until } | HoldState::Paying { until, .. } => *until <= answer.at,
            HoldState::Confirmed { .. }
            | HoldState::Released { .. }
            | HoldState::Cancelled { .. } => false,
        })
    }

    /// Has the engine wait for a payment no longer, if it does.
    async fn end_in_engine(
        &self,
        event: &EventId,
        booking: &BookingId,
        payment: &PaymentId,
        why: &str,
        then: OnDecline,
    ) -> Result<(), StartError> {
        let why = why.chars().take(MAX_TEXT_CHARS).collect::<String>().into();
        let (booking, payment) = (booking.clone(), payment.clone());
        let fail = Command::FailPayment { booking, payment, why, then };
        match self.engine.execute(event.clone(), fail).await {
            // Refused: it does not wait for it.
            Ok(_) | Err(Failure::Refused(_)) => Ok(()),
            Err(failure) => Err(failure.into()),
        }
    }

    /// What is answered about a payment that was found or begun.
    fn started(
        &self,
        record: SagaRecord,
        payment: &PaymentId,
        until: Time,
        existed: bool,
    ) -> Result<Started, StartError> {
        let row = record.payments.iter().find(|row| row.payment == *payment);
        let Some(payment) = row.cloned() else { return Err(StartError::Stuck) };
        if record.saga.stuck.is_some() {
            return Err(StartError::Stuck);
        }
        match payment.stage {
            Stage::Creating => Err(self.ask_again(&record, "no answer yet")),
            Stage::Closing | Stage::Closed | Stage::Void => {
                Err(StartError::GatewayRefused(payment.why.unwrap_or_default()))
            }
            Stage::Open
            | Stage::Authorised
            | Stage::Capturing
            | Stage::Captured
            | Stage::Refunding
            | Stage::Returned
            | Stage::Refunded => Ok(Started { payment, step: record.saga.step, until, existed }),
        }
    }

    /// The buyer is to ask again once the saga has had its turn.
    fn ask_again(&self, record: &SagaRecord, why: &str) -> StartError {
        let pause_ms = record.saga.next_at.map_or(0, |at| at.since_ms(self.now()));
        let retry_after_ms = u32::try_from(pause_ms).unwrap_or(0).max(SOON_MS);
        StartError::GatewayUnavailable { why: why.into(), retry_after_ms }
    }

    /// A booking without a saga: nobody has tried to pay for it, as far as the ledger knows.
    async fn open_record(
        &self,
        event: &EventId,
        view: &HoldView,
        until: Time,
    ) -> Result<SagaRecord, StartError> {
        let currency = self.currency(event).await?;
        let booking = booking_of_hold(event, &view.terms, currency, view.terms.created_at);
        let next_at = Some(until.plus_ms(AFTER_HOLD_MS));
        let saga = Saga { version: 0, next_at, ..Saga::of_booking(&booking) };
        Ok(SagaRecord { saga, payments: Vec::new(), refunds: Vec::new() })
    }

    /// The currency of an event's prices.
    pub(super) async fn currency(&self, event: &EventId) -> Result<Currency, Failure> {
        Ok(self.settings(event).await?.currency)
    }

    /// What buyers read about what they pay for: the event's title.
    pub(super) async fn title(&self, event: &EventId) -> Result<String, Failure> {
        Ok(self.settings(event).await?.title.into())
    }

    pub(super) async fn settings(&self, event: &EventId) -> Result<Settings, Failure> {
        Ok(self.engine.ask(event.clone(), EventNow).await?.value.settings)
    }
}

/// The booking's id and 12 digits that nobody can guess: it leads back to the booking without an index.
fn fresh_payment(booking: &BookingId) -> PaymentId {
    let digits = onrush_base::auth::hex(&onrush_base::auth::random::<6>());
    format!("{booking}.{digits}").parse().expect("a booking id, a dot and 12 digits are an id")
}

/// The payment that runs, and until when the hold waits for it.
fn paying(view: &HoldView) -> Result<(PaymentId, Time), StartError> {
    if let HoldState::Paying { until, payment, .. } = &view.state {
        return Ok((payment.clone(), *until));
    }
    Err(StartError::Engine(Failure::Stopped))
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
