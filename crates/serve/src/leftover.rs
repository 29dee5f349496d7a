//! What is left of a body that nobody reads: it is thrown away as it comes.
//!
//! A connection that is closed while its client still sends is reset, and the client's system then
//! forgets the answer that it was about to read. People would be shown a broken connection where
//! the answer says what is wrong.

use super::bodies::BodyTerms;
use super::handover::Handover;
use axum::body::Body;
use axum::http::Request;
use axum::http::header::EXPECT;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// Bodies that are as short as this have come with their heads, or nearly.
const SHORT_BYTES: u64 = 8 << 10;
/// How much of a body is thrown away, in bytes: twice the longest seat map. Whoever sends more is
/// cut off.
const MAX_LEFTOVER_BYTES: u64 = 64 << 20;
/// How long nothing may come of it: whoever sends no more has room for the answer.
const SILENCE: Duration = Duration::from_secs(2);

/// Has what a handler leaves of a request's body thrown away by the request's connection.
pub(super) fn watch_body(request: Request<Incoming>, handover: &Arc<Handover>) -> Request<Body> {
    let hint = request.body().size_hint();
    // Whoever asks before they send has sent nothing yet.
    let hears = hint.upper().is_some_and(|most| most <= SHORT_BYTES)
        || hint.lower() > MAX_LEFTOVER_BYTES
        || request.headers().contains_key(EXPECT);
    request.map(|body| {
        if hears {
            return Body::new(body);
        }
        handover.watch();
        let coming = Coming { body, since: Instant::now(), bytes: 0 };
        Body::new(Watched { coming: Some(coming), handover: handover.clone() })
    })
}

/// A body, with what has come of it.
struct Coming {
    body: Incoming,
    since: Instant,
    bytes: usize,
}

impl Coming {
    fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame {
            self.bytes += frame.data_ref().map_or(0, Bytes::len);
        }
        Poll::Ready(frame)
    }
}

/// A body that is left to its connection when it is dropped before its end.
struct Watched {
    coming: Option<Coming>,
    handover: Arc<Handover>,
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Some(coming) = &mut self.coming else { return Poll::Ready(None) };
        let frame = ready!(coming.poll_frame(context));
        if !matches!(frame, Some(Ok(_))) || coming.body.is_end_stream() {
            self.coming = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.coming.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.coming.as_ref().map_or(SizeHint::with_exact(0), |coming| coming.body.size_hint())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let coming = self.coming.take();
        let came = Instant::now();
        self.handover.leave(coming.map(|coming| Leftover { coming, came, patience: None }));
    }
}

/// What is left of a body, on the same terms as if it were read, and as long as something comes.
pub(super) struct Leftover {
    coming: Coming,
    /// When something last came.
    came: Instant,
    patience: Option<Pin<Box<Sleep>>>,
}

impl Leftover {
    /// Ready when all has come, or when it has been enough.
    pub(super) fn poll(&mut self, terms: &BodyTerms, context: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(frame) = self.coming.poll_frame(context) {
            if !matches!(frame, Some(Ok(_))) || self.coming.bytes as u64 > MAX_LEFTOVER_BYTES {
                return Poll::Ready(());
            }
            self.came = Instant::now();
        }
        let until = terms.until(self.coming.since, self.coming.bytes).min(self.came + SILENCE);
        let timer = self.patience.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if timer.deadline() != until {
            timer.as_mut().reset(until);
        }
        timer.as_mut().poll(context)
    }
}
