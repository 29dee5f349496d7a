//! Confirming a booking for a buyer, who is named before, while others may name another one.

use crate::http::problem::{Code, Problem};
use crate::http::state::Sale;
use onrush_base::auth::random;
use onrush_base::spans;
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::question::BookingOf;
use onrush_core::view::HoldView;
use onrush_core::{Command, Refusal};
use onrush_ledger::booking::{Buyer, Correction};
use onrush_ledger::{Ledger, LedgerError};
use onrush_relay::Relay;
use onrush_relay::messages::confirmed_again;
use onrush_store::{Answer, Ask, Engine, Failure};
use std::sync::Arc;

/// How often a buyer is named for one confirmation, while others name another one.
const ROUNDS: usize = 3;

/// Who confirms.
pub(super) enum By {
    /// Whose booking it is.
    Visitor,
    /// Whoever took the money.
    BoxOffice,
}

/// What is to be confirmed.
pub(super) struct Confirming {
    pub(super) event: EventId,
    pub(super) booking: BookingId,
    pub(super) user: UserId,
    pub(super) payment: Option<PaymentId>,
    pub(super) by: By,
}

impl Confirming {
    fn command(&self) -> Command {
        let Self { booking, user, payment, .. } = self;
        Command::Confirm { booking: booking.clone(), user: user.clone(), payment: payment.clone() }
    }

    async fn run(&self, engine: &dyn Engine) -> Result<Answer<HoldView>, Failure> {
        engine.run(self.event.clone(), self.command()).await
    }

    /// The booking as it is now, whoever's it is.
    async fn look(&self, engine: &dyn Engine) -> Result<Answer<HoldView>, Failure> {
        let anyones = BookingOf { booking: self.booking.clone(), user: None };
        engine.ask(self.event.clone(), anyones).await
    }

