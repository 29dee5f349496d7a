//! Who pays, where the event limits what one e-mail address may have: named before anything begins.

use super::sagas::Sagas;
use super::start::StartError;
use onrush_core::Command;
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::payers::PayerBy;
use onrush_core::question::BookingOf;
use onrush_core::view::HoldView;
use onrush_ledger::booking::Buyer;
use onrush_store::Ask;

/// What is about to become of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// A payment begins.
    Payment,
    /// It is confirmed free of charge.
    Free,
}

impl Sagas {
    /// Names the e-mail address that a hold is paid for under, if the event limits what one may have:
    /// the buyer's, or that of the buyer who was named for the booking before.
    ///
    /// A payment that runs keeps its payer, and what cannot begin names nobody: the engine says then
    /// why not.
    ///
    /// # Errors
    /// [`StartError::EmailWanted`] if no address is known; `PAYER_LIMIT_EXCEEDED`, and whatever else
    /// engine or ledger say.
    pub async fn name_email(
        &self,
        begins: Begins,
        event: &EventId,
        booking: &BookingId,
        user: &UserId,
        buyer: Option<&Buyer>,
    ) -> Result<(), StartError> {
        let settings = self.settings(event).await?;
        if settings.max_per_email.is_none() {
            return Ok(());
        }
        let own = BookingOf { booking: booking.clone(), user: Some(user.clone()) };
        let view: HoldView = self.engine.ask(event.clone(), own).await?.value;
        let can_begin = matches!(view.state, HoldState::Held { .. })
            && match begins {
                Begins::Payment => {
                    view.terms.amount_minor > 0 && view.payments < settings.payment_attempts
                }
                Begins::Free => view.terms.amount_minor == 0,
            };
        if !can_begin {
            return Ok(());
        }
        let address = match buyer {
            Some(buyer) => Some(buyer.email.clone()),
            None => self.ledger.buyer(booking).await?.map(|buyer| buyer.email),
        };
        let payer = self.payers.email(event, &address.ok_or(StartError::EmailWanted)?);
        let (booking, user) = (booking.clone(), user.clone());
        let name = Command::NamePayer { booking, user, by: PayerBy::Email, payer };
        let _: HoldView = self.engine.run(event.clone(), name).await?.value;
        Ok(())
    }
}
