//! Payments and buyers.

use crate::config::StripeSettings;
use crate::json::ids::{CurrencyText, IdText, TimeMs};
use onrush_core::Time;
use onrush_core::booking::Stage;
use onrush_ledger::booking::Buyer;
use onrush_ledger::money::Payment;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The longest name of a buyer, in characters.
pub const MAX_NAME_CHARS: usize = 200;
/// The longest mail address, in bytes (RFC 5321).
pub const MAX_EMAIL_BYTES: usize = 254;

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
    /// `open`, `captured`, `failed` or `refunded`.
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
            Stage::Closing | Stage::Closed | Stage::Void => "failed",
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
            until: until.filter(|_| open),
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

/// Who pays, and where tickets go.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Buyer)]
pub struct BuyerBody {
    /// As it is printed on the ticket: 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// A mail address.
    #[schema(min_length = 3, max_length = 254, pattern = "^[!-~]+@[!-~]+$")]
    pub email: String,
    /// A language tag such as `en` or `th`.
    #[serde(default = "english")]
    #[schema(min_length = 2, max_length = 35, pattern = "^[A-Za-z0-9-]+$")]
    pub language: String,
}

fn english() -> String {
    "en".into()
}

impl BuyerBody {
    /// The buyer, if the three are what they should be.
    ///
    /// # Errors
    /// A sentence that says what to send instead.
    pub fn buyer(self) -> Result<Buyer, &'static str> {
        let Self { name, email, language } = self;
        let name_is_fine = (1..=MAX_NAME_CHARS).contains(&name.chars().count())
            && !name.chars().any(char::is_control);
        if !name_is_fine {
            return Err("buyer.name: use 1 to 200 characters, none of them control characters");
        }
        let parts = email.split_once('@');
        let email_is_fine = email.len() <= MAX_EMAIL_BYTES
            && email.bytes().all(|byte| byte.is_ascii_graphic())
            && parts.is_some_and(|(local, host)| {
                !local.is_empty() && !host.is_empty() && !host.contains('@')
            });
        if !email_is_fine {
            return Err("buyer.email: use an address such as ann@example.org, in ASCII");
        }
        let language_is_fine = (2..=35).contains(&language.len())
            && language.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !language_is_fine {
            return Err("buyer.language: use a language tag such as en or th");
        }
        Ok(Buyer { name, email, language })
    }
}

impl From<Buyer> for BuyerBody {
    fn from(Buyer { name, email, language }: Buyer) -> Self {
        Self { name, email, language }
    }
}

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
