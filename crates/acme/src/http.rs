//! The protocol's requests through our own client: its authorities, its limits, its sentences.

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, Request};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use onrush_base::http_client::{self, AddressPolicy};
use onrush_tls::Certificates;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long one request may take.
const TIMEOUT_MS: u64 = 30_000;

/// The client, and what the authority last asked for.
#[derive(Clone)]
pub(crate) struct Http {
    client: http_client::HttpClient,
    /// Seconds that the authority wants to be left alone for; 0 if it does not say.
    retry_after_s: Arc<AtomicU64>,
}

impl Http {
    /// A client that trusts these authorities at the directory itself.
    pub(crate) fn new(certificates: &Certificates) -> Result<Self, String> {
        // The directory may be one of a private network.
        let policy = AddressPolicy::Any;
        let place = "tls.acme".to_owned();
        let client = http_client::HttpClient::with_certificates(policy, certificates, place);
        let client = client.map_err(|why| format!("tls.acme.ca: {why}"))?;
        Ok(Self { client, retry_after_s: Arc::default() })
    }

    /// What the authority asked for with its last refusal.
    pub(crate) fn take_retry_after(&self) -> Option<Duration> {
        let asked_s = self.retry_after_s.swap(0, Ordering::Relaxed);
        (asked_s > 0).then(|| Duration::from_secs(asked_s))
    }
}

/// The seconds of a header (RFC 9110, section 10.2.3); a date is left to our own pauses.
fn retry_after_s(headers: &HeaderMap) -> u64 {
    let text = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

impl HttpClient for Http {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let http = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.expect("memory can be read").to_bytes();
            let request = Request::from_parts(parts, body);
            let answer = http.client.call(request, TIMEOUT_MS).await;
            let answer = answer.map_err(|error| Error::Other(Box::new(error)))?;
            let status = answer.status();
            // Others carry the header too, to say when to look again.
            if status.is_client_error() || status.is_server_error() {
                http.retry_after_s.store(retry_after_s(answer.headers()), Ordering::Relaxed);
            }
            Ok(BytesResponse::from(answer.map(Full::new)))
        })
    }
}
