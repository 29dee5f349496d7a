//! Buyers of bookings, on whichever path they are named.

use crate::http::faults::hold_of;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::payment::BuyerBody;
use crate::http::state::App;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::view::HoldView;
use onrush_core::{Command, Refusal};
use onrush_ledger::booking::{Buyer, BuyerOf};
use onrush_ledger::{Ledger, LedgerError};
use onrush_store::Failure;
use std::sync::Arc;

/// The buyer that a body names, if it names one.
///
/// # Errors
/// `INVALID_BODY`, with what to send instead.
pub(in crate::http) fn parsed(body: Option<BuyerBody>) -> Result<Option<Buyer>, Problem> {
    let buyer = body.map(BuyerBody::buyer).transpose();
    buyer.map_err(|why| Problem::new(Code::InvalidBody, why))
}

/// Confirms a booking for a buyer. The buyer is written down first: the mail goes out as soon as
/// the booking is confirmed. If that is refused, it is as if nobody had been named.
///
/// # Errors
/// Whatever the engine or the ledger says.
pub(in crate::http) async fn confirm_for(
    app: Arc<App>,
    event: EventId,
    booking: BookingId,
    buyer: Option<Buyer>,
    command: Command,
) -> Result<HoldView, Problem> {
    let Some(buyer) = buyer else { return app.run_booking(&event, command).await };
    let work = async move {
        let before = app.ledger.buyer(&booking).await?;
        app.ledger.set_buyer(&booking, buyer.clone()).await?;
        let outcome = app.run(&event, command).await;
        // A booking that is confirmed already has its buyer; and what failed otherwise may have
        // been confirmed.
        if let Err(Failure::Refused(refusal)) = &outcome
            && *refusal != Refusal::AlreadyConfirmed
            && let Err(error) = restore(&*app.ledger, booking, &buyer, before).await
        {
            tracing::warn!(%error, "the buyer of a booking that was not confirmed stays");
        }
        hold_of(outcome?)
    };
    // A caller who hangs up must not stop it half-way.
    match tokio::spawn(work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Problem::new(Code::Internal, "the confirmation broke off; look again")),
    }
}

/// Puts back who was known before, unless somebody else was named meanwhile.
async fn restore(
    ledger: &dyn Ledger,
    booking: BookingId,
    named: &Buyer,
    before: Option<Buyer>,
) -> Result<(), LedgerError> {
    if ledger.buyer(&booking).await?.as_ref() != Some(named) {
        return Ok(());
    }
    match before {
        Some(before) => ledger.set_buyer(&booking, before).await,
        None => ledger.erase_buyer(BuyerOf::Booking(booking)).await.map(drop),
    }
}
