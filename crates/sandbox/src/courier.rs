//! Signed webhooks: sent until they are taken, a bounded number of times.

use super::book::{Change, Kind, Message};
use super::parcel::Parcel;
use super::service::Service;
use axum::http::{HeaderValue, Method, Request, header};
use bytes::Bytes;
use onrush_base::auth::unix_now_s;
use onrush_base::http_client::HttpClient;
use onrush_base::signature::sign;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

/// The header that has the signature.
pub const SIGNATURE: &str = "onrush-signature";
/// Messages on their way at a time.
const IN_FLIGHT: usize = 64;
/// How long a receiver may take.
const TIMEOUT_MS: u64 = 10_000;
/// The pauses between tries. After the last one a message is given up.
const PAUSES_MS: [u64; 11] =
    [50, 200, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000];

/// Sends parcels until it is told to stop; then nothing of it is left.
pub(super) async fn carry(
    client: HttpClient,
    service: Arc<Service>,
    mut parcels: mpsc::UnboundedReceiver<Parcel>,
    mut stopped: oneshot::Receiver<()>,
) {
    let van = Arc::new(Van { client, slots: Semaphore::new(IN_FLIGHT), service });
    let mut underway = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            parcel = parcels.recv() => match parcel {
                Some(parcel) => {
                    underway.spawn(van.clone().deliver(parcel));
                }
                None => break,
            },
            Some(_) = underway.join_next() => {}
        }
    }
    underway.shutdown().await;
}

struct Van {
    client: HttpClient,
    slots: Semaphore,
    service: Arc<Service>,
}

impl Van {
    async fn deliver(self: Arc<Self>, parcel: Parcel) {
        for message in parcel {
            let wait_ms = message.due_ms - super::service::now_ms();
            if let Ok(wait_ms @ 1..) = u64::try_from(wait_ms) {
                tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            }
            let mut arrived = self.deliver_once(&message).await;
            if arrived && message.twice {
                arrived = self.deliver_once(&message).await;
            }
            if !arrived {
                tracing::warn!(message = %message.id, "a webhook was never taken and is given up");
            }
            self.service.note(Change::Settled { message: message.id });
        }
    }

    /// Sends a message until it is taken; says whether it was.
    async fn deliver_once(&self, message: &Message) -> bool {
        let Some(webhook) = self.service.webhook(message) else { return false };
        // What is sent has text keys only, which always can be written.
        let body = Bytes::from(serde_json::to_vec(&webhook).expect("it can be written as JSON"));
        for pause_ms in PAUSES_MS.into_iter().map(Some).chain([None]) {
            // The future of a call is large, and most tasks only wait.
            if Box::pin(self.attempt(body.clone())).await {
                return true;
            }
            match pause_ms {
                Some(pause_ms) => tokio::time::sleep(Duration::from_millis(pause_ms)).await,
                None => return false,
            }
        }
        false
    }

    async fn attempt(&self, body: Bytes) -> bool {
        let Some(to) = self.service.webhook_url().await else { return false };
        // The semaphore lives as long as this and is never closed.
        let Ok(_slot) = self.slots.acquire().await else { return false };
        let signature = sign(self.service.webhook_secret(), &body, unix_now_s());
        let request = Request::builder()
            .method(Method::POST)
            .uri(to)
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(SIGNATURE, signature)
            .body(body);
        let Ok(request) = request else { return false };
        match self.client.call(request, TIMEOUT_MS).await {
            Ok(answer) => answer.status().is_success(),
            Err(error) => {
                tracing::debug!(%error, "a webhook did not arrive");
                false
            }
        }
    }
}

impl Kind {
    /// The message's type.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Authorised => "payment.authorised",
            Self::Captured => "payment.captured",
            Self::Declined => "payment.declined",
            Self::Cancelled => "payment.cancelled",
            Self::RefundDone => "refund.done",
            Self::DeskRefunded => "desk.refunded",
            Self::DisputeOpened => "dispute.opened",
            Self::DisputeWon => "dispute.won",
            Self::DisputeLost => "dispute.lost",
        }
    }
}
