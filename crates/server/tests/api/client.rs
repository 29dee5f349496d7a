//! A small HTTP client that hides nothing: one request a connection, and the answer as it came.

use serde_json::Value;
use std::fmt::Write;
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The JSON body.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("not JSON: {}", String::from_utf8_lossy(&self.body)))
    }

    /// A member of the JSON body as text.
    pub(crate) fn text(&self, member: &str) -> String {
        self.json()[member].as_str().unwrap_or_else(|| panic!("no {member}: {self:?}")).to_owned()
    }

    /// The problem's code, once everything that a problem promises was checked.
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        let code = problem["code"].as_str().unwrap().to_owned();
        assert_eq!(problem["type"], format!("/docs/errors#{code}"));
        assert!(problem["retryable"].is_boolean() && problem["title"].is_string());
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        let comes_back = self.header("retry-after").is_some();
        assert_eq!(comes_back, matches!(self.status, 429 | 503), "{self:?}");
        (self.status, code)
    }

    /// The same, with the status it must have.
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }
}

/// A request that is being put together.
#[derive(Clone)]
pub(crate) struct Request {
    to: SocketAddr,
    head: String,
    body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(to: SocketAddr, method: &str, path: &str) -> Self {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {to}\r\n");
        Self { to, head, body: Vec::new() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        write!(self.head, "{name}: {value}\r\n").unwrap();
        self
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("Idempotency-Key", key)
    }

    pub(crate) fn json(self, value: &Value) -> Self {
        self.header("Content-Type", "application/json").body(value.to_string())
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        let length = self.body.len().to_string();
        self.header("Content-Length", &length)
    }

    /// A body in chunks, framed by the caller, whose length nothing announces.
    pub(crate) fn chunked(mut self, framed: Vec<u8>) -> Self {
        self.body = framed;
        self.header("Transfer-Encoding", "chunked")
    }

    /// Says how long the body will be, of which not all is sent at once.
    pub(crate) fn announce(self, length: usize) -> Self {
        self.header("Content-Length", &length.to_string())
    }

    /// The first part of an announced body.
    pub(crate) fn body_part(mut self, part: &str) -> Self {
        self.body = part.into();
        self
    }

    /// Sends it, and reads nothing but the status.
    pub(crate) async fn start_status(self) -> u16 {
        read_head(&mut self.start().await).await.0
    }

    pub(crate) async fn send(self) -> Answer {
        let mut stream = self.header("Connection", "close").start().await;
        let (status, headers) = read_head(&mut stream).await;
        let mut body = Vec::new();
        let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        match length.and_then(|(_, length)| length.parse().ok()) {
            Some(length) => {
                body.resize(length, 0);
                stream.read_exact(&mut body).await.unwrap();
            }
            None => drop(stream.read_to_end(&mut body).await.unwrap()),
        }
        Answer { status, headers, body }
    }

    /// Sends it, and hands the connection back before anything of the answer was read.
    pub(crate) async fn start(self) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.to).await.unwrap();
        let mut bytes = self.head.into_bytes();
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        // A server that has seen enough may answer and close before all of it is written.
        drop(stream.write_all(&bytes).await);
        BufReader::new(stream)
    }
}

pub(crate) async fn read_head(stream: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines[1..].iter().map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_owned(), value.to_owned())
    });
    (status, headers.collect())
}

/// A stream of server-sent events.
pub(crate) struct Events {
    stream: BufReader<TcpStream>,
}

impl Events {
    pub(crate) async fn open(request: Request) -> Self {
        let mut stream = request.start().await;
        let (status, headers) = read_head(&mut stream).await;
        assert_eq!(status, 200);
        let has = |name: &str, value: &str| {
            headers.iter().any(|(n, v)| n.eq_ignore_ascii_case(name) && v == value)
        };
        assert!(has("content-type", "text/event-stream"), "{headers:?}");
        assert!(has("transfer-encoding", "chunked"), "{headers:?}");
        Self { stream }
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let (name, message) = self.next_named().await?;
        assert_eq!(message["type"], name);
        Some(message)
    }

    /// The next event's name and data; `None` at the end.
    pub(crate) async fn next_named(&mut self) -> Option<(String, Value)> {
        let mut name = None;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).await.unwrap() == 0 {
                return None;
            }
            let line = line.trim_end();
            // Chunk sizes, blank lines and comments stand between the fields.
            if let Some(text) = line.strip_prefix("event: ") {
                name = Some(text.to_owned());
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name.unwrap(), serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// The next message of this type; others are passed over.
    pub(crate) async fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let message = self.next().await.unwrap_or_else(|| panic!("no {kind} came"));
            if message["type"] == kind {
                return message;
            }
        }
    }
}
