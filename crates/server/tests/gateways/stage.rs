//! A sandbox, its client and a receiver of its webhooks, all on free ports and in a directory of their own.

use crate::inbox::Inbox;
use axum::http::Request;
use bytes::Bytes;
use onrush_base::config::Secret;
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_ledger::money::Capture;
use onrush_saga::gateway::sandbox::SandboxGateway;
use onrush_saga::gateway::{Order, RefundOrder};
use onrush_sandbox::{PaymentList, Sandbox, SandboxConfig, SandboxTotals};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const SECRET: &str = "the-shop-and-the-sandbox-know-it";
pub(crate) const WEBHOOK_SECRET: &str = "and-this-one-signs-the-webhooks";
pub(crate) const GOOD_CARD: &str = "4242424242424242";
/// How long calls of tests may take.
pub(crate) const TIMEOUT_MS: u64 = 20_000;

/// An answer of the sandbox.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: axum::http::HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}: {self:?}")).to_str().unwrap()
    }
}

pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
    pub(crate) gateway: SandboxGateway,
    pub(crate) inbox: Inbox,
    client: HttpClient,
    dir: TempDir,
}

pub(crate) fn secret(text: &str) -> Secret {
    Secret::from(text.to_owned())
}

pub(crate) fn config(dir: &std::path::Path) -> SandboxConfig {
    SandboxConfig {
        late_ms: 300,
        delay_ms: 50,
        ..SandboxConfig::new(dir.to_owned(), secret(SECRET), secret(WEBHOOK_SECRET))
    }
}

fn client_of(sandbox: &Sandbox) -> SandboxGateway {
    SandboxGateway::new(&sandbox.base_url(), &secret(SECRET), secret(WEBHOOK_SECRET))
}

impl Stage {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(set_up: impl FnOnce(&mut SandboxConfig)) -> Self {
        let (dir, inbox) = (tempfile::tempdir().unwrap(), Inbox::open());
        let mut config = config(dir.path());
        config.webhook_url = Some(inbox.url());
        set_up(&mut config);
        let sandbox = Sandbox::start(config).await.unwrap();
        let (gateway, client) = (client_of(&sandbox), HttpClient::new(AddressPolicy::Any));
        Self { sandbox, gateway, inbox, client, dir }
    }

    /// Stops the sandbox and starts it again on the same file.
    pub(crate) async fn restart(self, webhooks: bool) -> Self {
        let Self { sandbox, inbox, client, dir, .. } = self;
        sandbox.shutdown().await;
        let mut config = config(dir.path());
        config.webhook_url = webhooks.then(|| inbox.url());
        let sandbox = Sandbox::start(config).await.unwrap();
        Self { gateway: client_of(&sandbox), sandbox, inbox, client, dir }
    }

    pub(crate) fn file(&self) -> std::path::PathBuf {
        self.dir.path().join("sandbox.jsonl")
    }

    /// Asks something; an error means that no answer came.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, onrush_base::http_client::CallError> {
        let uri = format!("{}{path}", self.sandbox.base_url());
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.client.call(request.body(body.into()).unwrap(), TIMEOUT_MS).await?;
        let (parts, body) = answer.into_parts();
        Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// Asks with the secret.
    pub(crate) async fn api(&self, method: &str, path: &str, key: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {SECRET}");
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", key)];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.ask(method, path, &headers, body).await.unwrap()
    }

    /// Pays on the page as a load generator does.
    pub(crate) async fn pay(
        &self,
        order: &Order,
        card: &str,
    ) -> Result<Answer, onrush_base::http_client::CallError> {
        let headers =
            [("accept", "application/json"), ("content-type", "application/x-www-form-urlencoded")];
        let path = format!("/pay/{}", order.payment);
        self.ask("POST", &path, &headers, format!("action=pay&card={card}")).await
    }

    pub(crate) async fn script(&self, script: Value) {
        let answer = self.api("POST", "/v1/faults", "", &script).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    pub(crate) async fn totals(&self) -> SandboxTotals {
        let answer = self.api("GET", "/v1/totals", "", &Value::Null).await;
        serde_json::from_slice(&answer.body).unwrap()
    }

    pub(crate) async fn list(&self, query: &str) -> PaymentList {
        let answer = self.api("GET", &format!("/v1/payments{query}"), "", &Value::Null).await;
        serde_json::from_slice(&answer.body).unwrap()
    }
}

/// An order of 12.50 EUR.
pub(crate) fn order(payment: &str) -> Order {
    Order {
        payment: payment.parse().unwrap(),
        booking: format!("tour.{payment}").parse().unwrap(),
        event: "tour".parse().unwrap(),
        amount_minor: 1_250,
        currency: "EUR".parse().unwrap(),
        capture: Capture::AtOnce,
        description: "Two seats".into(),
        reference: None,
        written_at_s: crate::inbox::now_s(),
    }
}

pub(crate) fn refund_of(order: &Order, number: u32, amount_minor: i64) -> RefundOrder {
    RefundOrder {
        refund: format!("refund:{}:{number}", order.booking),
        payment: order.clone(),
        amount_minor,
        written_at_s: crate::inbox::now_s(),
        reference: None,
        known: (1..=9).map(|number| format!("refund:{}:{number}", order.booking)).collect(),
    }
}

/// The body that asks for a payment.
pub(crate) fn body(order: &Order) -> Value {
    json!({
        "payment": order.payment, "booking": order.booking, "event": order.event,
        "amount_minor": order.amount_minor, "currency": order.currency, "description": order.description,
    })
}
