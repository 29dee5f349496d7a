//! What connections run over, and where they come in: TCP, or whatever else carries bytes.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// What carries the bytes of one connection.
pub trait Wire: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Makes it ready for requests.
    ///
    /// # Errors
    /// If it broke off already.
    fn make_ready(&self) -> io::Result<()>;

    /// Has what was written and not taken yet thrown away once it is closed.
    fn throw_away(&self);

    /// Says something to somebody who is not let in, as far as that takes no time, and closes.
    ///
    /// # Errors
    /// If it broke off already.
    fn turn_away(self, saying: &[u8]) -> io::Result<()>;
}

/// Where connections come in.
pub trait Doors: Send {
    /// What they run over.
    type Wire: Wire;

    /// Waits for the next connection, and says from where it comes.
    fn accept(&mut self) -> impl Future<Output = io::Result<(Self::Wire, IpAddr)>> + Send;
}

impl Wire for TcpStream {
    fn make_ready(&self) -> io::Result<()> {
        // Without this, small answers would wait for the acknowledgement of earlier ones.
        self.set_nodelay(true)
    }

    fn throw_away(&self) {
        // It is closed in any case; without this, the kernel would go on trying for minutes.
        drop(self.set_zero_linger());
    }

    fn turn_away(self, saying: &[u8]) -> io::Result<()> {
        let mut stream = self.into_std()?;
        stream.write_all(saying)?;
        stream.shutdown(Shutdown::Write)?;
        // Closing with a request unread would have the client see a reset instead.
        let mut unread = [0; 4_096];
        drop(stream.read(&mut unread));
        Ok(())
    }
}

impl Doors for TcpListener {
    type Wire = TcpStream;

    async fn accept(&mut self) -> io::Result<(TcpStream, IpAddr)> {
        let (stream, peer) = Self::accept(self).await?;
        Ok((stream, peer.ip()))
    }
}
