//! One request to the bank.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::handshake;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is asked of the bank.
pub(super) struct ToBank<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    /// The key of what must be done once.
    pub(super) key: &'a str,
    pub(super) content_type: &'a str,
    pub(super) body: String,
}

impl<'a> ToBank<'a> {
    pub(super) fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, key: "", content_type: "", body: String::new() }
    }

    /// Asks on a connection of its own; `None` if no answer came.
    pub(super) async fn ask(self, address: SocketAddr, secret: &str) -> Option<(u16, Value)> {
        timeout(PATIENCE, self.exchange(address, secret)).await.ok().flatten()
    }

    async fn exchange(self, address: SocketAddr, secret: &str) -> Option<(u16, Value)> {
        let line = TcpStream::connect(address).await.ok()?;
        let (mut line, connection) = handshake(TokioIo::new(line)).await.ok()?;
        tokio::spawn(async move { drop(connection.await) });
        let mut request = Request::builder()
            .method(self.method)
            .uri(self.path)
            .header(HOST, address.to_string())
            .header(AUTHORIZATION, format!("Bearer {secret}"));
        if !self.key.is_empty() {
            request = request.header("idempotency-key", self.key);
        }
        if !self.content_type.is_empty() {
            request = request.header(CONTENT_TYPE, self.content_type);
        }
        let request = request.body(Full::new(Bytes::from(self.body))).ok()?;
        let answer = line.send_request(request).await.ok()?;
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.ok()?.to_bytes();
        Some((status, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
    }
}
