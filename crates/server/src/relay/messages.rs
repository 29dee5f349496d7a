//! What there is to tell, and over which channels: pure functions from what happened to messages.
//!
//! A message's body has facts only, and nothing that names a person: who the buyer is stays in the ledger, where it can
//! be erased.

use crate::config::Config;
use onrush_core::Time;
use onrush_core::change::Change;
use onrush_core::ids::{BookingId, EventId};
use onrush_ledger::booking::Booking;
use onrush_ledger::delivery::Message;
use onrush_ledger::money::Refund;
use serde_json::{Value, json};

/// The channel to buyers.
pub const MAIL: &str = "mail";

/// A booking is final.
pub const BOOKING_CONFIRMED: &str = "booking_confirmed";
/// A hold ran out.
pub const BOOKING_EXPIRED: &str = "booking_expired";
/// A hold was given back.
pub const BOOKING_RELEASED: &str = "booking_released";
/// A confirmed booking was taken back.
pub const BOOKING_CANCELLED: &str = "booking_cancelled";
/// Money for a confirmed booking went back.
pub const BOOKING_REFUNDED: &str = "booking_refunded";
/// A payment failed; the hold waits for another.
pub const PAYMENT_FAILED: &str = "payment_failed";
/// Money that came too late went back.
pub const PAYMENT_LATE_REFUNDED: &str = "payment_late_refunded";
/// Somebody was let in.
pub const TICKET_CHECKED_IN: &str = "ticket_checked_in";

/// Everything that webhooks can be told.
pub const KINDS: [&str; 8] = [
    BOOKING_CONFIRMED,
    BOOKING_EXPIRED,
    BOOKING_RELEASED,
    BOOKING_CANCELLED,
    BOOKING_REFUNDED,
    PAYMENT_FAILED,
    PAYMENT_LATE_REFUNDED,
    TICKET_CHECKED_IN,
];

/// What buyers get a mail about.
pub const MAIL_KINDS: [&str; 5] = [
    BOOKING_CONFIRMED,
    BOOKING_EXPIRED,
    BOOKING_CANCELLED,
    BOOKING_REFUNDED,
    PAYMENT_LATE_REFUNDED,
];

/// The channel of a webhook.
#[must_use]
pub fn webhook_channel(name: &str) -> String {
    format!("webhook:{name}")
}

/// The channels there are, and what each wants to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    mail: bool,
    /// The channel, and the kinds; `None` is all of them.
    webhooks: Vec<(String, Option<Vec<String>>)>,
}

impl Channels {
    /// Those that are configured.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let webhooks = config.webhooks.iter();
        let webhooks = webhooks.map(|hook| (webhook_channel(&hook.name), hook.kinds.clone()));
        Self { mail: config.mail.is_some(), webhooks: webhooks.collect() }
    }

    /// Whether nobody is to be told anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.mail && self.webhooks.is_empty()
    }

    /// Those that want messages of this kind.
    #[must_use]
    pub fn wanting(&self, kind: &str) -> Vec<String> {
        let mail = (self.mail && MAIL_KINDS.contains(&kind)).then(|| MAIL.to_owned());
        let wants = |kinds: &Option<Vec<String>>| {
            kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|wanted| wanted == kind))
        };
        let webhooks = self.webhooks.iter().filter(|(_, kinds)| wants(kinds));
        mail.into_iter().chain(webhooks.map(|(name, _)| name.clone())).collect()
    }

    /// Whether there are dead letters to look for under this name.
    #[must_use]
    pub fn contains(&self, channel: &str) -> bool {
        (self.mail && channel == MAIL) || self.webhooks.iter().any(|(name, _)| name == channel)
    }
}

