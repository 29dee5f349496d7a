//! Payments and refunds.

use onrush_core::Time;
pub use onrush_core::hold::OnDecline;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::money::Currency;
use onrush_core::saga::Stage;
use serde::{Deserialize, Serialize};

/// One attempt to pay for a booking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Its id: also its idempotency key at the gateway.
    pub payment: PaymentId,
    /// What it is for.
    pub booking: BookingId,
    /// The gateway's name.
    pub gateway: String,
    /// What the gateway calls it, once that is known.
    pub reference: Option<String>,
    /// Where the buyer pays, if the gateway has a page.
    pub url: Option<String>,
    /// What the buyer's page needs to pay, if the gateway works that way.
    pub client_secret: Option<String>,
    /// What is to be paid, in minor units.
    pub amount_minor: i64,
    /// In which currency.
    pub currency: Currency,
    /// Where it stands.
    pub stage: Stage,
    /// When its money is taken: decided when it was begun.
    pub capture: Capture,
    /// Money that was taken, in minor units.
    pub captured_minor: i64,
    /// Why it failed, or what is odd about it.
    pub why: Option<String>,
    /// Whether what the gateway says contradicts what was asked for (another amount, another booking).
    pub flagged: bool,
    /// What a decline does.
    pub on_decline: OnDecline,
    /// When it was written down. The gateway was asked no earlier.
    pub created_at: Time,
    /// When this row was last written.
    pub updated_at: Time,
}

/// When a gateway takes the money of a payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Capture {
    /// As soon as the buyer pays.
    #[default]
    AtOnce,
    /// When it is told to: the buyer's payment only sets the money aside.
    Later,
}

/// How far a refund is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RefundStatus {
    /// It is written down; the gateway may have heard of it or not.
    Requested,
    /// The gateway works on it.
    Sent,
    /// The money went back.
    Done,
    /// The gateway will not do it.
    Failed,
}

/// Why a refund is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RefundCause {
    /// The booking was confirmed, and cancelled.
    Cancelled,
    /// The booking cannot be confirmed: the money came too late.
    Unconfirmed,
    /// The booking does not wait for this payment.
    Stray,
    /// An operator had the gateway give back money that bought nothing.
    Operator,
    /// An operator gave the money back by other means than the gateway.
    ByHand,
    /// It was given back at the gateway's own desk, or lost to a dispute, before it was asked for: a
    /// desk entry tells of it under the same reference.
    AtDesk,
    /// Not known: the row is from before causes were kept.
    Unknown,
}

impl RefundCause {
    /// Whether the money came when the booking did not wait for it.
    #[must_use]
    pub const fn is_late(self) -> bool {
        match self {
            Self::Unconfirmed | Self::Stray => true,
            Self::Cancelled | Self::Operator | Self::ByHand | Self::AtDesk | Self::Unknown => false,
        }
    }

    /// Whether the gateway is asked for it: the rest went back without us.
    #[must_use]
    pub const fn is_asked_for(self) -> bool {
        match self {
            Self::ByHand | Self::AtDesk => false,
            Self::Cancelled | Self::Unconfirmed | Self::Stray | Self::Operator | Self::Unknown => {
                true
            }
        }
    }
}

/// Money that goes back for one payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refund {
    /// `refund:<booking>:<n>`: also its idempotency key at the gateway; a stray payment's has the payment's
    /// id there. One that the gateway is not asked for has a name below it, such as `refund:<booking>:<n>.1`.
    /// Earlier versions numbered all of a booking alike.
    pub refund: String,
    /// The booking.
    pub booking: BookingId,
    /// The payment.
    pub payment: PaymentId,
    /// How much, in minor units.
    pub amount_minor: i64,
    /// In which currency.
    pub currency: Currency,
    /// How far it is.
    pub status: RefundStatus,
    /// Why it is made.
    pub cause: RefundCause,
    /// The operator who asked for it, if one did.
    pub decided_by: Option<String>,
    /// Why it is made, or why it failed, for people.
    pub why: String,
    /// What the gateway calls it.
    pub reference: Option<String>,
    /// When it was written down.
    pub created_at: Time,
    /// When this row was last written.
    pub updated_at: Time,
}

/// Which payments or refunds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaymentFilter {
    /// Of one event.
    pub event: Option<EventId>,
    /// Of one booking.
    pub booking: Option<BookingId>,
    /// Payments at one stage; refunds are not told apart by it.
    pub stage: Option<Stage>,
    /// Only payments whose gateway contradicted us, or only the others.
    pub flagged: Option<bool>,
    /// Where the page begins: the `next` of the one before.
    pub after: Option<String>,
}

/// What is still to come of one event's money, so that nobody forgets it before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenMoney {
    /// Bookings whose money is under way: their saga is not at an end, is to be looked at or is
    /// stuck, or money is to go back that has not.
    pub under_way: u64,
    /// Bookings that lack a receipt, or a credit note, by the rule that was asked with.
    pub without_document: u64,
}

/// Sums over everything, for audits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sagas that are not at an end (confirmed or failed).
    pub open_sagas: u64,
    /// Sagas that wait for an operator.
    pub stuck_sagas: u64,
    /// Payments from which money was taken.
    pub captured_payments: u64,
    /// Their money, in minor units of all currencies together.
    pub captured_minor: i64,
    /// Money that went back.
    pub refunded_minor: i64,
    /// Money that is to go back and has not yet. A refund that failed is in neither sum.
    pub refunding_minor: i64,
}
