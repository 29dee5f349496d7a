//! Payments and refunds, as buyers and the organiser see them.

use crate::http::bookings::buyer::BuyerBody;
use crate::http::shapes::page::page;
use crate::json::ids::{CurrencyText, IdText, TimeMs};
use crate::json::words::words;
use onrush_base::config::StripeSettings;
use onrush_core::Time;
use onrush_core::ids::{BookingId, PaymentId};
use onrush_core::money::Currency;
use onrush_core::saga::Stage;
use onrush_ledger::money::{Capture, OnDecline, Payment, Refund, RefundCause, RefundStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A payment, as its buyer sees it.
#[derive(Serialize, ToSchema)]
#[schema(as = Payment)]
pub struct PaymentBody<'a> {
    /// Its id.
    #[schema(value_type = IdText)]
    payment: &'a str,
    /// What it is for.
    #[schema(value_type = IdText)]
    booking: &'a str,
    /// `open`, `authorised`, `ending`, `captured`, `failed` or `refunded`.
    #[schema(value_type = PaymentStatus)]
    status: &'static str,
    /// Who takes the money.
    gateway: &'a str,
    /// What is to be paid, in minor units.
    amount_minor: i64,
    #[schema(value_type = CurrencyText)]
    currency: String,
    /// Where the buyer pays, if the gateway has a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    url: Option<&'a str>,
    /// What the shop's page needs to pay, if the gateway works that way.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_secret: Option<&'a str>,
    /// What the shop's page needs beside it: the gateway's public key, if it is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    publishable_key: Option<&'a str>,
    /// Until when the hold waits for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    until: Option<Time>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    why: Option<&'a str>,
}

/// Where a payment stands.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum PaymentStatus {
    /// It waits for the buyer.
    Open,
    /// The card's bank has set the money aside. It is taken once the card was looked at: only where
    /// the event has a `max_per_card`.
    Authorised,
    /// It is being called off, and the gateway has not said yet how it ends: a bank debit that is under
    /// way may bring money after days.
    Ending,
    /// Money was taken.
    Captured,
    /// It ended without money.
    Failed,
    /// The money went back, or is on its way.
    Refunded,
}

impl<'a> PaymentBody<'a> {
    /// What is shown of a payment, with Stripe's public key if that is who takes it.
    #[must_use]
    pub fn new(
        payment: &'a Payment,
        until: Option<Time>,
        stripe: Option<&'a StripeSettings>,
    ) -> Self {
        let status = match payment.stage {
            Stage::Creating | Stage::Open => "open",
            Stage::Authorised | Stage::Capturing => "authorised",
            Stage::Closing => "ending",
            Stage::Closed | Stage::Void => "failed",
            Stage::Captured => "captured",
            Stage::Refunding | Stage::Returned | Stage::Refunded => "refunded",
        };
        let open = status == "open";
        let publishable_key = stripe.and_then(|stripe| stripe.publishable_key.as_deref());
        Self {
            payment: payment.payment.as_str(),
            booking: payment.booking.as_str(),
            status,
            gateway: &payment.gateway,
            amount_minor: payment.amount_minor,
            currency: payment.currency.to_string(),
            url: payment.url.as_deref().filter(|_| open),
            client_secret: payment.client_secret.as_deref().filter(|_| open),
            publishable_key: publishable_key.filter(|_| open && payment.client_secret.is_some()),
            until: until.filter(|_| open || status == "authorised"),
            why: payment.why.as_deref().filter(|_| status == "failed"),
        }
    }
}

/// What a payment is begun with.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PaymentWish {
    /// Who pays; only the ledger keeps it, and it can be erased.
    pub buyer: Option<BuyerBody>,
}

page! {
    /// A page of payments, the latest first.
    LedgerPayments,
    /// The payments.
    payments: LedgerPayment
}

/// A payment, without what only its buyer may see.
#[derive(Serialize, ToSchema)]
pub struct LedgerPayment {
    #[schema(value_type = IdText)]
    payment: PaymentId,
    #[schema(value_type = IdText)]
    booking: BookingId,
    /// Who takes the money.
    gateway: String,
    /// What the gateway calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reference: Option<String>,
    /// What is to be paid, in minor units.
    amount_minor: i64,
    #[schema(value_type = CurrencyText)]
    currency: Currency,
    #[schema(value_type = StageName)]
    stage: Stage,
    /// `at_once` or `later`: when the money is taken, decided when the payment was begun.
    #[schema(value_type = CaptureName)]
    capture: Capture,
    /// What was taken, in minor units.
    captured_minor: i64,
    /// Why it failed, or what is odd about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    why: Option<String>,
    /// Whether the gateway contradicted what was asked for.
    flagged: bool,
    /// `keep` or `release`: what a decline does to the hold.
    #[schema(value_type = OnDeclineName)]
    on_decline: OnDecline,
    #[schema(value_type = TimeMs)]
    created_at: Time,
    #[schema(value_type = TimeMs)]
    updated_at: Time,
}

