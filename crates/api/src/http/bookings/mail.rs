//! The confirmation of a booking, sent again for the organiser.

use super::find::find_anybodys;
use crate::http::body::{Nothing, OptionalBody, json};
use crate::http::caller::{IdempotencyKey, Ids, Operator};
use crate::http::once::name_of;
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::Sale;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::Refusal;
use onrush_core::hold::HoldState;
use onrush_core::ids::BookingId;
use onrush_ledger::Ledger;
use onrush_relay::Relay;
use onrush_relay::messages::confirmed_again;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// A mail on its way.
#[derive(Serialize, ToSchema)]
pub struct MailedAgain {
    /// The message's id, as dead letters have it.
    message: String,
}

/// Sends the confirmation of a confirmed booking again: to the address that its buyer has by then,
/// with the tickets and with the link that counts by then.
///
/// The same key again is the same mail, and is sent once. For another one, use another key.
#[utoipa::path(
    post, path = "/api/v1/admin/bookings/{booking}/mail", tag = "admin",
    params(("booking" = IdText, Path), IdempotencyKey),
    request_body = Option<Nothing>,
    responses(
        (status = 202, description = "It is on its way", body = MailedAgain),
        WriteProblems,
    ),
)]
pub async fn mail_again(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    State(relay): State<Arc<Relay>>,
    Ids(booking): Ids<BookingId>,
    operator: Operator,
    key: IdempotencyKey,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    let (event, view) = find_anybodys(&sale, &booking).await?;
    let HoldState::Confirmed { at: confirmed_at, .. } = view.state else {
        return Err(Refusal::InvalidStatus { booking_status: view.state.status() }.into());
    };
    // The same key under another's name is another wish.
    let wish = name_of(&[booking.as_str(), &operator.key.name, key.as_str()]);
    let at = sale.clock.now();
    let message = confirmed_again(wish, at, confirmed_at, &event, &booking, relay.channels());
    let message = message.ok_or_else(|| {
        let why = "buyers are not written to here; set [mail], or have them open their booking";
        Problem::new(Code::MailOff, why)
    })?;
    if ledger.buyer(&booking).await?.is_none_or(|buyer| buyer.email.is_empty()) {
        let why = "nobody knows where the mail would go; name the buyer first";
        return Err(Problem::new(Code::BuyerNotKnown, why));
    }
    let body = MailedAgain { message: message.id.clone() };
    ledger.tell(message).await?;
    relay.ring();
    Ok(json(StatusCode::ACCEPTED, &body))
}
