//! Calls to others: payment gateways, and whoever wants our messages.
//!
//! Connections are kept and used again. Redirects are never followed: what answers is what was asked.

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, Uri};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use onrush_tls::rustls::ClientConfig;
use onrush_tls::{Certificates, Refusal, Unusable, Verification, client_config};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tower_service::Service;

/// The longest answer that is read, in bytes.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;
/// How much is read over of an answer of which only the status counts, in bytes, so that its connection
/// can be used again: more costs more than another connection.
const MAX_LEFTOVER_BYTES: usize = 64 << 10;
/// How long that is waited for.
const LEFTOVER: Duration = Duration::from_millis(250);
/// Idle connections that are kept to one host.
const IDLE_PER_HOST: usize = 256;
/// How long an idle connection is kept: less than servers wait, so that they rarely close one that
/// is just being used.
const IDLE: Duration = Duration::from_secs(20);

/// Which addresses may be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressPolicy {
    /// All of them.
    Any,
    /// Only those that the whole internet can reach: others are for ourselves, and who names one
    /// may want to look inside.
    PublicOnly,
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The address may not be connected to. Nothing was sent, and nothing ever will be.
    #[error("the address is not a public one")]
    Forbidden,
    /// Nobody could be connected to. Nothing was sent.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The answer did not come in time. The other side may have done what was asked.
    #[error("no answer in time")]
    TimedOut,
    /// The connection broke. The other side may have done what was asked.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The answer is longer than [`MAX_ANSWER_BYTES`].
    #[error("the answer is longer than {MAX_ANSWER_BYTES} bytes")]
    TooLong,
}

impl CallError {
    /// Whether the other side answered, if not in a way that can be read.
    #[must_use]
    pub const fn is_answer(&self) -> bool {
        match self {
            Self::TooLong => true,
            Self::Forbidden | Self::Unreachable(_) | Self::TimedOut | Self::Broken(_) => false,
        }
    }
}

/// A client with a pool of connections. Cloning it shares the pool.
#[derive(Clone)]
pub struct HttpClient {
    client: Client<HttpsConnector<Connector>, Full<Bytes>>,
    /// What the settings call the certificates, if they have any.
    place: Option<Arc<str>>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpClient")
    }
}

impl HttpClient {
    /// A client that connects to what `policy` allows, over TLS where the address says `https`.
    ///
    /// # Panics
    /// Never: authorities of the public web can be trusted.
    #[must_use]
    pub fn new(policy: AddressPolicy) -> Self {
        let config = client_config(&Certificates::default(), Verification::Full);
        Self::with_tls(policy, config.expect("the public web's authorities are some"), None)
    }

    /// The same with authorities and a certificate of one's own; `place` is what the settings call them.
    ///
    /// # Errors
    /// The certificates cannot be used.
    pub fn with_certificates(
        policy: AddressPolicy,
        certificates: &Certificates,
        place: String,
    ) -> Result<Self, Unusable> {
        let config = client_config(certificates, Verification::Full)?;
        Ok(Self::with_tls(policy, config, Some(place)))
    }

    /// A client that calls this very process: over TLS, but whoever's certificate it is, because
    /// ours is seldom one for the address that we listen at.
    ///
    /// # Panics
    /// Never: nothing is looked at that could be wrong.
    #[must_use]
    pub fn to_ourselves() -> Self {
        let config = client_config(&Certificates::default(), Verification::Nothing);
        Self::with_tls(AddressPolicy::Any, config.expect("nothing is looked at"), None)
    }

    fn with_tls(policy: AddressPolicy, tls: ClientConfig, place: Option<String>) -> Self {
        let mut http =
            HttpConnector::new_with_resolver(Resolver { policy, ask: GaiResolver::new() });
        http.set_nodelay(true);
        http.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Connector { policy, http });
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_PER_HOST)
            .build(connector);
        Self { client, place: place.map(Into::into) }
    }

    /// Sends a request and reads the whole answer, all within `timeout_ms`.
    ///
    /// # Errors
    /// See [`CallError`]. A status of any kind is an answer and no error.
    pub async fn call(
        &self,
        request: Request<Bytes>,
        timeout_ms: u64,
    ) -> Result<Response<Bytes>, CallError> {
        let exchange = async {
            let (parts, body) = self.begun(request).await?.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    CallError::TooLong
                } else {
                    CallError::Broken(innermost(&*error))
                }
            })?;
            Ok(Response::from_parts(parts, body.to_bytes()))
        };
        within(timeout_ms, exchange).await
    }

    /// Sends a request and says the status of the answer, which has to come within `timeout_ms`. Whatever
    /// follows it is thrown away, or never read.
    ///
    /// # Errors
    /// See [`CallError`]: never [`CallError::TooLong`].
    pub async fn status_of(
        &self,
        request: Request<Bytes>,
        timeout_ms: u64,
    ) -> Result<StatusCode, CallError> {
        let (parts, body) = within(timeout_ms, self.begun(request)).await?.into_parts();
        let leftover = Limited::new(body, MAX_LEFTOVER_BYTES).collect();
        // Whether it comes makes no difference.
        drop(tokio::time::timeout(LEFTOVER, leftover).await);
        Ok(parts.status)
    }

    /// Sends a request; an answer whose body is still to come.
    async fn begun(&self, request: Request<Bytes>) -> Result<Response<Body>, CallError> {
        let answer = self.client.request(request.map(Full::new)).await.map_err(|error| {
            if is_forbidden(&error) {
                CallError::Forbidden
            } else if error.is_connect() {
                CallError::Unreachable(self.unreachable(&error))
            } else {
                CallError::Broken(innermost(&error))
            }
        })?;
        Ok(answer.map(Body::new))
    }

    /// Why nobody could be connected to, and what to do about it if TLS is the reason.
    fn unreachable(&self, error: &(dyn Error + 'static)) -> String {
        let innermost = innermost(error);
        match Refusal::of_text(&innermost) {
            None => innermost,
            Some(refusal) => match &self.place {
                Some(place) => format!("{}. ({innermost})", refusal.sentence(place)),
                None => innermost,
            },
        }
    }
}

