//! A shop whose sandbox the test knows the secrets of: it scripts faults, and forges the gateway's messages.

use crate::client::{Answer, Request};
use crate::paying::open_paid_event;
use crate::shop::Shop;
use onrush_base::config::Config;
use onrush_base::config::{GatewayName, Secret};
use onrush_base::signature::sign;
use onrush_sandbox::{SIGNATURE, Webhook};
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

const SECRET: &str = "the sandbox's secret in tests";
const WEBHOOK_SECRET: &str = "the webhooks' secret in tests";

pub(crate) struct Sandboxed {
    pub(crate) shop: Shop,
}

/// The configuration of a shop with the sandbox and known secrets.
pub(crate) fn sandboxed(config: &mut Config) {
    config.gateway = GatewayName::Sandbox;
    config.sandbox.secret = Some(Secret::from(SECRET.to_owned()));
    config.sandbox.webhook_secret = Some(Secret::from(WEBHOOK_SECRET.to_owned()));
}

pub(crate) fn now_s() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

impl Sandboxed {
    /// With the event `e` of [`open_paid_event`].
    pub(crate) async fn start(change: impl FnOnce(&mut Config)) -> Self {
        let shop = Shop::start_with(|config| {
            sandboxed(config);
            change(config);
        });
        let shop = shop.await;
        open_paid_event(&shop).await;
        Self { shop }
    }

    /// Has something go wrong at the gateway.
    pub(crate) async fn script(&self, script: &Value) {
        let base = self.shop.server.sandbox().unwrap().base_url();
        let address = base.strip_prefix("http://").unwrap().parse().unwrap();
        let request = Request::new(address, "POST", "/v1/faults").bearer(SECRET).json(script);
        let answer = request.send().await;
        assert!((200..300).contains(&answer.status), "{answer:?}");
    }

    /// Has the sandbox's own desk do something with a payment.
    pub(crate) async fn desk(&self, payment: &str, body: &Value) -> Answer {
        let base = self.shop.server.sandbox().unwrap().base_url();
        let address = base.strip_prefix("http://").unwrap().parse().unwrap();
        let path = format!("/v1/payments/{payment}/desk");
        Request::new(address, "POST", &path).bearer(SECRET).json(body).send().await
    }

    /// What the sandbox took and gave back.
    pub(crate) async fn totals(&self) -> (i64, i64) {
        let totals = self.shop.server.sandbox().unwrap().totals().await.unwrap();
        (totals.captured_minor, totals.refunded_minor)
    }

    /// A message as the gateway would write it.
    pub(crate) fn message(
        &self,
        kind: &str,
        payment: &str,
        booking: &str,
        amount_minor: i64,
    ) -> Vec<u8> {
        let webhook = Webhook {
            id: "m-1".into(),
            kind: kind.into(),
            payment: payment.parse().unwrap(),
            booking: booking.parse().unwrap(),
            reference: "r-1".into(),
            amount_minor,
            currency: "EUR".parse().unwrap(),
            why: None,
            refund: None,
            created_s: now_s(),
        };
        serde_json::to_vec(&webhook).unwrap()
    }

    /// Sends a message that is signed as the gateway would sign it now.
    pub(crate) async fn tell(&self, path: &str, message: &[u8]) -> Answer {
        let signature = sign(WEBHOOK_SECRET.as_bytes(), message, now_s());
        self.tell_signed(path, message, &signature).await
    }

    /// Sends a message with a signature of any kind.
    pub(crate) async fn tell_signed(&self, path: &str, message: &[u8], signature: &str) -> Answer {
        Request::new(self.shop.server.public_addr(), "POST", path)
            .header("Content-Type", "application/json")
            .header(SIGNATURE, signature)
            .body(message)
            .send()
            .await
    }
}
