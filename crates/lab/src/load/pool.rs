//! Connections that many callers share.

use super::connection::{Answer, Connection, Request};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tokio::sync::Semaphore;

/// A fixed number of keep-alive connections; callers take turns, first come, first served.
pub(crate) struct Pool {
    addresses: Vec<SocketAddr>,
    /// Whose turn it is to be connected to.
    next: AtomicUsize,
    idle: Mutex<Vec<Connection>>,
    turns: Semaphore,
}

impl Pool {
    /// A pool of at most `connections`, which are opened as they are needed.
    pub(crate) fn new(address: SocketAddr, connections: usize) -> Self {
        Self::over(vec![address], connections)
    }

    /// The same over several servers that are all alike, each of which gets its share.
    pub(crate) fn over(addresses: Vec<SocketAddr>, connections: usize) -> Self {
        assert!(!addresses.is_empty(), "a pool leads somewhere");
        let (next, idle) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        Self { addresses, next, idle, turns: Semaphore::new(connections) }
    }

    /// Where the next connection goes to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.addresses[self.next.fetch_add(1, Ordering::Relaxed) % self.addresses.len()]
    }

    /// Sends a request on a free connection and gives the answer to `read`.
    ///
    /// A connection that breaks is replaced and the request sent once more: whatever is sent this
    /// way is harmless to repeat.
    ///
    /// # Errors
    /// It broke twice.
    pub(crate) async fn exchange<T>(
        &self,
        request: &Request,
        read: impl FnOnce(Answer<'_>) -> T,
    ) -> io::Result<T> {
        let _turn = self.turns.acquire().await.map_err(io::Error::other)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut connection) = idle
            && let Ok(answer) = connection.exchange(request.bytes()).await
        {
            let value = read(answer);
            self.put_back(connection);
            return Ok(value);
        }
        let mut connection = Connection::open(self.address()).await?;
        let value = read(connection.exchange(request.bytes()).await?);
        self.put_back(connection);
        Ok(value)
    }

    fn put_back(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}