/// What comes of a call that has so much time.
async fn within<T>(
    timeout_ms: u64,
    call: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let limit = Duration::from_millis(timeout_ms);
    tokio::time::timeout(limit, call).await.unwrap_or(Err(CallError::TimedOut))
}

/// The error that the others are about.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

fn is_forbidden(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<NotPublic>() {
            return true;
        }
        // An I/O error shows the source of what it carries, and not that itself.
        let carried = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if carried.is_some_and(|carried| carried.is::<NotPublic>()) {
            return true;
        }
        next = error.source();
    }
    false
}

/// The address is one of ours, or of nobody.
#[derive(Debug, thiserror::Error)]
#[error("not a public address")]
struct NotPublic;

type BoxError = Box<dyn Error + Send + Sync>;
type Pending<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// Connects, unless the address stands in the URI and may not be connected to.
#[derive(Clone)]
struct Connector {
    policy: AddressPolicy,
    http: HttpConnector<Resolver>,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pending<Self::Response, BoxError>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        // An address needs no resolver, so the resolver cannot be the only one to look.
        let host = uri.host().unwrap_or_default();
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        if self.policy == AddressPolicy::PublicOnly && literal.is_ok_and(|ip| !is_public(ip)) {
            return Box::pin(async { Err(NotPublic.into()) });
        }
        let connecting = self.http.call(uri);
        Box::pin(async { connecting.await.map_err(Into::into) })
    }
}

/// Resolves names. What it lets through is what is connected to: the name is not resolved again in between.
#[derive(Clone)]
struct Resolver {
    policy: AddressPolicy,
    ask: GaiResolver,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pending<Self::Response, io::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        self.ask.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (policy, asking) = (self.policy, self.ask.call(name));
        Box::pin(async move {
            let found: Vec<SocketAddr> = asking.await?.collect();
            match policy {
                AddressPolicy::Any => Ok(found.into_iter()),
                AddressPolicy::PublicOnly => {
                    let any = !found.is_empty();
                    let public: Vec<SocketAddr> =
                        found.into_iter().filter(|address| is_public(address.ip())).collect();
                    if any && public.is_empty() {
                        return Err(io::Error::new(io::ErrorKind::PermissionDenied, NotPublic));
                    }
                    Ok(public.into_iter())
                }
            }
        })
    }
}

/// Whether the whole internet can reach an address.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// The networks that are not for the public: RFC 6890 and what was added to its registry.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let refused = match (a, b, c) {
        // This network, private ones, loopback.
        (0 | 10 | 127, _, _) => true,
        // Addresses behind a carrier's translation.
        (100, 64..=127, _) => true,
        // Link-local: where clouds have their metadata.
        (169, 254, _) => true,
        (172, 16..=31, _) => true,
        // Protocol assignments, documentation, and the old relays.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 51, 100) | (203, 0, 113) => true,
        (192, 168, _) => true,
        // Benchmarks.
        (198, 18 | 19, _) => true,
        // Multicast, reserved, broadcast.
        (224.., _, _) => true,
        _ => false,
    };
    !refused
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let last_v4 = || Ipv4Addr::from(((u32::from(segments[6])) << 16) | u32::from(segments[7]));
    match segments {
        // IPv4 in IPv6 clothes counts as what it is: mapped, translated, and 6to4.
        [0, 0, 0, 0, 0, 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => is_public_v4(last_v4()),
        [0x2002, high, low, ..] => {
            is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        }
        // Teredo, benchmarks and other protocol assignments; documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Only 2000::/3 is given out. Loopback, unspecified, unique local, link-local and multicast
        // lie elsewhere.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_whole_internet_are_public() {
        for (text, public) in [
            ("1.1.1.1", true),
            ("172.32.0.1", true),
            ("100.128.0.1", true),
            ("198.20.0.1", true),
            ("2606:4700::1111", true),
            ("::ffff:8.8.8.8", true),
            ("64:ff9b::808:808", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.1.2.3", false),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.168.1.1", false),
            ("198.19.0.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::7f00:1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("64:ff9b::a00:1", false),
            ("64:ff9b:1::1", false),
            ("2002:a00:1::1", false),
            ("2001:db8::1", false),
            ("fc00::1", false),
            ("fd12:3456::1", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(text.parse().unwrap()), public, "{text}");
        }
    }
}
