//! Files that every node of one deployment must have alike: keys, the seeds of draws, the drawings of seat maps.
//!
//! A deployment of one process has them in its data directory and nowhere else. Where many nodes share a database, that
//! has them too: keys are copied into each node's data directory at its start, the others are read where they are.

use crate::app::broken;
use crate::auth::keys::KeyDir;
use crate::http::problem::Problem;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A future answer.
pub type Pending<T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send>>;

/// Where keys are, among the shared files.
const KEYS: &str = "keys/";
/// For how long a node that starts keeps others from starting, at most.
const START_MS: u32 = 30_000;
/// How long to wait for a turn before asking again.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Files in a database that all nodes share.
pub trait SharedFiles: Send + Sync + 'static {
    /// Keeps a file that is written once; gives what is kept, which is another's if that was quicker.
    fn keep(&self, name: String, bytes: Vec<u8>) -> Pending<Vec<u8>>;

    /// A file's content, if there is one.
    fn fetch(&self, name: String) -> Pending<Option<Vec<u8>>>;

    /// All files whose names begin with `prefix`, by name.
    fn all(&self, prefix: String) -> Pending<Vec<(String, Vec<u8>)>>;

    /// Replaces a file if it still is what it was (`None`: there is none); whether it was.
    fn replace(&self, name: String, before: Option<Vec<u8>>, bytes: Vec<u8>) -> Pending<bool>;

    /// Takes a turn that only one node has at a time, for `ttl_ms` at most; whether it is ours.
    fn take_turn(&self, name: String, ttl_ms: u32) -> Pending<bool>;

    /// Ends our turn.
    fn end_turn(&self, name: String) -> Pending<()>;
}

/// Waits until it is our turn.
///
/// # Errors
/// If the database cannot be used.
pub async fn wait_for_turn(shared: &dyn SharedFiles, name: &str, ttl_ms: u32) -> io::Result<()> {
    while !shared.take_turn(name.to_owned(), ttl_ms).await? {
        tokio::time::sleep(ASK_AGAIN).await;
    }
    Ok(())
}

/// Begins a start: copies the deployment's keys into this node's directory. Nodes start one after the other, so that only
/// the first draws keys.
///
/// # Errors
/// If the database or the directory cannot be used, or if the directory has other keys than the deployment.
pub async fn fetch_keys(shared: &dyn SharedFiles, keys: &KeyDir) -> io::Result<()> {
    wait_for_turn(shared, "start", START_MS).await?;
    for (name, bytes) in shared.all(KEYS.into()).await? {
        let name = name.strip_prefix(KEYS).unwrap_or(&name);
        let kept: [u8; 32] = bytes.as_slice().try_into().map_err(|_| {
            io::Error::other(format!("the shared key {name} has not 32 bytes; restore it"))
        })?;
        keys.store_new(name, &kept)?;
        if keys.load(name)? != Some(kept) {
            let why = format!(
                "the key {name} in the data directory is not the one that the other nodes have; \
                 use an empty data directory for this node"
            );
            return Err(io::Error::other(why));
        }
    }
    Ok(())
}

/// Ends a start: shares the keys that were drawn during it.
///
/// # Errors
/// If the database or the directory cannot be used.
pub async fn share_keys(shared: &dyn SharedFiles, keys: &KeyDir) -> io::Result<()> {
    for name in keys.names("")? {
        if let Some(bytes) = keys.load(&name)? {
            shared.keep(format!("{KEYS}{name}"), bytes.to_vec()).await?;
        }
    }
    shared.end_turn("start".into()).await
}

/// A 32-byte file that is written once, drawn if there is none.
///
/// # Errors
/// If the database cannot be used, or the file has another length.
pub async fn keep_drawn(shared: &dyn SharedFiles, name: &str) -> io::Result<[u8; 32]> {
    let drawn = crate::auth::random::<32>();
    let kept = shared.keep(format!("{KEYS}{name}"), drawn.to_vec()).await?;
    kept.try_into().map_err(|_| wrong_length(name))
}

/// A 32-byte file, if there is one.
///
/// # Errors
/// If the database cannot be used, or the file has another length.
pub async fn fetch_drawn(shared: &dyn SharedFiles, name: &str) -> io::Result<Option<[u8; 32]>> {
    let bytes = shared.fetch(format!("{KEYS}{name}")).await?;
    bytes.map(|bytes| bytes.try_into().map_err(|_| wrong_length(name))).transpose()
}

fn wrong_length(name: &str) -> io::Error {
    let why = format!("the shared file {name} has not 32 bytes; restore it from a backup");
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Turns at changing something that is read first: one at a time in this process and, if nodes share a database, among all
/// of them.
pub struct Turns {
    here: tokio::sync::Mutex<()>,
    shared: Option<Arc<dyn SharedFiles>>,
}

/// How long a turn may take before another node stops waiting for its end.
const TURN_MS: u32 = 10_000;

impl Turns {
    /// Turns in this process, and among all nodes if there are several.
    #[must_use]
    pub fn new(shared: Option<Arc<dyn SharedFiles>>) -> Self {
        Self { here: tokio::sync::Mutex::default(), shared }
    }

    /// Does something when it is its turn.
    ///
    /// # Errors
    /// If the database cannot be used, or whatever went wrong with the work itself.
    pub async fn take<T>(
        &self,
        name: &str,
        work: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        let _here = self.here.lock().await;
        let Some(shared) = &self.shared else { return work.await };
        let failed = |error| broken("waiting for other nodes", &error);
        wait_for_turn(&**shared, name, TURN_MS).await.map_err(failed)?;
        let done = work.await;
        // A turn that cannot be ended ends by itself.
        if let Err(error) = shared.end_turn(name.to_owned()).await {
            tracing::warn!(%error, name, "other nodes wait until this turn has run out");
        }
        done
    }
}
