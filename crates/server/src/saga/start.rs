//! A buyer wants to pay.

use super::Sagas;
use super::draft::Draft;
use super::driver::DriveError;
use super::rows::{payment_of_saga, saga_of_hold};
use onrush_core::booking::{Stage, Step};
use onrush_core::hold::{HoldState, OnDecline};
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::money::Currency;
use onrush_core::settings::Settings;
use onrush_core::view::HoldView;
use onrush_core::{Command, Query, Reply, Time, View};
use onrush_ledger::LedgerError;
use onrush_ledger::booking::Buyer;
use onrush_ledger::money::Payment;
use onrush_ledger::saga::File;
use onrush_store::Failure;

/// What a buyer wants.
pub struct Wish {
    /// The booking.
    pub booking: BookingId,
    /// Its event.
    pub event: EventId,
    /// Who wants it.
    pub user: UserId,
    /// Who pays, as tickets and mail name him.
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
    /// The engine says no, or nothing.
    Engine(Failure),
    /// The ledger failed.
    Ledger(LedgerError),
    /// The gateway does not answer. The payment is tried again under the same key.
    GatewayUnavailable(String),
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
    /// Begins a payment, or finds the one that runs (S3.5).
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(&self, wish: Wish) -> Result<Started, StartError> {
        let gateway = self.gateway.as_ref().ok_or(StartError::Off)?;
        let Wish { booking, event, user, buyer, on_decline } = wish;
        let fresh = fresh_payment(&booking);
        let begin = Command::BeginPayment {
            booking: booking.clone(),
            user: user.clone(),
            payment: fresh.clone(),
        };
        // Held from here on: nobody else shall find the payment begun and not written down.
        let _held = self.locks.hold(&booking).await;
        let answer = self.engine.execute(event.clone(), begin).await?;
        let (view, payment, until) = paying(answer.value)?;
        let mut file = match self.ledger.file(&booking).await? {
            Some(file) => file,
            None => self.open_file(&event, &view, until).await?,
        };
        let mut existed = payment != fresh;
        if file.saga.payment.as_ref() != Some(&payment)
            && file.payments.iter().any(|row| row.payment == payment)
        {
            // It ended while this request waited its turn, and another one may run by now.
            return started(file, &payment, until, true);
        }
        while file.saga.payment.as_ref() != Some(&payment) {
            existed = false;
            let at = self.now();
            let mut draft = Draft::of(&file, at);
            let row = payment_of_saga(&file.saga, &payment, gateway.name(), on_decline, at);
            if let Err(illegal) = draft.begin_payment(row, "the buyer wants to pay") {
                tracing::error!(%booking, %illegal, "a payment cannot begin");
                // The engine must not wait for it.
                let why: Box<str> = "the saga has ended".into();
                let then = OnDecline::Release;
                let fail = Command::FailPayment { booking, payment, why, then };
                self.engine.execute(event, fail).await?;
                return Err(StartError::Stuck);
            }
            draft.buyer(buyer.clone());
            draft.next_at(Some(at.plus_ms(self.patience.abandoned_after_ms)));
            file = match self.write(draft).await {
                Ok(file) => file,
                // The feed's follower wrote first.
                Err(LedgerError::Conflict) => {
                    self.ledger.file(&booking).await?.ok_or(DriveError::NoSaga)?
                }
                Err(error) => return Err(error.into()),
            };
        }
        if let Some(buyer) = buyer.filter(|_| existed)
            && self.ledger.buyer(&booking).await?.is_none()
        {
            // Recovery wrote the payment down, and could not know who pays.
            self.ledger.set_buyer(&booking, buyer).await?;
        }
        let file = self.drive_on(file, false).await?;
        started(file, &payment, until, existed)
    }

    /// A booking whose saga the follower has not written yet.
    async fn open_file(
        &self,
        event: &EventId,
        view: &HoldView,
        until: Time,
    ) -> Result<File, StartError> {
        let currency = self.currency(event).await?;
        let mut saga = saga_of_hold(event, &view.terms, currency, until);
        saga.version = 0;
        Ok(File { saga, payments: Vec::new(), refunds: Vec::new() })
    }

    /// The currency of an event's prices.
    pub(super) async fn currency(&self, event: &EventId) -> Result<Currency, Failure> {
        Ok(self.settings(event).await?.currency)
    }

    /// What buyers read about what they pay for: the event's title.
    pub(super) async fn title(&self, event: &EventId) -> Result<String, Failure> {
        Ok(self.settings(event).await?.title.into())
    }

    async fn settings(&self, event: &EventId) -> Result<Settings, Failure> {
        match self.engine.query(event.clone(), Query::Event).await?.value {
            View::Event(view) => Ok(view.settings),
            View::Availability(_)
            | View::Seats(_)
            | View::Place(_)
            | View::Booking(_)
            | View::Bookings(_)
            | View::Claim(_) => Err(Failure::Stopped),
        }
    }
}

/// The booking's id and 12 digits that nobody can guess: it leads back to the booking without an index.
fn fresh_payment(booking: &BookingId) -> PaymentId {
    let digits = crate::auth::hex(&crate::auth::random::<6>());
    format!("{booking}.{digits}").parse().expect("a booking id, a dot and 12 digits are an id")
}

/// The payment that runs, and until when the hold waits for it.
fn paying(reply: Reply) -> Result<(HoldView, PaymentId, Time), StartError> {
    if let Reply::Hold(view) = reply
        && let HoldState::Paying { until, payment, .. } = &view.state
    {
        let (payment, until) = (payment.clone(), *until);
        return Ok((view, payment, until));
    }
    Err(StartError::Engine(Failure::Stopped))
}

fn started(
    file: File,
    payment: &PaymentId,
    until: Time,
    existed: bool,
) -> Result<Started, StartError> {
    let row = file.payments.iter().find(|row| row.payment == *payment);
    let Some(payment) = row.cloned() else { return Err(StartError::Stuck) };
    if file.saga.stuck.is_some() {
        return Err(StartError::Stuck);
    }
    match payment.stage {
        Stage::Creating => Err(StartError::GatewayUnavailable("no answer yet".into())),
        Stage::Closing | Stage::Closed | Stage::Void => {
            Err(StartError::GatewayRefused(payment.why.unwrap_or_default()))
        }
        Stage::Open | Stage::Captured | Stage::Refunding | Stage::Returned | Stage::Refunded => {
            Ok(Started { payment, step: file.saga.step, until, existed })
        }
    }
}
