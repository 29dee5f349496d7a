//! How a connection becomes a stream without the buffers that requests need.
//!
//! hyper reads requests and writes the head of the answer. Once that is flushed, the socket is
//! taken out of its hands and this module writes the messages itself, in chunks: a stream that only
//! waits costs a tenth of what it would.

use super::bodies::BodyTerms;
use super::chatter::Chatter;
use super::leftover::Leftover;
use super::stall::Stall;
use super::wire::Wire;
use axum::body::Body;
use bytes::{Buf, Bytes};
use futures_util::Stream;
use futures_util::task::AtomicWaker;
use http_body::Frame;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::ReadBuf;
use tokio::time::Instant;

/// What a stream says, in chunks of an HTTP body; dropping it closes the stream.
type Chunks = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// What handlers and their connection agree on.
pub struct Handover {
    /// On what terms the connection's bodies are read.
    pub bodies: Arc<BodyTerms>,
    stage: AtomicU8,
    direction: AtomicU8,
    open: Mutex<Option<Chunks>>,
    /// Whether a body is long enough for something to be left of it.
    watches: AtomicBool,
    leftover: Mutex<Option<Leftover>>,
    connection: AtomicWaker,
}

/// Requests come, and answers go.
const BOTH_WAYS: u8 = 0;
/// The client of a stream has little to say.
const ONE_WAY: u8 = 1;
/// The client said too much.
const TALKED: u8 = 2;

/// Nothing is to be handed over, or the head is not in hyper's buffer yet.
const HEAD_MISSING: u8 = 0;
/// The head is in hyper's buffer.
const HEAD_BUFFERED: u8 = 1;
/// The head is on its way to the client.
const HEAD_FLUSHED: u8 = 2;

impl Handover {
    /// A connection for requests, with these terms for their bodies.
    #[must_use]
    pub fn new(bodies: Arc<BodyTerms>) -> Self {
        let (stage, direction) = (AtomicU8::new(HEAD_MISSING), AtomicU8::new(BOTH_WAYS));
        Self {
            bodies,
            stage,
            direction,
            open: Mutex::default(),
            watches: AtomicBool::new(false),
            leftover: Mutex::default(),
            connection: AtomicWaker::new(),
        }
    }

    /// Has the connection listen no more than a stream has to.
    pub fn make_one_way(&self) {
        self.direction.store(ONE_WAY, Ordering::Relaxed);
    }

    /// Whether it is a stream.
    pub fn is_one_way(&self) -> bool {
        self.direction.load(Ordering::Relaxed) != BOTH_WAYS
    }

    /// Notes that more was said than a stream hears.
    pub fn note_chatter(&self) {
        self.direction.store(TALKED, Ordering::Relaxed);
    }

    /// Whether that was noted.
    pub fn was_talked_to(&self) -> bool {
        self.direction.load(Ordering::Relaxed) == TALKED
    }

    /// Expects something to be left of a body.
    pub(super) fn watch(&self) {
        self.watches.store(true, Ordering::Release);
    }

    /// Leaves for the connection what nobody reads of the body, if there is any.
    pub(super) fn leave(&self, leftover: Option<Leftover>) {
        self.watches.store(leftover.is_some(), Ordering::Release);
        *self.leftover.lock().unwrap_or_else(PoisonError::into_inner) = leftover;
        self.connection.wake();
    }

    /// Throws away what has come of it; to be called whenever the connection is looked after.
    pub(super) fn throw_away(&self, context: &mut Context<'_>) {
        if !self.watches.load(Ordering::Acquire) {
            return;
        }
        self.connection.register(context.waker());
        let mut leftover = self.leftover.lock().unwrap_or_else(PoisonError::into_inner);
        if leftover.as_mut().is_some_and(|left| left.poll(&self.bodies, context).is_ready()) {
            *leftover = None;
            self.watches.store(false, Ordering::Release);
        }
    }

