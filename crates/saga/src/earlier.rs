//! Ids of bookings that stood for other ones before.
//!
//! The rules forget a booking a day after its end, and then take its id for a new one: the same
//! visitor has used the same key again. The ledger forgets none. What it has under the id are the
//! earlier booking's lines, amount and payments, and tickets would be made from them.

use super::sagas::Sagas;
use super::start::StartError;
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::limits::ENDED_KNOWN_MS;
use onrush_core::question::BookingOf;
use onrush_core::view::HoldView;
use onrush_core::{Command, Refusal};
use onrush_store::{Ask, Failure};

impl Sagas {
    /// Refuses a booking under whose id the ledger knows an earlier one, and gives its units back:
    /// nothing is paid for or confirmed under it.
    ///
    /// # Errors
    /// `BOOKING_MISMATCH` then, and whatever engine or ledger say.
    pub async fn refuse_used_id(
        &self,
        event: &EventId,
        booking: &BookingId,
        user: &UserId,
    ) -> Result<(), StartError> {
        let Some(known) = self.ledger.booking(booking).await? else { return Ok(()) };
        // Younger ones have not been forgotten: the engine need not be asked in a rush.
        if self.now().since_ms(known.created_at) < ENDED_KNOWN_MS {
            return Ok(());
        }
        let own = BookingOf { booking: booking.clone(), user: Some(user.clone()) };
        let view: HoldView = self.engine.ask(event.clone(), own).await?.value;
        if view.terms.created_at <= known.created_at {
            return Ok(());
        }
        tracing::warn!(%booking, "a key was used again after a day: its hold is given back");
        if matches!(view.state, HoldState::Held { .. }) {
            let release = Command::Release { booking: booking.clone(), user: user.clone() };
            match self.engine.execute(event.clone(), release).await {
                // It has ended by itself.
                Ok(_) | Err(Failure::Refused(_)) => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(Failure::Refused(Refusal::BookingMismatch).into())
    }
}
