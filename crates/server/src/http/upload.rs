//! Requests' bodies: read within a time, a rate and a share of memory.

use crate::config::ConnectionSettings;
use crate::http::caller::Connection;
use crate::http::problem::{Code, Problem};
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use bytes::Bytes;
use http_body::Body as _;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// The longest body of anything but a webhook or a seat map, in bytes.
pub const MAX_BODY_BYTES: usize = 64 << 10;
/// The longest webhook, in bytes.
pub const MAX_WEBHOOK_BYTES: usize = 1 << 20;
/// The longest seat map, in bytes.
pub const MAX_PLAN_BYTES: usize = 32 << 20;
/// What a body may have of memory without being counted: nearly all bodies are shorter.
const UNCOUNTED_BYTES: usize = 8 << 10;

/// Bodies with a share of memory of their own, so that those of one kind cannot shut out those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ordinary,
    Webhook,
    Plan,
}

impl Kind {
    const fn of(limit: usize) -> Self {
        if limit <= MAX_BODY_BYTES {
            Self::Ordinary
        } else if limit <= MAX_WEBHOOK_BYTES {
            Self::Webhook
        } else {
            Self::Plan
        }
    }

    /// What all bodies of this kind under way may have of memory, in bytes.
    const fn share(self) -> usize {
        match self {
            Self::Ordinary => 64 << 20,
            Self::Webhook => 16 << 20,
            // Only the organiser sends them.
            Self::Plan => 2 * MAX_PLAN_BYTES,
        }
    }
}

/// On what terms a listener's bodies are read.
#[derive(Debug)]
pub struct BodyTerms {
    timeout: Duration,
    bytes_per_s: u32,
    /// Counted bytes of bodies under way, by [`Kind`].
    under_way: [AtomicUsize; 3],
}

/// The terms of requests that came over no listener.
static DEFAULT: BodyTerms = BodyTerms {
    timeout: Duration::from_secs(10),
    bytes_per_s: 8_192,
    under_way: [const { AtomicUsize::new(0) }; 3],
};

impl Default for BodyTerms {
    fn default() -> Self {
        Self::new(&ConnectionSettings::default())
    }
}

impl BodyTerms {
    /// The configured ones.
    #[must_use]
    pub fn new(settings: &ConnectionSettings) -> Self {
        Self {
            timeout: Duration::from_millis(settings.body_timeout_ms.into()),
            bytes_per_s: settings.body_bytes_per_s.max(1),
            under_way: Default::default(),
        }
    }

    /// How long a body of which so much has come may have taken.
    fn allowed(&self, bytes: usize) -> Duration {
        let ms = bytes as u64 * 1_000 / u64::from(self.bytes_per_s);
        self.timeout + Duration::from_millis(ms)
    }
}

/// Reads a body of at most `LIMIT` bytes.
///
/// # Errors
/// `BODY_TOO_LARGE`, `BODY_TOO_SLOW`, `MALFORMED_JSON` if it breaks off, `BUSY` if too many long ones are under way.
pub async fn read<const LIMIT: usize>(request: Request) -> Result<Bytes, Problem> {
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let announced: Option<u64> = announced.and_then(|text| text.parse().ok());
    if announced.is_some_and(|length| length > LIMIT as u64) {
        return Err(too_large(LIMIT));
    }
    let (parts, body) = request.into_parts();
    let terms = parts.extensions.get::<Connection>().map(|connection| &*connection.handover.bodies);
    let most = announced.map_or(LIMIT, |length| usize::try_from(length).unwrap_or(LIMIT));
    let mut reading = Reading {
        body,
        most,
        got: Got::Nothing,
        counted: Counted { terms: terms.unwrap_or(&DEFAULT), kind: Kind::of(LIMIT), bytes: 0 },
        waits: None,
    };
    poll_fn(|context| reading.poll(context, LIMIT)).await
}

fn too_large(limit: usize) -> Problem {
    Problem::new(Code::BodyTooLarge, format!("send at most {limit} bytes in one body"))
}

/// What has come of a body. One that came in one piece is not copied.
enum Got {
    Nothing,
    One(Bytes),
    Many(Vec<u8>),
}

