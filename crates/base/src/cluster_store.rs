//! What the nodes of one deployment have in common, beside the engine and the ledger: files, turns,
//! the organiser's inventory, and flags. A deployment of one process has none of it.

use onrush_core::ids::{EventId, PoolId};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A future answer.
pub type Pending<T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send>>;

/// How long to wait for a turn before asking again.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// What an organiser's own system wants of a pool: a row of the table `inventory`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedPool {
    /// The event.
    pub event: EventId,
    /// The pool.
    pub pool: PoolId,
    /// Units there are.
    pub capacity: u32,
    /// The price of one unit, in minor units.
    pub price_minor: i64,
}

/// Where all nodes keep what they share.
pub trait ClusterStore: Send + Sync + 'static {
    /// Keeps a file that is written once; gives what is kept, which is another's if that was quicker.
    fn keep(&self, name: String, bytes: Vec<u8>) -> Pending<Vec<u8>>;

    /// A file's content, if there is one.
    fn fetch(&self, name: String) -> Pending<Option<Vec<u8>>>;

    /// All files whose names begin with `prefix`, by name.
    fn all(&self, prefix: String) -> Pending<Vec<(String, Vec<u8>)>>;

    /// Replaces a file if it still is what it was (`None`: there is none); whether it was.
    fn replace(&self, name: String, before: Option<Vec<u8>>, bytes: Vec<u8>) -> Pending<bool>;

    /// Removes files; those that are not there are passed over.
    fn forget(&self, names: Vec<String>) -> Pending<()>;

    /// Takes a turn that only one node has at a time, for `ttl_ms` at most; whether it is ours.
    fn take_turn(&self, name: String, ttl_ms: u32) -> Pending<bool>;

    /// Ends our turn.
    fn end_turn(&self, name: String) -> Pending<()>;

    /// The organiser's inventory, of one event or of all, by event and pool.
    fn inventory(&self, event: Option<EventId>) -> Pending<Vec<WantedPool>>;

    /// Sets a flag for `percent` of the users; every node follows within a second.
    fn set_flag(&self, name: String, percent: u8) -> Pending<()>;
}

/// Waits until it is our turn.
///
/// # Errors
/// If the database cannot be used.
pub async fn wait_for_turn(cluster: &dyn ClusterStore, name: &str, ttl_ms: u32) -> io::Result<()> {
    while !cluster.take_turn(name.to_owned(), ttl_ms).await? {
        tokio::time::sleep(ASK_AGAIN).await;
    }
    Ok(())
}

/// Turns at changing something that is read first: one at a time in this process and, if nodes
/// share a database, among all of them.
pub struct Turns {
    here: tokio::sync::Mutex<()>,
    cluster: Option<Arc<dyn ClusterStore>>,
}

/// The database that nodes share cannot be used, so nobody knows whose turn it is.
#[derive(Debug, thiserror::Error)]
#[error("waiting for other nodes: {0}")]
pub struct TurnError(pub io::Error);

/// How long a turn may take before another node stops waiting for its end.
const TURN_MS: u32 = 10_000;

impl Turns {
    /// Turns in this process, and among all nodes if there are several.
    #[must_use]
    pub fn new(cluster: Option<Arc<dyn ClusterStore>>) -> Self {
        Self { here: tokio::sync::Mutex::default(), cluster }
    }

    /// Does something when it is its turn.
    ///
    /// # Errors
    /// If the database cannot be used, or whatever went wrong with the work itself.
    pub async fn take<T, E: From<TurnError>>(
        &self,
        name: &str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let _here = self.here.lock().await;
        let Some(cluster) = &self.cluster else { return work.await };
        wait_for_turn(&**cluster, name, TURN_MS).await.map_err(TurnError)?;
        let done = work.await;
        // A turn that cannot be ended ends by itself.
        if let Err(error) = cluster.end_turn(name.to_owned()).await {
            tracing::warn!(%error, name, "other nodes wait until this turn has run out");
        }
        done
    }
}
