//! A TCP proxy on this machine: connections through it are cut, turned away, delayed and stalled.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

/// What becomes of bytes and of who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// They get through.
    Open,
    /// Who connects is turned away.
    Refuse,
    /// They come later.
    Delay { by_ms: u64 },
    /// They wait.
    Stall,
}

#[derive(Clone, Copy, Debug)]
struct State {
    mode: Mode,
    /// How often everything was cut.
    cuts: u64,
}

/// A proxy. It listens as long as the runtime lives.
pub(super) struct Proxy {
    address: SocketAddr,
    /// Where connections lead: to the first that answers.
    targets: Mutex<Vec<SocketAddr>>,
    next: AtomicUsize,
    state: watch::Sender<State>,
}

impl Proxy {
    /// Opens one on a free port. It leads nowhere yet.
    pub(super) async fn open() -> io::Result<Arc<Self>> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let proxy = Arc::new(Self {
            address: listener.local_addr()?,
            targets: Mutex::default(),
            next: AtomicUsize::new(0),
            state: watch::Sender::new(State { mode: Mode::Open, cuts: 0 }),
        });
        tokio::spawn(proxy.clone().accept(listener));
        Ok(proxy)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Leads new connections there.
    pub(super) fn lead_to(&self, targets: Vec<SocketAddr>) {
        *self.targets.lock().unwrap_or_else(PoisonError::into_inner) = targets;
    }

    pub(super) fn set(&self, mode: Mode) {
        self.state.send_modify(|state| state.mode = mode);
    }

    /// Ends all connections there are.
    pub(super) fn cut(&self) {
        self.state.send_modify(|state| state.cuts += 1);
    }

    async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            // Without a file for it a connection waits in the system's queue.
            let Ok((near, _)) = listener.accept().await else {
                sleep(Duration::from_millis(50)).await;
                continue;
            };
            if self.state.borrow().mode != Mode::Refuse {
                tokio::spawn(self.clone().carry(near));
            }
        }
    }

    /// The first target that answers, beginning with another one each time.
    async fn connect(&self) -> Option<TcpStream> {
        let targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        for step in 0..targets.len() {
            if let Ok(far) = TcpStream::connect(targets[(first + step) % targets.len()]).await {
                return Some(far);
            }
        }
        None
    }

    /// Carries bytes in both directions until an end is closed or everything is cut.
    async fn carry(self: Arc<Self>, near: TcpStream) {
        let mut cut = self.state.subscribe();
        let cuts = cut.borrow().cuts;
        let carried = async {
            let far = self.connect().await?;
            // Bytes are late when they are told to be, and not otherwise.
            near.set_nodelay(true).ok()?;
            far.set_nodelay(true).ok()?;
            let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
            let (up, down) = (self.state.subscribe(), self.state.subscribe());
            let done = tokio::try_join!(pass(from_near, to_far, up), pass(from_far, to_near, down));
            done.ok()
        };
        tokio::select! {
            _ = carried => {}
            _ = cut.wait_for(|state| state.cuts != cuts) => {}
        }
    }
}

/// Passes bytes on in one direction.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut state: watch::Receiver<State>,
) -> io::Result<()> {
    let mut bytes = vec![0; 16 << 10];
    loop {
        let count = from.read(&mut bytes).await?;
        let mode = match state.wait_for(|state| state.mode != Mode::Stall).await {
            Ok(state) => state.mode,
            // Nobody can change it any more.
            Err(_) => Mode::Open,
        };
        if let Mode::Delay { by_ms } = mode {
            sleep(Duration::from_millis(by_ms)).await;
        }
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(&bytes[..count]).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_secs(20);

    /// A server that says everything again, behind a proxy.
    async fn parrot() -> Arc<Proxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let proxy = Proxy::open().await.expect("a port");
        proxy.lead_to(vec![listener.local_addr().expect("an address")]);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = near.split();
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        proxy
    }

    async fn say(line: &mut TcpStream) -> io::Result<u8> {
        line.write_all(&[7]).await?;
        timeout(SOON, line.read_u8()).await.expect("an answer or an end")
    }

    #[tokio::test]
    async fn what_is_said_is_heard_until_the_line_is_cut() {
        let proxy = parrot().await;
        let mut line = TcpStream::connect(proxy.address()).await.expect("it listens");
        assert_eq!(say(&mut line).await.expect("an answer"), 7);
        proxy.cut();
        assert!(timeout(SOON, line.read_u8()).await.expect("it ends").is_err());
        let mut line = TcpStream::connect(proxy.address()).await.expect("it listens");
        assert_eq!(say(&mut line).await.expect("an answer"), 7);
    }

    #[tokio::test]
    async fn who_connects_is_turned_away_while_it_refuses() {
        let proxy = parrot().await;
        proxy.set(Mode::Refuse);
        let mut line = TcpStream::connect(proxy.address()).await.expect("it listens");
        assert!(say(&mut line).await.is_err());
        proxy.set(Mode::Open);
        let mut line = TcpStream::connect(proxy.address()).await.expect("it listens");
        assert_eq!(say(&mut line).await.expect("an answer"), 7);
    }

    #[tokio::test]
    async fn bytes_wait_while_it_stalls_and_go_on_afterwards() {
        let proxy = parrot().await;
        let mut line = TcpStream::connect(proxy.address()).await.expect("it listens");
        assert_eq!(say(&mut line).await.expect("an answer"), 7);
        proxy.set(Mode::Stall);
        line.write_all(&[8]).await.expect("the proxy takes it");
        let early = timeout(Duration::from_millis(200), line.read_u8()).await;
        assert!(early.is_err(), "nothing comes: {early:?}");
        proxy.set(Mode::Open);
        assert_eq!(timeout(SOON, line.read_u8()).await.expect("in time").expect("an answer"), 8);
    }

    #[tokio::test]
    async fn bytes_that_are_delayed_come_later() {
        let proxy = parrot().await;
        proxy.set(Mode::Delay { by_ms: 60 });
        let mut line = TcpStream::connect(proxy.address()).await.expect("it listens");
        let begun = std::time::Instant::now();
        assert_eq!(say(&mut line).await.expect("an answer"), 7);
        assert!(begun.elapsed() >= Duration::from_millis(120), "there and back");
    }
}
