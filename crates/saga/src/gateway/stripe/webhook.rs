//! What Stripe's messages say.

use super::desk;
use super::wire::{Event, Intent, Refund};
use crate::gateway::{News, NotGenuine};
use serde::de::DeserializeOwned;

/// What an event tells of; `None` if that is nothing of ours.
pub(super) fn news(event: Event) -> Result<Option<News>, NotGenuine> {
    match event.kind.as_str() {
        "payment_intent.succeeded"
        | "payment_intent.payment_failed"
        | "payment_intent.amount_capturable_updated"
        | "payment_intent.canceled" => payment_news(&event.kind, event.data.object),
        "refund.created" => desk::refund(object(event.data.object)?),
        "refund.updated" | "refund.failed" | "charge.refund.updated" => {
            refund_news(event.data.object)
        }
        "charge.refunded" => desk::went_back(object(event.data.object)?),
        "charge.dispute.created"
        | "charge.dispute.updated"
        | "charge.dispute.closed"
        | "charge.dispute.funds_withdrawn"
        | "charge.dispute.funds_reinstated" => desk::dispute(object(event.data.object)?),
        _ => Ok(None),
    }
}

fn object<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, NotGenuine> {
    serde_json::from_value(value).map_err(|_| NotGenuine::Unreadable)
}

/// What an event says of a payment. One without our ids is somebody else's: an account may have other uses.
fn payment_news(kind: &str, value: serde_json::Value) -> Result<Option<News>, NotGenuine> {
    let intent: Intent = object(value)?;
    let (Some(payment), Some(booking)) =
        (intent.metadata.get("payment"), intent.metadata.get("booking"))
    else {
        return Ok(None);
    };
    let (Ok(payment), Ok(booking)) = (payment.parse(), booking.parse()) else { return Ok(None) };
    let standing = if kind == "payment_intent.payment_failed" {
        Some(intent.declined())
    } else {
        intent.standing()
    };
    let standing = standing.ok_or(NotGenuine::Unreadable)?;
    Ok(Some(News::Payment { payment, booking, standing }))
}

fn refund_news(value: serde_json::Value) -> Result<Option<News>, NotGenuine> {
    let made: Refund = object(value)?;
    let (Some(payment), Some(refund)) = (made.metadata.get("payment"), made.key()) else {
        return desk::refund(made);
    };
    let (Ok(payment), refund) = (payment.parse(), refund.to_owned()) else { return Ok(None) };
    let (amount_minor, currency) = made.gives_back().ok_or(NotGenuine::Unreadable)?;
    let standing = made.standing().ok_or(NotGenuine::Unreadable)?;
    Ok(Some(News::Refund { payment, refund, amount_minor, currency, standing }))
}
