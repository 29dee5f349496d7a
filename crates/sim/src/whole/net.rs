//! The network: bytes in memory, on lines that break, fall silent, or swallow what is said.

use super::client::{Answer, Asking, Soon, Ways, Wire as Near};
use crate::chance::Chance;
use onrush_serve::wire::{Doors, Wire};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Bytes on their way in each direction: few, so that who does not read is noticed.
const ON_THE_WAY: usize = 16 << 10;

/// The way to the server, as long as it lives.
pub(super) struct Net {
    doors: Mutex<Option<UnboundedSender<(Far, IpAddr)>>>,
    has_faults: AtomicBool,
    answered: AtomicU64,
    /// Answers that tell of a fault in the server itself.
    faults: Mutex<Vec<String>>,
}

/// The server's end of a line.
pub(super) struct Far(DuplexStream);

/// Where lines reach the server.
pub(super) struct Street(UnboundedReceiver<(Far, IpAddr)>);

/// What becomes of a direction of a line, after so many bytes.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The line breaks, and both ends know.
    Cut,
    /// Nothing comes any more, and nobody is told.
    Silence,
}

/// A client's end of a line.
pub(super) struct Line {
    inner: Option<DuplexStream>,
    /// Bytes that still get through to the server.
    up: Option<(usize, End)>,
    /// Bytes that still come back.
    down: Option<(usize, End)>,
}

impl Net {
    pub(super) fn new(has_faults: bool) -> Self {
        Self {
            doors: Mutex::default(),
            has_faults: AtomicBool::new(has_faults),
            answered: AtomicU64::new(0),
            faults: Mutex::default(),
        }
    }

    fn doors(&self) -> std::sync::MutexGuard<'_, Option<UnboundedSender<(Far, IpAddr)>>> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a life takes its connections from, in place of the life before.
    pub(super) fn listen(&self) -> Street {
        let (doors, street) = unbounded_channel();
        *self.doors() = Some(doors);
        Street(street)
    }

    /// How many requests were answered.
    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Answers that told of a fault in the server itself, which none should.
    pub(super) fn faults(&self) -> Vec<String> {
        std::mem::take(&mut *self.faults.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on lines hold.
    pub(super) fn calm(&self) {
        self.has_faults.store(false, Ordering::Relaxed);
    }

    /// A line to the server, as good as chance has it; `None` if nobody is there.
    fn connect(&self, from: IpAddr, chance: &mut Chance) -> Option<Line> {
        let (near, far) = duplex(ON_THE_WAY);
        self.doors().as_ref()?.send((Far(far), from)).ok()?;
        let (mut up, mut down) = (None, None);
        if self.has_faults.load(Ordering::Relaxed) {
            let end = if chance.percent(60) { End::Cut } else { End::Silence };
            let bytes = chance.below(3_000) as usize;
            match chance.below(16) {
                0 => up = Some((bytes, end)),
                1 => down = Some((bytes, end)),
                _ => {}
            }
        }
        Some(Line { inner: Some(near), up, down })
    }
}

impl Ways for Net {
    fn line<'a>(&'a self, from: IpAddr, chance: &'a mut Chance) -> Soon<'a, Option<Box<dyn Near>>> {
        Box::pin(async move {
            let line: Box<dyn Near> = Box::new(self.connect(from, chance)?);
            Some(line)
        })
    }

    fn note_answer(&self, asking: &Asking, answer: &Answer) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        if answer.status >= 500 && answer.status != 503 {
            let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
            faults.push(format!("{asking:?} was answered {answer:?}"));
        }
    }

    fn pace(&self) -> u32 {
        1
    }
}

impl Doors for Street {
    type Wire = Far;

    async fn accept(&mut self) -> io::Result<(Far, IpAddr)> {
        match self.0.recv().await {
            Some(come) => Ok(come),
            None => std::future::pending().await,
        }
    }
}

impl Wire for Far {
    fn make_ready(&self) -> io::Result<()> {
        Ok(())
    }

    fn throw_away(&self) {}

    fn turn_away(self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Far {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Far {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl Line {
    fn broken() -> io::Error {
        io::ErrorKind::ConnectionReset.into()
    }

    /// Breaks the line for both ends.
    fn cut<T>(&mut self) -> Poll<io::Result<T>> {
        self.inner = None;
        Poll::Ready(Err(Self::broken()))
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.down {
            Some((0, End::Cut)) => return self.cut(),
            Some((0, End::Silence)) => return Poll::Pending,
            Some(_) | None => {}
        }
        let this = &mut *self;
        let Some(inner) = &mut this.inner else { return Poll::Ready(Err(Self::broken())) };
        let Some((left, _)) = &mut this.down else {
            return Pin::new(inner).poll_read(context, buffer);
        };
        let mut some = [0; 2_048];
        let most = some.len().min(*left).min(buffer.remaining());
        let mut some = ReadBuf::new(&mut some[..most]);
        let read = Pin::new(inner).poll_read(context, &mut some);
        *left -= some.filled().len();
        buffer.put_slice(some.filled());
        read
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.up {
            Some((0, End::Cut)) => return self.cut(),
            Some((0, End::Silence)) => return Poll::Ready(Ok(bytes.len())),
            Some(_) | None => {}
        }
        let this = &mut *self;
        let Some(inner) = &mut this.inner else { return Poll::Ready(Err(Self::broken())) };
        let Some((left, _)) = &mut this.up else {
            return Pin::new(inner).poll_write(context, bytes);
        };
        let part = &bytes[..bytes.len().min(*left)];
        let wrote = Pin::new(inner).poll_write(context, part);
        if let Poll::Ready(Ok(wrote)) = &wrote {
            *left -= wrote;
        }
        wrote
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Some(inner) => Pin::new(inner).poll_flush(context),
            None => Poll::Ready(Err(Self::broken())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Some(inner) => Pin::new(inner).poll_shutdown(context),
            None => Poll::Ready(Ok(())),
        }
    }
}
