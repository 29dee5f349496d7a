//! Outgoing webhooks: one signed POST a message.

use crate::courier::{Attempt, Attempting, Channel};
use crate::deps::RelayDeps;
use crate::messages::{said_of, webhook_channel};
use axum::http::header::{CONTENT_TYPE, USER_AGENT};
use axum::http::{Method, Request, StatusCode, Uri};
use bytes::Bytes;
use onrush_base::auth::unix_now_s;
use onrush_base::config::ConfigError;
use onrush_base::config::relay::WebhookSettings;
use onrush_base::http_client::{AddressPolicy, CallError, HttpClient};
use onrush_base::signature;
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId};
use onrush_ledger::Ledger;
use onrush_ledger::booking::Booking;
use onrush_ledger::delivery::Message;
use serde::Serialize;
use serde_json::Value;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

/// How long one attempt may take, in milliseconds.
const TIMEOUT_MS: u64 = 10_000;
/// Attempts to one receiver at a time.
const PARALLEL: usize = 16;
/// The header with the signature: `t=<seconds>,v1=<HMAC-SHA256 of "t.body" in hexadecimal>`.
pub const SIGNATURE_HEADER: &str = "onrush-signature";
/// The header with the message's id.
pub const MESSAGE_ID_HEADER: &str = "onrush-message-id";

/// What requests go out by: connections, or a simulated network.
pub trait Caller: Send + Sync + 'static {
    /// Sends a request and says the status of the answer, which has to come within `timeout_ms`, as
    /// [`HttpClient::status_of`] does.
    fn call(&self, request: Request<Bytes>, timeout_ms: u64) -> Calling<'_>;
}

/// A request under way.
pub type Calling<'a> = Pin<Box<dyn Future<Output = Result<StatusCode, CallError>> + Send + 'a>>;

impl Caller for HttpClient {
    fn call(&self, request: Request<Bytes>, timeout_ms: u64) -> Calling<'_> {
        Box::pin(self.status_of(request, timeout_ms))
    }
}

/// One receiver.
pub struct WebhookChannel {
    name: String,
    setting: String,
    receiver: Arc<Receiver>,
}

struct Receiver {
    url: Uri,
    secret: String,
    client: Box<dyn Caller>,
    ledger: Arc<dyn Ledger>,
}

/// What is sent.
#[derive(Serialize)]
struct Body<'a> {
    id: &'a str,
    kind: &'a str,
    event: &'a EventId,
    #[serde(skip_serializing_if = "Option::is_none")]
    booking: Option<&'a BookingId>,
    at: Time,
    data: Value,
}

impl WebhookChannel {
    /// The channel of one receiver.
    ///
    /// # Errors
    /// Its settings cannot be used.
    pub fn new(settings: &WebhookSettings, parts: &RelayDeps) -> Result<Self, ConfigError> {
        let policy = match settings.allow_private {
            true => AddressPolicy::Any,
            false => AddressPolicy::PublicOnly,
        };
        let place = settings.certificates_place();
        let certificates = settings.certificates.load(&place).map_err(ConfigError::new)?;
        let client = HttpClient::with_certificates(policy, &certificates, place.clone());
        let client = client.map_err(|why| ConfigError::new(format!("{place}: {why}")))?;
        Self::over(settings, parts, Box::new(client))
    }

    /// The same by another way out.
    ///
    /// # Errors
    /// Its settings cannot be used.
    pub fn over(
        settings: &WebhookSettings,
        parts: &RelayDeps,
        client: Box<dyn Caller>,
    ) -> Result<Self, ConfigError> {
        settings.check().map_err(ConfigError::new)?;
        let receiver = Receiver {
            url: settings.url.parse().map_err(|error| ConfigError::new(format!("{error}")))?,
            secret: settings.secret.reveal().to_owned(),
            client,
            ledger: parts.ledger.clone(),
        };
        let setting = format!("webhooks[{}].url", settings.name);
        Ok(Self { name: webhook_channel(&settings.name), setting, receiver: Arc::new(receiver) })
    }
}

impl Receiver {
    async fn attempt(&self, message: &Message) -> Attempt {
        let about = match &message.booking {
            Some(booking) => match self.ledger.booking(booking).await {
                Ok(about) => about,
                Err(error) => return Attempt::Failed(format!("the ledger: {error}")),
            },
            None => None,
        };
        let request = match self.request(message, about.as_ref()) {
            Ok(request) => request,
            Err(why) => return Attempt::Hopeless(format!("it cannot be sent: {why}")),
        };
        match self.client.call(request, TIMEOUT_MS).await {
            Ok(status) if status.is_success() => Attempt::Done,
            Ok(StatusCode::GONE) => {
                Attempt::Hopeless("the receiver wants no more of it: 410".into())
            }
            Ok(status) => Attempt::Failed(format!("the receiver answered {}", status.as_u16())),
            // An address will not become a public one. What a name stands for may be wrong for a while.
            Err(error @ CallError::Forbidden) if self.is_at_an_address() => {
                Attempt::Hopeless(error.to_string())
            }
            Err(
                error @ (CallError::Forbidden
                | CallError::Unreachable(_)
                | CallError::TimedOut
                | CallError::Broken(_)
                | CallError::TooLong),
            ) => Attempt::Failed(error.to_string()),
        }
    }

    /// Whether the receiver's host is an address, and not a name.
    fn is_at_an_address(&self) -> bool {
        let host = self.url.host().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
    }

    fn request(
        &self,
        message: &Message,
        about: Option<&Booking>,
    ) -> Result<Request<Bytes>, String> {
        let data = said_of(&message.body, about).map_err(|error| error.to_string())?;
        let Message { id, kind, event, booking, at, body: _, channels: _ } = message;
        let body = Body { id, kind, event, booking: booking.as_ref(), at: *at, data };
        let body = serde_json::to_vec(&body).map_err(|error| error.to_string())?;
        // Each attempt has a signature of its own: an old one would not be believed.
        // Receivers hold it against their own clocks, and not against the engine's.
        let now_s = unix_now_s();
        Request::builder()
            .method(Method::POST)
            .uri(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("onrush/", env!("CARGO_PKG_VERSION")))
            .header(SIGNATURE_HEADER, signature::sign(self.secret.as_bytes(), &body, now_s))
            .header(MESSAGE_ID_HEADER, id)
            .body(body.into())
            .map_err(|error| error.to_string())
    }
}

impl Channel for WebhookChannel {
    fn name(&self) -> &str {
        &self.name
    }

    fn setting(&self) -> &str {
        &self.setting
    }

    fn parallel(&self) -> usize {
        PARALLEL
    }

    fn attempt(&self, message: Message) -> Attempting {
        let receiver = self.receiver.clone();
        Box::pin(async move { receiver.attempt(&message).await })
    }
}