impl From<Payment> for LedgerPayment {
    fn from(row: Payment) -> Self {
        Self {
            payment: row.payment,
            booking: row.booking,
            gateway: row.gateway,
            reference: row.reference,
            amount_minor: row.amount_minor,
            currency: row.currency,
            stage: row.stage,
            capture: row.capture,
            captured_minor: row.captured_minor,
            why: row.why,
            flagged: row.flagged,
            on_decline: row.on_decline,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

page! {
    /// A page of refunds, the latest first.
    LedgerRefunds,
    /// The refunds.
    refunds: LedgerRefund
}

/// Money that goes back.
#[derive(Serialize, ToSchema)]
pub struct LedgerRefund {
    /// Also its key at the gateway: `refund:<booking>:<n>`, or `refund:<payment>:<n>` of a stray payment.
    /// The gateway is not asked for `<n>.1` and the like.
    refund: String,
    #[schema(value_type = IdText)]
    booking: BookingId,
    #[schema(value_type = IdText)]
    payment: PaymentId,
    /// How much, in minor units.
    amount_minor: i64,
    #[schema(value_type = CurrencyText)]
    currency: Currency,
    #[schema(value_type = RefundStatusName)]
    status: RefundStatus,
    /// Why it is made.
    #[schema(value_type = RefundCauseName)]
    cause: RefundCause,
    /// The operator who asked for it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    decided_by: Option<String>,
    /// Why it is made, or why it failed, as a sentence.
    why: String,
    /// What the gateway calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reference: Option<String>,
    #[schema(value_type = TimeMs)]
    created_at: Time,
    #[schema(value_type = TimeMs)]
    updated_at: Time,
}

impl From<Refund> for LedgerRefund {
    fn from(row: Refund) -> Self {
        Self {
            refund: row.refund,
            booking: row.booking,
            payment: row.payment,
            amount_minor: row.amount_minor,
            currency: row.currency,
            status: row.status,
            cause: row.cause,
            decided_by: row.decided_by,
            why: row.why,
            reference: row.reference,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

words!(
    /// Where a payment stands.
    StageName, "PaymentStage", Stage
);

words!(
    /// How far a refund is.
    RefundStatusName, "RefundStatus", RefundStatus
);

words!(
    /// Why a refund is made: the booking was cancelled, cannot be confirmed, or does not wait for this
    /// payment; an operator had the gateway give the money back, or gave it back by other means; it
    /// had gone back at the gateway's own desk, or was lost to a dispute; or from before causes were
    /// kept.
    RefundCauseName, "RefundCause", RefundCause
);

words!(
    /// What a declined payment does to its hold.
    OnDeclineName, "OnDecline", OnDecline
);

words!(
    /// When the gateway takes a payment's money.
    CaptureName, "Capture", Capture
);

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::hold::OnDecline;

    #[test]
    fn an_open_payment_at_stripe_comes_with_both_keys_and_an_ended_one_with_none() {
        let stripe = StripeSettings {
            secret_key: "sk_test".to_owned().into(),
            webhook_secret: "whsec_test".to_owned().into(),
            publishable_key: Some("pk_test".into()),
            base_url: String::new(),
            delayed_methods: false,
        };
        let mut payment = Payment {
            payment: "p".parse().unwrap(),
            booking: "b".parse().unwrap(),
            gateway: "stripe".into(),
            reference: None,
            url: None,
            client_secret: Some("pi_secret".into()),
            amount_minor: 100,
            currency: "EUR".parse().unwrap(),
            stage: Stage::Open,
            capture: Capture::AtOnce,
            captured_minor: 0,
            why: None,
            flagged: false,
            on_decline: OnDecline::Keep,
            created_at: Time(0),
            updated_at: Time(0),
        };
        let keys = |payment: &Payment, stripe| {
            let body = PaymentBody::new(payment, None, stripe);
            let body = serde_json::to_value(body).unwrap();
            let members = ["client_secret", "publishable_key"];
            members.map(|name| body[name].as_str().map(str::to_owned))
        };
        let both = [Some("pi_secret".to_owned()), Some("pk_test".to_owned())];
        assert_eq!(keys(&payment, Some(&stripe)), both);
        payment.stage = Stage::Captured;
        assert_eq!(keys(&payment, Some(&stripe)), [None, None]);
        // One of the sandbox's from before is paid on its own page.
        (payment.stage, payment.client_secret) = (Stage::Open, None);
        assert_eq!(keys(&payment, Some(&stripe)), [None, None]);
    }
}