    /// Where it stands; `None` if there is no such booking.
    async fn state(&self, engine: &dyn Engine) -> Result<Option<HoldState>, Failure> {
        match self.look(engine).await {
            Ok(answer) => Ok(Some(answer.value.state)),
            Err(Failure::Refused(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Whether a booking that stands here and that this did not confirm is somebody else's: who confirmed
    /// it, or whose payment runs, or may have its money still.
    fn is_anothers(&self, state: &HoldState) -> bool {
        match state {
            HoldState::Confirmed { .. } | HoldState::Cancelled { .. } => true,
            HoldState::Paying { payment: running, .. }
            | HoldState::Expired { payment: Some(running), .. } => {
                self.payment.as_ref() != Some(running)
            }
            HoldState::Held { .. }
            | HoldState::Released { .. }
            | HoldState::Expired { payment: None, .. } => false,
        }
    }

    /// Whether the buyer whom this has named in vain, in the place of the one of `before`, stays with a
    /// booking that stands here: it is somebody else's, who may have named the same one. A payment may have
    /// named nobody, and names its own again: it gets the one of before back, if that has another address.
    fn stays(&self, state: &HoldState, named: &Buyer, before: Option<&Buyer>) -> bool {
        let is_other = before.is_some_and(|before| before.email != named.email);
        self.is_anothers(state) && !(is_other && payer_of(state).is_some())
    }

    /// A buyer in the place of who is known.
    fn correction(&self, known: Option<&Buyer>, buyer: Buyer) -> Correction {
        let was = known.map(|known| known.email.clone());
        Correction { booking: self.booking.clone(), user: self.user.clone(), was, buyer }
    }

    /// Refuses another buyer for what is confirmed already: whoever is its buyer gets its mail, and
    /// with it its tickets. The box office names them with what it confirms. Whoever asks for their own
    /// booking again did not hear the answer, and somebody may have corrected them since.
    fn refuse_other(&self, known: Option<&Buyer>, buyer: &Buyer) -> Result<(), Problem> {
        match self.by {
            By::BoxOffice if known != Some(buyer) => {
                let why = "the booking is confirmed already; who may correct its buyer has the scope \
                    money: PUT /api/v1/admin/bookings/{booking}/buyer";
                Err(Problem::from(Refusal::AlreadyConfirmed).saying(why))
            }
            By::BoxOffice | By::Visitor => Ok(()),
        }
    }
}

/// Confirms a booking for a buyer. The buyer is written down first: the mail goes out as soon as
/// the booking is confirmed. If nothing comes of it, it is as if nobody had been named.
///
/// # Errors
/// Whatever the engine or the ledger says.
pub(super) async fn confirm_for(
    sale: Arc<Sale>,
    ledger: Arc<dyn Ledger>,
    relay: Arc<Relay>,
    asked: Confirming,
    buyer: Option<Buyer>,
) -> Result<HoldView, Problem> {
    let Some(buyer) = buyer else { return Ok(sale.run(&asked.event, asked.command()).await?) };
    let work = async move { confirm_named(&*sale.engine, &*ledger, &relay, &asked, &buyer).await };
    // A caller who hangs up must not stop it half-way.
    match tokio::spawn(spans::carried(work)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Problem::new(Code::Internal, "the confirmation broke off; look again")),
    }
}

/// Confirms a booking for a buyer, and sees to it afterwards that it has the right one, whoever else has
/// named somebody meanwhile. Each confirmation that is made looks who is known after that, and each that is
/// refused looks where the booking stands before it takes anybody back, and once more.
///
/// | this confirmation | what it finds then | the buyer whom it named |
/// |---|---|---|
/// | is made | another buyer, or none although others had named this one first | is named again |
/// | had been made before, with the same payment | – | stays as it is then |
/// | is made | none, and it was the first to name this one, who asked to be forgotten | is not |
/// | is refused | somebody else has confirmed it, perhaps for the same buyer | stays |
/// | is refused | somebody else pays, and another address was known | makes way for that |
/// | is refused | somebody else pays, perhaps for the same buyer, and no other address was known | stays |
/// | is refused | nobody has | makes way for who was known, or for nobody |
/// | may have been made | – | stays |
///
/// One that is refused does not make way for the buyer of what is confirmed, of whom it cannot know whether
/// it is the one whom it named. That is left to the confirmation that was made, which sees whoever was named
/// before it looks. Who is named after that, by one that had seen the booking held, stays.
///
/// Where naming again changes whom the mail of a paid booking goes to, that is sent once more.
async fn confirm_named(
    engine: &dyn Engine,
    ledger: &dyn Ledger,
    relay: &Relay,
    asked: &Confirming,
    buyer: &Buyer,
) -> Result<HoldView, Problem> {
    for _ in 0..ROUNDS {
        // Before the booking is looked at: whoever is named from here on, also by another confirmation,
        // is not replaced by this one before it is made.
        let before = ledger.buyer(&asked.booking).await?;
        let view = asked.look(engine).await?.value;
        if matches!(view.state, HoldState::Confirmed { .. }) {
            asked.refuse_other(before.as_ref(), buyer)?;
            return Ok(asked.run(engine).await?.value);
        }
        // Else it is somebody else's by all that is known, or wants a payment that this has not: nobody is
        // named for it, unless this goes well all the same.
        let is_news = if is_for(&view, asked.payment.as_ref()) {
            let naming = asked.correction(before.as_ref(), buyer.clone());
            match ledger.correct_buyer(naming).await {
                Err(LedgerError::Conflict) => continue,
                named => named?,
            }
        } else {
            false
        };
        // Nobody else takes back whom this one was the first to name.
        let is_first = is_news && before.as_ref().is_none_or(|known| known.email != buyer.email);
        let outcome = asked.run(engine).await;
        let settled = match &outcome {
            // Who is known since then is not this one's to change.
            Ok(answer) if is_repeated(answer) => Ok(false),
            Ok(_) => name_again(ledger, asked, buyer, is_first).await.map_err(BuyerError::from),
            // What else failed may have been confirmed, and what was no news is another one's to take back.
            Err(failure) if is_news && failure.changed_nothing() => {
                restore(engine, ledger, asked, buyer, before.as_ref()).await
            }
            Err(_) => Ok(false),
        };
        let settled = match settled {
            Ok(true) => mail_again(engine, ledger, relay, asked).await,
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = settled {
            // What was done is told all the same: of a ledger that fails callers read that nothing was.
            let (booking, is_confirmed) = (&asked.booking, outcome.is_ok());
            tracing::warn!(%error, %booking, is_confirmed, "a confirmation cannot put its buyer right");
        }
        return Ok(outcome?.value);
    }
    let why =
        "others name the buyer of this booking at the same time; look who it is, and ask again";
    Err(Problem::new(Code::BuyerChanged, why))
}

/// The payment that pays for a booking that stands here, or may have its money still.
fn payer_of(state: &HoldState) -> Option<&PaymentId> {
    match state {
        HoldState::Paying { payment, .. } => Some(payment),
        HoldState::Expired { payment, .. } => payment.as_ref(),
        HoldState::Held { .. }
        | HoldState::Confirmed { .. }
        | HoldState::Released { .. }
        | HoldState::Cancelled { .. } => None,
    }
}

/// Whether a booking is to be confirmed with this payment, or without one.
fn is_for(view: &HoldView, payment: Option<&PaymentId>) -> bool {
    match &view.state {
        HoldState::Held { .. } => payment.is_some() || view.terms.amount_minor == 0,
        HoldState::Paying { payment: running, .. } => payment == Some(running),
        HoldState::Expired { payment: running, .. } => {
            running.is_some() && payment == running.as_ref()
        }
        HoldState::Confirmed { .. } | HoldState::Released { .. } | HoldState::Cancelled { .. } => {
            false
        }
    }
}

/// Whether what was answered to a confirmation had been confirmed before: engines answer the same payment
/// again, and where nothing is to be paid anybody, without a change. Of those that are answered in the
/// millisecond of the one that was made nobody can tell, and each counts as that one.
fn is_repeated(answer: &Answer<HoldView>) -> bool {
    matches!(answer.value.state, HoldState::Confirmed { at, .. } if at < answer.at)
}

/// Names the buyer of what is confirmed once more, if somebody else is known by now: another confirmation
/// has named them, or had named this one first, was refused, and has put them back. Where nobody is known,
/// it may have taken this one back, unless this was `is_first` to name them. Lost is only what an organiser
/// has corrected in these milliseconds. Says whether a mail may have missed the buyer.
async fn name_again(
    ledger: &dyn Ledger,
    asked: &Confirming,
    buyer: &Buyer,
    is_first: bool,
) -> Result<bool, LedgerError> {
    let known = ledger.buyer(&asked.booking).await?;
    if known.as_ref() == Some(buyer) || (known.is_none() && is_first) {
        return Ok(false);
    }
    let is_missed = known.as_ref().is_none_or(|known| known.email != buyer.email);
    let again = asked.correction(known.as_ref(), buyer.clone());
    Ok(unless_changed(ledger.correct_buyer(again).await)? && is_missed)
}

/// Puts back who was known before, unless somebody else was named meanwhile, or the one that was named
/// [stays](Confirming::stays). Where the engine does not tell, they do. Where another address was known, the
/// links that went to the one that was named are withdrawn. Says whether a mail may have missed whoever is
/// known then.
async fn restore(
    engine: &dyn Engine,
    ledger: &dyn Ledger,
    asked: &Confirming,
    named: &Buyer,
    before: Option<&Buyer>,
) -> Result<bool, BuyerError> {
    let state = asked.state(engine).await?;
    let anothers = state.as_ref().filter(|state| asked.is_anothers(state));
    if anothers.is_some_and(|state| asked.stays(state, named, before)) {
        return Ok(false);
    }
    let is_back = match before {
        Some(before) => {
            let back = asked.correction(Some(named), before.clone());
            unless_changed(ledger.correct_buyer(back).await)?
        }
        // Nobody asked to be forgotten: whoever has the booking's link keeps it.
        None => ledger.unset_buyer(&asked.booking, &named.email).await?,
    };
    if !is_back {
        return Ok(false);
    }
    // Another one may have come between that look and this write, for whom it took back.
    let found = match asked.state(engine).await {
        // The payment that ran has confirmed it since, and its mail may have gone to the one named here.
        Ok(Some(HoldState::Confirmed { payment: Some(paid), .. }))
            if anothers.and_then(payer_of) == Some(&paid) =>
        {
            return Ok(true);
        }
        Ok(Some(now)) if asked.stays(&now, named, before) => Ok(()),
        Ok(_) => return Ok(false),
        Err(failure) => Err(failure),
    };
    let again = asked.correction(before, named.clone());
    let is_again = unless_changed(ledger.correct_buyer(again).await)?;
    Ok(found.map(|()| is_again)?)
}

/// Has the confirmation mailed once more of a booking that is confirmed, and whose buyer was put right since:
/// the first mail may have gone to somebody else, or, for want of a buyer, to nobody. What is free of charge
/// is mailed once: anyone can type anyone's address.
async fn mail_again(
    engine: &dyn Engine,
    ledger: &dyn Ledger,
    relay: &Relay,
    asked: &Confirming,
) -> Result<(), BuyerError> {
    let Answer { at, value: view, .. } = asked.look(engine).await?;
    let HoldState::Confirmed { at: confirmed_at, .. } = view.state else { return Ok(()) };
    if view.terms.amount_minor == 0 {
        return Ok(());
    }
    let wish = u128::from_le_bytes(random());
    let Confirming { event, booking, .. } = asked;
    let message = confirmed_again(wish, at, confirmed_at, event, booking, relay.channels());
    // There is none where buyers are not written to.
    if let Some(message) = message {
        ledger.tell(message).await?;
        relay.ring();
    }
    Ok(())
}

/// Why a buyer is not put right, or not written to.
#[derive(Debug, thiserror::Error)]
enum BuyerError {
    /// The engine does not tell where the booking stands.
    #[error(transparent)]
    Ask(#[from] Failure),
    /// The ledger fails.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Whether a write is news, if somebody else's stays where it came first.
fn unless_changed(written: Result<bool, LedgerError>) -> Result<bool, LedgerError> {
    if written == Err(LedgerError::Conflict) { Ok(false) } else { written }
}

mod tests;