    /// Leaves a stream for the connection, and gives the body that goes with the answer's head.
    ///
    /// `chunks` are written to the socket as they are, each as chunked bodies have them.
    pub fn offer(self: &Arc<Self>, chunks: impl Stream<Item = Bytes> + Send + 'static) -> Body {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::pin(chunks));
        Body::new(NeverReady { handover: self.clone() })
    }

    /// To be called whenever everything in hyper's buffer is on its way.
    pub fn flushed(&self) {
        if self.stage.load(Ordering::Relaxed) == HEAD_BUFFERED {
            self.stage.store(HEAD_FLUSHED, Ordering::Relaxed);
        }
    }

    /// The stream, once its head is on its way: from then on the socket is the stream's.
    pub fn take(&self) -> Option<Chunks> {
        if self.stage.load(Ordering::Relaxed) == HEAD_FLUSHED {
            self.stage.store(HEAD_MISSING, Ordering::Relaxed);
            self.open.lock().unwrap_or_else(PoisonError::into_inner).take()
        } else {
            None
        }
    }
}

/// A body that is only looked at: hyper asks for its first part after it has buffered the head.
struct NeverReady {
    handover: Arc<Handover>,
}

impl http_body::Body for NeverReady {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // It asks again after the flush, which takes nothing back.
        if self.handover.stage.load(Ordering::Relaxed) == HEAD_MISSING {
            self.handover.stage.store(HEAD_BUFFERED, Ordering::Relaxed);
        }
        Poll::Pending
    }
}

/// A wire that carries a stream until one side has enough. `G` is dropped with it.
pub struct Streaming<W, G> {
    wire: W,
    chunks: Chunks,
    unsent: Bytes,
    /// Something was written that the wire may hold back: TLS keeps what the kernel did not take.
    unflushed: bool,
    ending: bool,
    stall: Stall,
    chatter: Chatter,
    _guard: G,
}

impl<W: Wire, G> Streaming<W, G> {
    /// A stream over a wire to which the head was written.
    pub fn new(wire: W, chunks: Chunks, stall: Stall, guard: G) -> Self {
        let chatter = Chatter::new(Instant::now());
        let (unsent, unflushed, ending) = (Bytes::new(), false, false);
        Self { wire, chunks, unsent, unflushed, ending, stall, chatter, _guard: guard }
    }

    /// Whether the client is gone, or talks. What clients send is thrown away.
    fn poll_gone(&mut self, context: &mut Context<'_>) -> bool {
        let mut thrown_away = [0; 512];
        loop {
            let mut said = ReadBuf::new(&mut thrown_away);
            match Pin::new(&mut self.wire).poll_read(context, &mut said) {
                Poll::Ready(Ok(())) if said.filled().is_empty() => return true,
                Poll::Ready(Ok(())) => {
                    if !self.chatter.hear(said.filled().len(), Instant::now()) {
                        return true;
                    }
                }
                Poll::Ready(Err(_)) => return true,
                Poll::Pending => return false,
            }
        }
    }
}

impl<W: Wire, G: Unpin> Future for Streaming<W, G> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.poll_gone(context) {
            return Poll::Ready(());
        }
        loop {
            if !this.unsent.is_empty() {
                let wrote = Pin::new(&mut this.wire).poll_write(context, &this.unsent);
                match this.stall.watch(context, &this.wire, wrote) {
                    Poll::Ready(Ok(written)) => {
                        this.unsent.advance(written);
                        this.unflushed = true;
                    }
                    Poll::Ready(Err(_)) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            } else if this.unflushed {
                let flushed = Pin::new(&mut this.wire).poll_flush(context).map_ok(|()| 0);
                match this.stall.watch(context, &this.wire, flushed) {
                    Poll::Ready(Ok(_)) => this.unflushed = false,
                    Poll::Ready(Err(_)) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            } else if this.ending {
                return Poll::Ready(());
            } else {
                match this.chunks.as_mut().poll_next(context) {
                    Poll::Ready(Some(chunk)) => this.unsent = chunk,
                    Poll::Ready(None) => {
                        this.unsent = Bytes::from_static(b"0\r\n\r\n");
                        this.ending = true;
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        }
    }
}
