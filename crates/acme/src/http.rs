//! The protocol's requests through our own client: its authorities, its limits, its sentences.

use crate::schedule::MAX_ASKED;
use crate::trouble::Unanswered;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, HeaderValue, Method, Request};
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

/// Has an answer ask for no more than is heeded. The protocol's crate adds the seconds of each answer
/// to its clocks as they come, and panics where the sum is too late for them.
fn cap_retry_after(headers: &mut HeaderMap) {
    if retry_after_s(headers) > MAX_ASKED.as_secs() {
        headers.insert(RETRY_AFTER, HeaderValue::from(MAX_ASKED.as_secs()));
    }
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
            let is_posted = request.method() == Method::POST;
            let answer = http.client.call(request, TIMEOUT_MS).await;
            let mut answer =
                answer.map_err(|call| Error::Other(Box::new(Unanswered { call, is_posted })))?;
            cap_retry_after(answer.headers_mut());
            let status = answer.status();
            // Others carry the header too, to say when to look again.
            if status.is_client_error() || status.is_server_error() {
                http.retry_after_s.store(retry_after_s(answer.headers()), Ordering::Relaxed);
            }
            Ok(BytesResponse::from(answer.map(Full::new)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::{Fault, Trouble};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn no_answer_has_the_protocol_wait_for_more_than_a_day() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/order", listener.local_addr().unwrap());
        let http = Http::new(&Certificates::default()).unwrap();
        let date = "Fri, 31 Dec 1999 23:59:59 GMT";
        for (status, said, heeded) in [
            ("200 OK", "18446744073709551615", "86400"),
            ("200 OK", "86401", "86400"),
            ("503 -", "9223372036854775807", "86400"),
            ("200 OK", "86400", "86400"),
            ("200 OK", "7", "7"),
            ("200 OK", date, date),
        ] {
            let answers = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 4_096];
                assert!(stream.read(&mut request).await.unwrap() > 0);
                let answer = format!(
                    "HTTP/1.1 {status}\r\nRetry-After: {said}\r\nContent-Length: 0\r\n\
                     Connection: close\r\n\r\n"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            };
            let request = Request::get(&url).body(BodyWrapper::default()).unwrap();
            let (answer, ()) = tokio::join!(http.request(request), answers);
            let answer = answer.unwrap_or_else(|error| panic!("{said}: {error}"));
            assert_eq!(answer.parts.headers[RETRY_AFTER], heeded, "{said}");
            let asked_s = http.take_retry_after().map(|asked| asked.as_secs());
            assert_eq!(asked_s, (status == "503 -").then_some(86_400), "{said}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn authority_that_says_nothing_was_asked_by_what_is_posted_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/directory", listener.local_addr().unwrap());
        let http = Http::new(&Certificates::default()).unwrap();
        for (method, fault) in [
            (Method::GET, Fault::Unreached),
            (Method::HEAD, Fault::Unreached),
            (Method::POST, Fault::Refused),
        ] {
            let request = Request::builder().method(method.clone()).uri(&url);
            let request = request.body(BodyWrapper::default()).unwrap();
            // Nothing else happens, so the time passes at once.
            let error = http.request(request).await.err().expect("there is no answer");
            let trouble = Trouble::from(error);
            assert_eq!(trouble.fault, fault, "{method}");
            assert!(trouble.why.ends_with(": no answer in time"), "{method}: {}", trouble.why);
        }
    }
}
