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

/// Begins a start: copies the deployment's keys into this node's directory, and says which keys are
/// there. Nodes start one after the other, so that only the first draws keys; one that takes longer
/// than its turn may still be overtaken.
///
/// # Errors
/// If the database or the directory cannot be used, or if the directory has other keys than the deployment.
pub async fn fetch_keys(cluster: &dyn ClusterStore, keys: &KeyDir) -> io::Result<Vec<String>> {
    wait_for_turn(cluster, "start", START_MS).await?;
    for (name, bytes) in cluster.all(KEYS.into()).await? {
        let name = name.strip_prefix(KEYS).unwrap_or(&name);
        let kept: [u8; 32] = bytes.as_slice().try_into().map_err(|_| {
            io::Error::other(format!("the shared key {name} has not 32 bytes; restore it"))
        })?;
        keys.store_new(name, &kept)?;
        if keys.load(name)? != Some(kept) {
            return Err(other_key(name));
        }
    }
    keys.names("")
}

/// Ends a start that began with these keys in the directory: shares the others, which were drawn
/// during it.
///
/// # Errors
/// If the database or the directory cannot be used, or if another node has shared another key of the
/// same name meanwhile. What one of two such nodes signs the other does not know, so none goes on with
/// its own: nothing was done yet with a key that was just drawn, and it goes; the next start finds the
/// other node's.
pub async fn share_keys(
    cluster: &dyn ClusterStore,
    keys: &KeyDir,
    before: &[String],
) -> io::Result<()> {
    for name in keys.names("")? {
        let Some(bytes) = keys.load(&name)? else { continue };
        let kept = cluster.keep(format!("{KEYS}{name}"), bytes.to_vec()).await?;
        if kept == bytes {
            continue;
        }
        if before.contains(&name) {
            return Err(other_key(&name));
        }
        keys.forget(&name)?;
        let why = format!(
            "another node has drawn the key {name} while this one started; start it again, and it takes \
             that one"
        );
        return Err(io::Error::other(why));
    }
    cluster.end_turn("start".into()).await
}

fn other_key(name: &str) -> io::Error {
    io::Error::other(format!(
        "the key {name} in the data directory is not the one that the other nodes have; use an empty \
         data directory for this node"
    ))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_store::{Pending, WantedPool};
    use onrush_core::ids::EventId;
    use std::collections::BTreeMap;
    use std::future::ready;
    use std::sync::{Mutex, PoisonError};

    /// What all nodes share, in memory.
    #[derive(Default)]
    struct InMemory(Mutex<BTreeMap<String, Vec<u8>>>);

    impl InMemory {
        fn answer<T: Send + 'static>(
            &self,
            make: impl FnOnce(&mut BTreeMap<String, Vec<u8>>) -> T,
        ) -> Pending<T> {
            let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Box::pin(ready(Ok(make(&mut files))))
        }
    }

    impl ClusterStore for InMemory {
        fn keep(&self, name: String, bytes: Vec<u8>) -> Pending<Vec<u8>> {
            self.answer(|files| files.entry(name).or_insert(bytes).clone())
        }

        fn fetch(&self, name: String) -> Pending<Option<Vec<u8>>> {
            self.answer(|files| files.get(&name).cloned())
        }

        fn all(&self, prefix: String) -> Pending<Vec<(String, Vec<u8>)>> {
            self.answer(|files| {
                let found = files.iter().filter(|(name, _)| name.starts_with(&prefix));
                found.map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
            })
        }

        fn replace(&self, _: String, _: Option<Vec<u8>>, _: Vec<u8>) -> Pending<bool> {
            unreachable!("keys are not replaced")
        }

        fn forget(&self, _: Vec<String>) -> Pending<()> {
            unreachable!("keys are not forgotten")
        }

        fn take_turn(&self, _: String, _: u32) -> Pending<bool> {
            self.answer(|_| true)
        }

        fn end_turn(&self, _: String) -> Pending<()> {
            self.answer(|_| ())
        }

        fn inventory(&self, _: Option<EventId>) -> Pending<Vec<WantedPool>> {
            unreachable!("nobody asks for an inventory")
        }

        fn set_flag(&self, _: String, _: u8) -> Pending<()> {
            unreachable!("nobody sets a flag")
        }
    }

    fn key_dir(dir: &tempfile::TempDir) -> KeyDir {
        KeyDir::open(dir.path()).expect("a directory")
    }

    #[tokio::test]
    async fn of_two_nodes_that_draw_a_key_at_once_one_starts_again_with_the_others() {
        let store = InMemory::default();
        let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let [quick, slow] = [&dirs[0], &dirs[1]].map(key_dir);
        // The slow one's turn runs out before it has shared what it draws.
        let before = fetch_keys(&store, &slow).await.expect("there are none");
        assert!(before.is_empty());
        slow.load_or_draw("ids.key").expect("drawn");
        let of_quick = fetch_keys(&store, &quick).await.expect("there are none");
        let drawn = quick.load_or_draw("ids.key").expect("drawn");
        share_keys(&store, &quick, &of_quick).await.expect("nobody was quicker");

        let refused = share_keys(&store, &slow, &before).await.expect_err("another was quicker");
        assert!(refused.to_string().contains("start it again"), "{refused}");
        let before = fetch_keys(&store, &slow).await.expect("it takes what there is");
        assert_eq!(before, ["ids.key"]);
        assert_eq!(slow.load("ids.key").expect("it can be read"), Some(drawn));
        share_keys(&store, &slow, &before).await.expect("they have the same");
    }

    /// It may have signed much: that is not thrown away.
    #[tokio::test]
    async fn key_that_a_node_had_before_it_started_is_left_where_it_is() {
        let (store, dir) = (InMemory::default(), tempfile::tempdir().expect("a directory"));
        let keys = key_dir(&dir);
        let own = keys.load_or_draw("ids.key").expect("drawn");
        let before = fetch_keys(&store, &keys).await.expect("nobody has another");
        store.keep("keys/ids.key".into(), vec![7; 32]).await.expect("kept");
        let refused = share_keys(&store, &keys, &before).await.expect_err("another was quicker");
        assert!(refused.to_string().contains("use an empty data directory"), "{refused}");
        assert_eq!(keys.load("ids.key").expect("it can be read"), Some(own));
    }
}