/// A body that is being read.
struct Reading<'a> {
    body: Body,
    /// The longest that it can be.
    most: usize,
    got: Got,
    counted: Counted<'a>,
    /// Since when it has been waited for, and until when; nothing if all came with the head.
    waits: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Reading<'_> {
    fn poll(&mut self, context: &mut Context<'_>, limit: usize) -> Poll<Result<Bytes, Problem>> {
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending => return self.poll_patience(context).map(Err),
                Poll::Ready(None) => return Poll::Ready(Ok(self.take())),
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data()
                        && let Err(problem) = self.add(data, limit)
                    {
                        return Poll::Ready(Err(problem));
                    }
                }
                Poll::Ready(Some(Err(_))) => {
                    let why = "the body broke off; send it again";
                    return Poll::Ready(Err(Problem::new(Code::MalformedJson, why)));
                }
            }
        }
    }

    /// Ready when the body has taken too long.
    fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<Problem> {
        let allowed = self.counted.terms.allowed(self.len());
        let (since, timer) = self.waits.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(sleep_until(now + allowed)))
        });
        let until = *since + allowed;
        while timer.as_mut().poll(context).is_ready() {
            if Instant::now() >= until {
                let why = "the body did not come in time; send it faster, or in smaller parts";
                return Poll::Ready(Problem::new(Code::BodyTooSlow, why));
            }
            // More has come since the timer was set.
            timer.as_mut().reset(until);
        }
        Poll::Pending
    }

    fn len(&self) -> usize {
        match &self.got {
            Got::Nothing => 0,
            Got::One(bytes) => bytes.len(),
            Got::Many(bytes) => bytes.len(),
        }
    }

    fn add(&mut self, data: Bytes, limit: usize) -> Result<(), Problem> {
        if data.is_empty() {
            return Ok(());
        }
        let length = self.len() + data.len();
        if length > limit {
            return Err(too_large(limit));
        }
        self.counted.grow_to(length)?;
        // Pieces are copied together: each would keep alive the whole buffer that it was read into.
        self.got = match std::mem::replace(&mut self.got, Got::Nothing) {
            Got::Nothing => Got::One(data),
            Got::One(first) => Got::Many([first, data].concat()),
            Got::Many(mut bytes) => {
                if bytes.capacity() < length {
                    let room = (2 * bytes.capacity()).clamp(length, self.most.max(length));
                    bytes.reserve_exact(room - bytes.len());
                }
                bytes.extend_from_slice(&data);
                Got::Many(bytes)
            }
        };
        Ok(())
    }

    fn take(&mut self) -> Bytes {
        match std::mem::replace(&mut self.got, Got::Nothing) {
            Got::Nothing => Bytes::new(),
            Got::One(bytes) => bytes,
            Got::Many(bytes) => bytes.into(),
        }
    }
}

/// What a body has of its kind's share, given back when it is dropped.
struct Counted<'a> {
    terms: &'a BodyTerms,
    kind: Kind,
    bytes: usize,
}

impl Counted<'_> {
    fn grow_to(&mut self, length: usize) -> Result<(), Problem> {
        let more = length.saturating_sub(UNCOUNTED_BYTES) - self.bytes;
        if more == 0 {
            return Ok(());
        }
        let under_way = &self.terms.under_way[self.kind as usize];
        let all = under_way.fetch_add(more, Ordering::Relaxed) + more;
        self.bytes += more;
        if all > self.kind.share() {
            let why = "too many long bodies are on their way at once; send it again in a moment";
            return Err(Problem::new(Code::Busy, why));
        }
        Ok(())
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.terms.under_way[self.kind as usize].fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_line_has_time_for_a_plan_and_a_dripping_one_has_not() {
        let terms = BodyTerms::default();
        let minutes = terms.allowed(MAX_PLAN_BYTES).as_secs() / 60;
        assert!((60..=75).contains(&minutes), "{minutes} minutes for the longest plan");
        assert_eq!(terms.allowed(0), Duration::from_secs(10));
        // A byte a second earns next to nothing.
        assert!(terms.allowed(12) < Duration::from_millis(10_010));
    }

    #[test]
    fn short_bodies_are_not_counted_and_long_ones_give_back_what_they_took() {
        let terms = BodyTerms::default();
        let under_way = |kind: Kind| terms.under_way[kind as usize].load(Ordering::Relaxed);
        let counted = |kind| Counted { terms: &terms, kind, bytes: 0 };
        let mut short = counted(Kind::Ordinary);
        short.grow_to(UNCOUNTED_BYTES).unwrap();
        assert_eq!(under_way(Kind::Ordinary), 0);
        let mut long = counted(Kind::Plan);
        for length in [1, 10_000, 20_000, MAX_PLAN_BYTES] {
            long.grow_to(length).unwrap();
        }
        assert_eq!(under_way(Kind::Plan), MAX_PLAN_BYTES - UNCOUNTED_BYTES);
        drop(long);
        assert_eq!(under_way(Kind::Plan), 0);
    }

    #[test]
    fn a_full_share_refuses_its_own_kind_alone() {
        let terms = BodyTerms::default();
        let counted = |kind| Counted { terms: &terms, kind, bytes: 0 };
        let mut webhooks: Vec<_> = (0..16).map(|_| counted(Kind::Webhook)).collect();
        webhooks.iter_mut().for_each(|webhook| webhook.grow_to(MAX_WEBHOOK_BYTES).unwrap());
        let mut another = counted(Kind::Webhook);
        assert_eq!(another.grow_to(MAX_WEBHOOK_BYTES).unwrap_err().code(), "BUSY");
        counted(Kind::Ordinary).grow_to(MAX_BODY_BYTES).unwrap();
        counted(Kind::Plan).grow_to(MAX_PLAN_BYTES).unwrap();
        drop((another, webhooks));
        counted(Kind::Webhook).grow_to(MAX_WEBHOOK_BYTES).unwrap();
    }

    #[tokio::test]
    async fn pieces_of_a_body_are_put_together() {
        let pieces =
            ["{\"a\"", "", ":", "1}"].map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)));
        let body = Body::from_stream(futures_util::stream::iter(pieces));
        let read = read::<MAX_BODY_BYTES>(Request::new(body)).await.unwrap();
        assert_eq!(&read[..], b"{\"a\":1}");
    }
}