/// What is to be told of one change: the `index`th (from 0) of the decision `seq`. `booking` is the booking that it is
/// about as it was projected so far, if it is known; without it the message says less.
///
/// The same change makes the same message, with the same id.
#[must_use]
pub fn of_change(
    seq: u64,
    index: usize,
    at: Time,
    event: &EventId,
    change: &Change,
    booking: Option<&Booking>,
    channels: &Channels,
) -> Option<Message> {
    let (kind, id, more) = match change {
        Change::HoldConfirmed { booking, payment } => {
            (BOOKING_CONFIRMED, booking, json!({"payment": payment, "late": false}))
        }
        Change::HoldConfirmedLate { booking, payment } => {
            (BOOKING_CONFIRMED, booking, json!({"payment": payment, "late": true}))
        }
        Change::HoldExpired { booking } => (BOOKING_EXPIRED, booking, json!({})),
        Change::HoldReleased { booking } => (BOOKING_RELEASED, booking, json!({})),
        Change::ConfirmedCancelled { booking, reason, refund_minor } => {
            let why = &reason.why;
            (BOOKING_CANCELLED, booking, json!({"refund_minor": refund_minor, "why": why}))
        }
        Change::PaymentFailed { booking, payment, why, until } => {
            let facts = json!({"payment": payment, "why": why, "until": until});
            (PAYMENT_FAILED, booking, facts)
        }
        Change::CheckedIn { booking, ticket } => {
            (TICKET_CHECKED_IN, booking, json!({"ticket": ticket}))
        }
        Change::EventCreated { .. }
        | Change::SettingsChanged { .. }
        | Change::PoolAdded { .. }
        | Change::CapacityAdjusted { .. }
        | Change::SeatsAdded { .. }
        | Change::UnitsBlocked { .. }
        | Change::UnitsUnblocked { .. }
        | Change::PrequeueOpened
        | Change::PrequeueClosed { .. }
        | Change::SaleOpened { .. }
        | Change::SalePaused
        | Change::SaleResumed
        | Change::SaleClosed
        | Change::PlaceTaken { .. }
        | Change::PlaceSeen { .. }
        | Change::PlaceLeft { .. }
        | Change::Admitted { .. }
        | Change::Arrived { .. }
        | Change::SessionEnded { .. }
        | Change::SlotFreed { .. }
        | Change::HoldPlaced { .. }
        | Change::HoldExtended { .. }
        | Change::PaymentBegun { .. }
        // Nothing was taken and nothing is owed: the buyer heard of the hold's end already.
        | Change::LatePaymentFailed { .. }
        | Change::HoldForgotten { .. }
        | Change::Claimed { .. }
        | Change::Declaimed { .. }
        | Change::ClaimedAdjusted { .. }
        | Change::ClaimForgotten { .. }
        | Change::Resumed { .. } => return None,
    };
    let facts = joined(booking.map(facts_of).unwrap_or_else(|| json!({})), more);
    message(format!("{event}-{seq}-{index}"), kind, event, id, at, facts, channels)
}

/// What is to be told of a refund that is done. `late` says that it was made because the money came too late; else the
/// booking was cancelled.
#[must_use]
pub fn refund_done(
    refund: &Refund,
    event: &EventId,
    at: Time,
    late: bool,
    booking: Option<&Booking>,
    channels: &Channels,
) -> Option<Message> {
    let kind = if late { PAYMENT_LATE_REFUNDED } else { BOOKING_REFUNDED };
    let more = json!({
        "refund_minor": refund.amount_minor,
        "currency": refund.currency,
        "payment": refund.payment,
        "why": refund.why,
    });
    let facts = joined(booking.map(facts_of).unwrap_or_else(|| json!({})), more);
    // Colons have no place in the ids of messages, which become parts of addresses.
    let id = refund.refund.replace(':', "-");
    message(id, kind, event, &refund.booking, at, facts, channels)
}

/// What a message's body says, and with it what the booking is about, which never changes.
///
/// # Errors
/// The body is not JSON.
pub fn said_of(body: &str, booking: Option<&Booking>) -> serde_json::Result<Value> {
    let said = serde_json::from_str(body)?;
    Ok(joined(booking.map(facts_of).unwrap_or_else(|| json!({})), said))
}

fn facts_of(booking: &Booking) -> Value {
    json!({
        "lines": booking.lines,
        "amount_minor": booking.amount_minor,
        "fee_minor": booking.fee_minor,
        "currency": booking.currency,
    })
}

/// Both objects' members; where both have one, the second one's.
fn joined(mut first: Value, second: Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
        first.extend(second.into_iter().filter(|(_, value)| !value.is_null()));
    }
    first
}

fn message(
    id: String,
    kind: &str,
    event: &EventId,
    booking: &BookingId,
    at: Time,
    facts: Value,
    channels: &Channels,
) -> Option<Message> {
    let channels = channels.wanting(kind);
    (!channels.is_empty()).then(|| Message {
        id,
        kind: kind.to_owned(),
        event: event.clone(),
        booking: Some(booking.clone()),
        at,
        body: facts.to_string(),
        channels,
    })
}
