//! What couriers carry.

use super::book::Message;
use onrush_core::ids::{BookingId, PaymentId};
use onrush_core::money::Currency;
use serde::{Deserialize, Serialize};

/// A message as it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Its own id: the same when it is sent again.
    pub id: String,
    /// `payment.authorised`, `payment.captured`, `payment.declined`, `payment.cancelled`,
    /// `refund.done`, and from the desk `desk.refunded`, `dispute.opened`, `dispute.won` or `dispute.lost`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The payment.
    pub payment: PaymentId,
    /// What it is for.
    pub booking: BookingId,
    /// What the gateway calls it: the payment, the refund, or what was done at the desk.
    pub reference: String,
    /// Its amount, in minor units.
    pub amount_minor: i64,
    /// In which currency.
    pub currency: Currency,
    /// Why it was declined or cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The refund's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refund: Option<String>,
    /// When it happened, in seconds since the epoch.
    pub created_s: i64,
}

/// Messages of one payment, which are sent one after the other.
pub(super) type Parcel = Vec<Message>;
