//! Stripe's objects, as far as we read them.

use super::money::from_stripe;
use crate::gateway::{Fingerprint, RefundStanding, Standing};
use onrush_core::money::Currency;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Our ids, which travel with Stripe's objects; by its documents an object may have `null` instead.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Metadata(Option<BTreeMap<String, String>>);

impl Metadata {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.as_ref()?.get(name).map(String::as_str)
    }
}

/// A PaymentIntent.
#[derive(Debug, Deserialize)]
pub(super) struct Intent {
    pub(super) id: String,
    status: String,
    #[serde(default)]
    amount: i64,
    #[serde(default)]
    amount_received: i64,
    currency: String,
    client_secret: Option<String>,
    #[serde(default)]
    pub(super) metadata: Metadata,
    last_payment_error: Option<PaymentError>,
    cancellation_reason: Option<String>,
    /// The charge that the last try to pay made: whole if that was asked for, else its id.
    latest_charge: Option<Box<serde_json::Value>>,
}

#[derive(Debug, Deserialize)]
struct PaymentError {
    code: Option<String>,
    decline_code: Option<String>,
}

impl PaymentError {
    /// Why, in our words where there are some.
    fn why(&self) -> String {
        let words = [self.decline_code.as_deref(), self.code.as_deref()];
        let why = words.into_iter().flatten().next().unwrap_or("declined");
        match why {
            "payment_intent_payment_attempt_expired" | "processing_error" => "timeout".into(),
            other => other.into(),
        }
    }
}

impl Intent {
    /// Whether it asks for this, in Stripe's units and letters.
    pub(super) fn asks_for(&self, amount: i64, currency: &str) -> bool {
        (self.amount, self.currency.as_str()) == (amount, currency)
    }

    /// Whether money was ever taken, whatever went back since.
    pub(super) fn took_money(&self) -> bool {
        self.amount_received > 0
    }

    /// Where the payment stands; `None` if that cannot be told.
    pub(super) fn standing(self) -> Option<Standing> {
        match self.status.as_str() {
            "succeeded" => {
                let (amount_minor, currency) = from_stripe(self.amount_received, &self.currency)?;
                Some(Standing::Captured { reference: self.id, amount_minor, currency })
            }
            "canceled" => {
                let why = self.cancellation_reason.unwrap_or_else(|| "cancelled".into());
                Some(Standing::Cancelled { reference: Some(self.id), why })
            }
            "processing" => Some(Standing::Processing { reference: self.id }),
            "requires_payment_method" if self.last_payment_error.is_some() => Some(self.declined()),
            "requires_payment_method" | "requires_confirmation" | "requires_action" => {
                let (reference, client_secret) = (self.id, self.client_secret);
                Some(Standing::Open { reference, url: None, client_secret })
            }
            "requires_capture" => {
                let card = self.latest_charge.as_deref().and_then(card_of);
                Some(Standing::Authorised { reference: self.id, card })
            }
            _ => None,
        }
    }

    /// A declined try, whatever has become of the payment meanwhile.
    pub(super) fn declined(self) -> Standing {
        let why = self.last_payment_error.as_ref().map_or("declined".into(), PaymentError::why);
        Standing::Declined { reference: self.id, why }
    }
}

/// What the card of a charge is known by; other methods have nothing of the kind.
fn card_of(charge: &serde_json::Value) -> Option<Fingerprint> {
    let text = charge.pointer("/payment_method_details/card/fingerprint")?.as_str()?;
    Fingerprint::new(text.to_owned())
}

/// A refund.
#[derive(Debug, Deserialize)]
pub(super) struct Refund {
    pub(super) id: String,
    status: Option<String>,
    failure_reason: Option<String>,
    #[serde(default)]
    pub(super) metadata: Metadata,
    /// What it is of; a refund of a charge without a PaymentIntent is not ours.
    pub(super) payment_intent: Option<String>,
    #[serde(default)]
    pub(super) amount: i64,
    #[serde(default)]
    pub(super) currency: String,
    pub(super) reason: Option<String>,
}

impl Refund {
    /// The key that we had it made under; `None` if it is none of ours. Other tools that work on the account
    /// may write names of their own under `refund`.
    pub(super) fn key(&self) -> Option<&str> {
        self.metadata.get("refund").filter(|key| key.starts_with("refund:"))
    }

    /// How much goes back, in our minor units; `None` if that cannot be told.
    pub(super) fn gives_back(&self) -> Option<(i64, Currency)> {
        from_stripe(self.amount, &self.currency)
    }

    /// Whether its money went back or is on its way: it neither failed nor was called off.
    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.status.as_deref(), Some("failed" | "canceled"))
    }

    /// Where it stands; `None` if that cannot be told.
    pub(super) fn standing(self) -> Option<RefundStanding> {
        let reference = self.id;
        match self.status.as_deref()? {
            "succeeded" => Some(RefundStanding::Done { reference }),
            "pending" | "requires_action" => Some(RefundStanding::Pending { reference }),
            status @ ("failed" | "canceled") => {
                let why = self.failure_reason.unwrap_or_else(|| status.to_owned());
                Some(RefundStanding::Failed { reference: Some(reference), why })
            }
            _ => None,
        }
    }
}

/// A charge, of which money went back.
#[derive(Debug, Deserialize)]
pub(super) struct Charge {
    pub(super) payment_intent: Option<String>,
    #[serde(default)]
    pub(super) amount_refunded: i64,
    pub(super) currency: String,
    /// Whether its money was taken, and not only set aside.
    pub(super) captured: Option<bool>,
    /// That of the PaymentIntent, as it was when the charge was made.
    #[serde(default)]
    pub(super) metadata: Metadata,
}

/// A dispute.
#[derive(Debug, Deserialize)]
pub(super) struct Dispute {
    pub(super) id: String,
    pub(super) payment_intent: Option<String>,
    pub(super) amount: i64,
    pub(super) currency: String,
    pub(super) status: String,
    pub(super) reason: Option<String>,
}

/// A page of a list, or of what was searched for.
#[derive(Debug, Deserialize)]
pub(super) struct Page<T> {
    pub(super) data: Vec<T>,
    #[serde(default)]
    pub(super) has_more: bool,
}

/// What an error's body has.
#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    pub(super) error: FailureDetail,
}

/// What is wrong.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct FailureDetail {
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    pub(super) code: Option<String>,
    pub(super) message: Option<String>,
}

/// A webhook.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) data: EventData,
}

/// What a webhook is about; what it is depends on the event's type.
#[derive(Debug, Deserialize)]
pub(super) struct EventData {
    pub(super) object: serde_json::Value,
}
