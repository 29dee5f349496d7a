//! TLS under the public listener.
//!
//! The greeting is part of the connection's own task: it begins with the first read, so that nobody
//! who greets slowly keeps others from being accepted, and the gate has counted the connection
//! before a byte of it is looked at.

use super::wire::{Doors, Wire};
use crate::certificate::Certificate;
use onrush_tls::CHALLENGE_PROTOCOL;
use onrush_tls::rustls::ServerConfig;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

/// How long a client may take for its part of the greeting.
const GREETING: Duration = Duration::from_secs(10);

/// A listener whose connections speak TLS, each with the certificate that counts when it comes in.
pub(super) struct TlsDoors {
    listener: TcpListener,
    certificate: Certificate,
}

impl TlsDoors {
    pub(super) fn new(listener: TcpListener, certificate: Certificate) -> Self {
        Self { listener, certificate }
    }
}

impl Doors for TlsDoors {
    type Wire = TlsWire;

    async fn accept(&mut self) -> io::Result<(TlsWire, IpAddr)> {
        let (stream, peer) = self.listener.accept().await?;
        Ok((TlsWire::new(stream, self.certificate.now()), peer.ip()))
    }
}

/// A connection that speaks TLS, from its greeting on.
pub(super) struct TlsWire {
    stage: Stage,
}

enum Stage {
    Greeting { accept: Box<Accept<TcpStream>>, patience: Pin<Box<Sleep>> },
    Open(Box<TlsStream<TcpStream>>),
    Failed,
}

impl TlsWire {
    fn new(stream: TcpStream, config: Arc<ServerConfig>) -> Self {
        let accept = Box::new(TlsAcceptor::from(config).accept(stream));
        Self { stage: Stage::Greeting { accept, patience: Box::pin(sleep(GREETING)) } }
    }

    /// The connection below, unless the greeting came to nothing.
    fn tcp(&self) -> Option<&TcpStream> {
        match &self.stage {
            Stage::Greeting { accept, .. } => accept.get_ref(),
            Stage::Open(stream) => Some(stream.get_ref().0),
            Stage::Failed => None,
        }
    }

    /// Goes on with the greeting, and gives what comes of it.
    fn poll_open(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Pin<&mut TlsStream<TcpStream>>>> {
        if let Stage::Greeting { accept, patience } = &mut self.stage {
            let greeted = match Pin::new(&mut **accept).poll(context) {
                Poll::Ready(greeted) => greeted,
                Poll::Pending => {
                    ready!(patience.as_mut().poll(context));
                    Err(io::Error::new(io::ErrorKind::TimedOut, "the greeting took too long"))
                }
            };
            match greeted.and_then(nobody_else) {
                Ok(stream) => self.stage = Stage::Open(Box::new(stream)),
                Err(error) => {
                    self.stage = Stage::Failed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        match &mut self.stage {
            Stage::Open(stream) => Poll::Ready(Ok(Pin::new(&mut **stream))),
            Stage::Greeting { .. } | Stage::Failed => {
                Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
            }
        }
    }
}

/// An authority that looked at a name has seen what it came for: nothing is said after that
/// (RFC 8737, section 3).
fn nobody_else(stream: TlsStream<TcpStream>) -> io::Result<TlsStream<TcpStream>> {
    if stream.get_ref().1.alpn_protocol() == Some(CHALLENGE_PROTOCOL) {
        return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "a challenge was looked at"));
    }
    Ok(stream)
}

impl AsyncRead for TlsWire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_open(context))?.poll_read(context, buffer)
    }
}

impl AsyncWrite for TlsWire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(context))?.poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(context))?.poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(context))?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stage {
            // Nobody waits for a goodbye before the greeting is over.
            Stage::Greeting { .. } | Stage::Failed => Poll::Ready(Ok(())),
            Stage::Open(stream) => Pin::new(&mut **stream).poll_shutdown(context),
        }
    }
}

impl Wire for TlsWire {
    fn make_ready(&self) -> io::Result<()> {
        self.tcp().map_or(Ok(()), Wire::make_ready)
    }

    fn throw_away(&self) {
        if let Some(tcp) = self.tcp() {
            tcp.throw_away();
        }
    }

    /// Says nothing: before the greeting it could not be understood, and the greeting takes time.
    fn turn_away(self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_tls::{Pair, server_config};
    use std::net::Ipv4Addr;
    use tokio::io::AsyncReadExt;

    #[tokio::test(start_paused = true)]
    async fn a_greeting_that_does_not_come_ends_the_connection() {
        let issued = onrush_testkit::Authority::new("ours").server();
        let pair = Pair::new(issued.cert.into(), issued.key.into()).unwrap();
        let config = Arc::new(server_config(&pair).unwrap());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let mut wire = TlsWire::new(accepted, config);
        // Nothing else happens, so the time passes at once.
        let error = wire.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(wire.tcp().is_none(), "the connection is closed");
        drop(client);
    }
}
