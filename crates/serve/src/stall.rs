//! Patience with clients that accept nothing of what waits to be written to them.

use super::wire::Wire;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// How long one connection has accepted nothing. A connection that never has to wait never has a timer.
pub struct Stall {
    patience: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    waits: bool,
}

impl Stall {
    /// A connection that may accept nothing for so long while something waits.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        Self { patience, timer: None, waits: false }
    }

    /// Passes on how a write to `wire` went, or ends the connection if it has waited for too long.
    /// What the kernel still holds is thrown away then.
    pub fn watch(
        &mut self,
        context: &mut Context<'_>,
        wire: &impl Wire,
        wrote: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if wrote.is_ready() {
            self.waits = false;
            return wrote;
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        if !self.waits {
            self.waits = true;
            timer.as_mut().reset(Instant::now() + self.patience);
        }
        if timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        wire.throw_away();
        let why = "nothing of what waits was accepted in time";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::io::{AsyncReadExt, AsyncWrite};
    use tokio::net::{TcpListener, TcpStream};

    /// Both ends of a connection.
    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        (near.unwrap(), far.unwrap().0)
    }

    /// Writes until an error, or until so many bytes were taken.
    async fn write(near: &mut TcpStream, stall: &mut Stall, most: usize) -> io::Result<usize> {
        let mut taken = 0;
        while taken < most {
            taken += poll_fn(|context| {
                let wrote = Pin::new(&mut *near).poll_write(context, &[0; 4_096]);
                stall.watch(context, near, wrote)
            })
            .await?;
        }
        Ok(taken)
    }

    #[tokio::test]
    async fn a_client_that_accepts_nothing_is_given_up_and_one_that_reads_is_not() {
        let (mut near, mut far) = pair().await;
        // Whoever reads may have to wait for a processor meanwhile.
        let mut stall = Stall::new(Duration::from_secs(2));
        let reading = tokio::spawn(async move {
            let mut buffer = vec![0; 64 << 10];
            let mut read = 0;
            while read < 64 << 20 {
                read += far.read(&mut buffer).await.unwrap();
            }
            far
        });
        write(&mut near, &mut stall, 64 << 20).await.unwrap();
        let mut far = reading.await.unwrap();
        // Nobody reads any more.
        let error = write(&mut near, &mut stall, usize::MAX).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(near);
        let mut rest = Vec::new();
        assert!(far.read_to_end(&mut rest).await.is_err());
    }
}
