//! The socket as hyper and WebSocket use it.

use super::chatter::Chatter;
use super::gate::Counted;
use super::handover::Handover;
use super::stall::Stall;
use super::wire::Wire;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::ReadBuf;
use tokio::time::Instant;

/// What is read at a time from a stream's client, who has little to say.
const HEARD_AT_ONCE: usize = 2_048;

/// A socket that says when all that was written is on its way, gives up on clients that accept
/// nothing, and does not let clients of a stream talk. It is in the count of connections as long as
/// it lives, also as a WebSocket.
pub(super) struct Socket<W> {
    inner: TokioIo<W>,
    handover: Arc<Handover>,
    stall: Stall,
    chatter: Option<Chatter>,
    counted: Counted,
}

impl<W: Wire> Socket<W> {
    pub(super) fn new(
        wire: W,
        handover: Arc<Handover>,
        patience: Duration,
        counted: Counted,
    ) -> Self {
        let (inner, stall) = (TokioIo::new(wire), Stall::new(patience));
        Self { inner, handover, stall, chatter: None, counted }
    }

    /// The connection itself.
    pub(super) fn wire(&self) -> &W {
        self.inner.inner()
    }

    /// What remains when hyper has written the head of a stream.
    pub(super) fn into_parts(self) -> (W, Stall, Counted) {
        (self.inner.into_inner(), self.stall, self.counted)
    }

    /// Reads what a stream's client says, as long as it is little.
    fn poll_hear(
        &mut self,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut heard = [0; HEARD_AT_ONCE];
        let mut heard = ReadBuf::new(&mut heard[..HEARD_AT_ONCE.min(buffer.remaining())]);
        ready!(Pin::new(self.inner.inner_mut()).poll_read(context, &mut heard))?;
        let now = Instant::now();
        let chatter = self.chatter.get_or_insert_with(|| Chatter::new(now));
        if !chatter.hear(heard.filled().len(), now) {
            self.handover.note_chatter();
            return Poll::Ready(Err(io::Error::other("more was said than a stream hears")));
        }
        buffer.put_slice(heard.filled());
        Poll::Ready(Ok(()))
    }
}

impl<W: Wire> Read for Socket<W> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.handover.is_one_way() {
            return self.poll_hear(context, buffer);
        }
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<W: Wire> Write for Socket<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { inner, stall, .. } = &mut *self;
        let wrote = Pin::new(&mut *inner).poll_write(context, bytes);
        stall.watch(context, inner.inner(), wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { inner, stall, .. } = &mut *self;
        let wrote = Pin::new(&mut *inner).poll_write_vectored(context, parts);
        stall.watch(context, inner.inner(), wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.inner).poll_flush(context));
        self.handover.flushed();
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
