//! Requests' bodies: read within a time, a rate and a share of memory.

use crate::http::problem::{Code, Problem};
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use bytes::Bytes;
use http_body::Body as _;
use onrush_serve::bodies::{Counted, DEFAULT, Kind};
use onrush_serve::connection::Connection;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// How often it is looked whether a body that stalls still has time.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Reads a body of at most `LIMIT` bytes.
///
/// # Errors
/// `BODY_TOO_LARGE`, `BODY_TOO_SLOW`, `MALFORMED_JSON` if it breaks off, `BUSY` if too many long
/// ones are under way.
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
        counted: Counted::new(terms.unwrap_or(&DEFAULT), Kind::of(LIMIT)),
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
        let length = self.len();
        let now = Instant::now();
        let (since, timer) = self.waits.get_or_insert_with(|| (now, Box::pin(sleep_until(now))));
        let until = self.counted.until(*since, length);
        if until < timer.deadline() {
            // The server stops.
            timer.as_mut().reset(until);
        }
        while timer.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            if now >= until {
                let why = "the body did not come in time; send it faster, or in smaller parts";
                return Poll::Ready(Problem::new(Code::BodyTooSlow, why));
            }
            // More may have come by then, or others may want the memory.
            timer.as_mut().reset(until.min(now + LOOK_AGAIN));
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
        if self.counted.grow_to(length).is_err() {
            let why = "too many long bodies are on their way at once; send it again in a moment";
            return Err(Problem::new(Code::Busy, why));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, StreamExt};
    use onrush_serve::bodies::{MAX_BODY_BYTES, MAX_WEBHOOK_BYTES};
    use tokio::time::sleep;

    #[tokio::test]
    async fn pieces_of_a_body_are_put_together() {
        let pieces =
            ["{\"a\"", "", ":", "1}"].map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)));
        let body = Body::from_stream(futures_util::stream::iter(pieces));
        let read = read::<MAX_BODY_BYTES>(Request::new(body)).await.unwrap();
        assert_eq!(&read[..], b"{\"a\":1}");
    }

    #[tokio::test(start_paused = true)]
    async fn gateways_messages_that_stall_make_room_for_others() {
        let stalled = |bytes: usize| {
            let begun =
                futures_util::stream::iter([Ok::<_, std::io::Error>(vec![0; bytes].into())]);
            let body =
                Body::from_stream(begun.chain(futures_util::stream::pending::<Result<Bytes, _>>()));
            Box::pin(read::<MAX_WEBHOOK_BYTES>(Request::new(body)))
        };
        let mut alone = stalled(MAX_WEBHOOK_BYTES - 1);
        tokio::select! {
            _ = &mut alone => panic!("alone, it has ten seconds"),
            () = sleep(Duration::from_secs(5)) => {}
        }
        let mut all: Vec<_> = (0..15).map(|_| stalled(MAX_WEBHOOK_BYTES - 1)).collect();
        all.push(alone);
        let since = Instant::now();
        let ended = all.into_iter().map(|read| read.map(|read| (read, since.elapsed())));
        let mut hurried = 0;
        for (read, took) in futures_util::future::join_all(ended).await {
            assert_eq!(read.unwrap_err().to_json()["code"], "BODY_TOO_SLOW");
            hurried += usize::from(took <= Duration::from_millis(1_010));
        }
        assert_eq!(hurried, 8, "until half of the memory is free");
    }
}
