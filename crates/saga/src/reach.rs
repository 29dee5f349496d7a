//! What holds are about, asked by the follower of events that may be away or busy.

use super::sagas::Sagas;
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::question::BookingOf;
use onrush_store::{Ask, Failure};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How often an event that is busy is asked again, and how long after at most.
const ASKED_AGAIN: u32 = 3;
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How long busy events are waited for altogether before the ledger is written, so that messages say more:
/// all others come behind them.
pub(super) const PAUSES: Duration = Duration::from_millis(1_500);

/// What is lost if nobody tells what a hold is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// What a message says of it.
    Text,
    /// All that was gathered: the feed is followed anew.
    Gathered,
}

/// Which events did not answer since the ledger was written last.
pub(super) struct Reach {
    /// Events out of reach, and why: each is asked once, since that may take long, and all others come
    /// behind it.
    away: HashMap<EventId, Failure>,
    /// How long busy ones may be waited for yet.
    pauses: Duration,
}

impl Default for Reach {
    fn default() -> Self {
        Self { away: HashMap::new(), pauses: PAUSES }
    }
}

impl Reach {
    /// What a booking is about, if the engine still knows it.
    ///
    /// # Errors
    /// Whatever the engine said of this event last.
    pub(super) async fn terms(
        &mut self,
        sagas: &Sagas,
        event: &EventId,
        booking: &BookingId,
        loss: Loss,
    ) -> Result<Option<Arc<HoldTerms>>, Failure> {
        match self.away.get(event) {
            Some(Failure::Busy { .. }) if loss == Loss::Gathered => {}
            Some(failure) => return Err(failure.clone()),
            None => {}
        }
        // To gather anew takes longer than to wait for this one, whatever others were waited for.
        let mut own = PAUSES;
        let pauses = match loss {
            Loss::Text => &mut self.pauses,
            Loss::Gathered => &mut own,
        };
        match sagas.terms(event, booking, pauses).await {
            Ok(terms) => Ok(Some(terms)),
            Err(Failure::Refused(_)) => Ok(None),
            Err(failure) => {
                tracing::warn!(%event, %failure, "messages may not say what was held: an event is away");
                self.away.insert(event.clone(), failure.clone());
                Err(failure)
            }
        }
    }
}

impl Sagas {
    /// What anybody's hold is about. An event that is only busy is asked again a few times, as long as there
    /// are `pauses` left, unless sagas are to end: then nobody knows, as if the engine had stopped.
    async fn terms(
        &self,
        event: &EventId,
        booking: &BookingId,
        pauses: &mut Duration,
    ) -> Result<Arc<HoldTerms>, Failure> {
        let mut again = ASKED_AGAIN;
        loop {
            let anyones = BookingOf { booking: booking.clone(), user: None };
            let failure = match self.engine.ask(event.clone(), anyones).await {
                Ok(answer) => return Ok(answer.value.terms),
                Err(failure) => failure,
            };
            let Failure::Busy { retry_after_ms } = failure else { return Err(failure) };
            if self.is_stopping() {
                return Err(Failure::Stopped);
            }
            if again == 0 || pauses.is_zero() {
                return Err(failure);
            }
            again -= 1;
            let wanted = Duration::from_millis(u64::from(retry_after_ms));
            let pause = wanted.min(LONGEST_PAUSE).min(*pauses);
            *pauses -= pause;
            tokio::select! {
                biased;
                () = self.stopped() => return Err(Failure::Stopped),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}
