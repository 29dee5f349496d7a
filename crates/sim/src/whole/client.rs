//! Whoever speaks HTTP with the server, over lines that may not hold.

use crate::chance::Chance;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, RETRY_AFTER};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};

/// How long a client waits for an answer before it asks again.
const PATIENCE: Duration = Duration::from_secs(60);

/// What comes some time.
pub(super) type Soon<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A client's end of a line, whatever it runs over.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// How clients reach a server: in memory, or over TCP.
pub(super) trait Ways: Send + Sync {
    /// A line, as good as chance has it; `None` if nobody is there.
    fn line<'a>(&'a self, from: IpAddr, chance: &'a mut Chance) -> Soon<'a, Option<Box<dyn Wire>>>;

    /// Takes note of a request that was answered.
    fn note_answer(&self, asking: &Asking, answer: &Answer);

    /// How many times as fast as people everybody is.
    fn pace(&self) -> u32;
}

/// What is asked.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    method: Method,
    /// Below `/api/v1`.
    path: String,
    key: Option<String>,
    body: Option<Value>,
}

impl Asking {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), key: None, body: None }
    }

    pub(super) fn post(path: impl Into<String>) -> Self {
        Self { method: Method::POST, ..Self::get(path) }
    }

    pub(super) fn put(path: impl Into<String>) -> Self {
        Self { method: Method::PUT, ..Self::get(path) }
    }

    pub(super) fn patch(path: impl Into<String>) -> Self {
        Self { method: Method::PATCH, ..Self::get(path) }
    }

    pub(super) fn key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// What is asked for; nothing if there is no body.
    pub(super) fn wanted(&self) -> Value {
        self.body.clone().unwrap_or_default()
    }

    pub(super) fn body(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }
}

/// What was answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
    /// In how many seconds to ask again, if the server says so.
    after_s: Option<u32>,
}

impl Answer {
    pub(super) fn is_done(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The problem's code; nothing if there is no problem.
    pub(super) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    /// Whether nothing was decided, and the same may be asked again.
    pub(super) fn is_put_off(&self) -> bool {
        matches!(self.status, 408 | 429 | 503) || self.code() == "IN_PROGRESS"
    }
}

/// One device of one person.
pub(super) struct Client {
    ways: Arc<dyn Ways>,
    address: IpAddr,
    pub(super) token: Option<String>,
    line: Option<SendRequest<Full<Bytes>>>,
    chance: Chance,
}

impl Client {
    pub(super) fn new(ways: Arc<dyn Ways>, address: IpAddr, chance: Chance) -> Self {
        Self { ways, address, token: None, line: None, chance }
    }

    async fn wait(&mut self, from_ms: i64, to_ms: i64) {
        let ms = self.chance.within(from_ms, to_ms);
        sleep(Duration::from_millis(ms.unsigned_abs()) / self.ways.pace()).await;
    }

    /// Asks until something is decided: the same again, as people who press a button again do.
    pub(super) async fn insist(&mut self, asking: &Asking) -> Answer {
        loop {
            match self.ask(asking).await {
                Some(answer) if answer.is_put_off() => {
                    let after_ms = i64::from(answer.after_s.unwrap_or(1)) * 1_000;
                    self.wait(after_ms, after_ms + 2_000).await;
                }
                Some(answer) => return answer,
                None => self.wait(200, 3_000).await,
            }
        }
    }

    /// Asks once; `None` if no answer came.
    pub(super) async fn ask(&mut self, asking: &Asking) -> Option<Answer> {
        self.wait(1, 60).await;
        let patience = PATIENCE / self.ways.pace();
        let answered = timeout(patience, async {
            let (head, body) = self.begin(asking).await?.into_parts();
            let bytes = body.collect().await.ok()?.to_bytes();
            let after_s = head.headers.get(RETRY_AFTER);
            let after_s = after_s.and_then(|after| after.to_str().ok()?.parse().ok());
            let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            Some(Answer { status: head.status.as_u16(), body, after_s })
        });
        let answer = answered.await.ok().flatten();
        if let Some(answer) = &answer {
            self.ways.note_answer(asking, answer);
        }
        if answer.is_none() || self.chance.percent(10) {
            self.line = None;
        }
        self.wait(1, 60).await;
        answer
    }

    /// The head of an answer that goes on, on a line of its own; `None` if none came.
    pub(super) async fn open(&mut self, asking: &Asking) -> Option<Response<Incoming>> {
        let kept = self.line.take();
        let patience = PATIENCE / self.ways.pace();
        let opened = timeout(patience, self.begin(asking)).await.ok().flatten();
        self.line = kept;
        opened
    }

    async fn begin(&mut self, asking: &Asking) -> Option<Response<Incoming>> {
        let mut request = Request::builder()
            .method(asking.method.clone())
            .uri(format!("/api/v1{}", asking.path))
            .header(HOST, "sale.example");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(key) = &asking.key {
            request = request.header(HeaderName::from_static("idempotency-key"), key);
        }
        let bytes = match &asking.body {
            Some(body) => {
                request = request.header(CONTENT_TYPE, "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        let request = request.body(Full::new(bytes)).expect("a request that is in order");
        if self.line.as_ref().is_none_or(SendRequest::is_closed) {
            let line = self.ways.line(self.address, &mut self.chance).await?;
            self.line = Some(speak(line).await?);
        }
        let line = self.line.as_mut()?;
        line.ready().await.ok()?;
        line.send_request(request).await.ok()
    }
}

/// Speaks HTTP over a line.
async fn speak(line: Box<dyn Wire>) -> Option<SendRequest<Full<Bytes>>> {
    let (line, connection) = handshake(TokioIo::new(line)).await.ok()?;
    tokio::spawn(async move { drop(connection.await) });
    Some(line)
}
