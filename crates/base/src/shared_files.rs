//! Files that every node of one deployment must have alike: keys, the seeds of draws, the drawings
//! of seat maps.
//!
//! A deployment of one process has them in its data directory and nowhere else. Where many nodes
//! share a database, that has them too: keys are copied into each node's data directory at its
//! start, the others are read where they are.

use crate::auth::keys::KeyDir;
use crate::cluster_store::{ClusterStore, wait_for_turn};
use std::io;

/// Where keys are, among the shared files.
const KEYS: &str = "keys/";
/// For how long a node that starts keeps others from starting, at most.
const START_MS: u32 = 30_000;

/// Begins a start: copies the deployment's keys into this node's directory. Nodes start one after
/// the other, so that only the first draws keys.
///
/// # Errors
/// If the database or the directory cannot be used, or if the directory has other keys than the deployment.
pub async fn fetch_keys(cluster: &dyn ClusterStore, keys: &KeyDir) -> io::Result<()> {
    wait_for_turn(cluster, "start", START_MS).await?;
    for (name, bytes) in cluster.all(KEYS.into()).await? {
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
pub async fn share_keys(cluster: &dyn ClusterStore, keys: &KeyDir) -> io::Result<()> {
    for name in keys.names("")? {
        if let Some(bytes) = keys.load(&name)? {
            cluster.keep(format!("{KEYS}{name}"), bytes.to_vec()).await?;
        }
    }
    cluster.end_turn("start".into()).await
}

/// A 32-byte file that is written once, drawn if there is none.
///
/// # Errors
/// If the database cannot be used, or the file has another length.
pub async fn keep_drawn(cluster: &dyn ClusterStore, name: &str) -> io::Result<[u8; 32]> {
    let drawn = crate::auth::random::<32>();
    let kept = cluster.keep(format!("{KEYS}{name}"), drawn.to_vec()).await?;
    kept.try_into().map_err(|_| wrong_length(name))
}

/// A 32-byte file, if there is one.
///
/// # Errors
/// If the database cannot be used, or the file has another length.
pub async fn fetch_drawn(cluster: &dyn ClusterStore, name: &str) -> io::Result<Option<[u8; 32]>> {
    let bytes = cluster.fetch(format!("{KEYS}{name}")).await?;
    bytes.map(|bytes| bytes.try_into().map_err(|_| wrong_length(name))).transpose()
}

fn wrong_length(name: &str) -> io::Error {
    let why = format!("the shared file {name} has not 32 bytes; restore it from a backup");
    io::Error::new(io::ErrorKind::InvalidData, why)
}
