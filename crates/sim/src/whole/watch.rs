//! A live stream as a browser reads it: server-sent events, one after the other.

use super::client::{Asking, Client};
use super::planted::Planted;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// How long a stream may be silent: the server says something more often than that.
const SILENCE: Duration = Duration::from_secs(60);

/// An open stream.
pub(super) struct Watch {
    body: Incoming,
    heard: String,
    planted: Option<Planted>,
    count: u64,
}

/// What comes over a stream.
#[derive(Debug)]
pub(super) enum Heard {
    Message(Value),
    /// It is alive.
    Alive,
}

impl Watch {
    /// Opens the stream of an event; `None` if it is not to be had now.
    pub(super) async fn open(
        client: &mut Client,
        event: &str,
        planted: Option<Planted>,
    ) -> Option<Self> {
        let answer = client.open(&Asking::get(format!("/events/{event}/stream"))).await?;
        let (is_open, heard) = (answer.status().is_success(), String::new());
        is_open.then(|| Self { body: answer.into_body(), heard, planted, count: 0 })
    }

    /// What comes next; `None` once the stream is over, or nothing comes any more.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some(end) = self.heard.find("\n\n") {
                let event: String = self.heard.drain(..end + 2).collect();
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let Some(data) = data else { return Some(Heard::Alive) };
                let message = serde_json::from_str(data).ok()?;
                self.count += 1;
                let told = match self.planted {
                    Some(planted) => planted.in_stream(message, self.count),
                    None => Some(message),
                };
                return Some(told.map_or(Heard::Alive, Heard::Message));
            }
            let frame = timeout(SILENCE, self.body.frame()).await.ok()??.ok()?;
            if let Ok(bytes) = frame.into_data() {
                self.heard.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
    }
}
