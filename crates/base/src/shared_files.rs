//! Files that every node of one deployment must have alike: keys, the seeds of draws, the drawings
//! of seat maps.
//!
//! A deployment of one process has them in its data directory and nowhere else. Where many nodes
//! share a database, that has them too: keys are copied into each node's data directory at its
//! start, the others are read where they are. A key that somebody has retired in one node's directory
//! goes from the database, and from each other node's directory at its start.

use crate::auth::keys::KeyDir;
use crate::cluster_store::{ClusterStore, wait_for_turn};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Where keys are, among the shared files.
const KEYS: &str = "keys/";
/// Where it is noted which keys are retired: nodes that still have them shall not share them again.
const RETIRED: &str = "retired/";
/// The turn of a node that starts.
const TURN: &str = "start";
/// For how long a node that starts keeps others from starting, at most.
const START_MS: u32 = 30_000;

/// Begins a start: copies the deployment's keys into this node's directory, and says which keys are
/// there. Nodes start one after the other, so that only the first draws keys; one that takes longer
/// than its turn may still be overtaken.
///
/// # Errors
/// If the database or the directory cannot be used, or if the directory has other keys than the deployment.
pub async fn fetch_keys(cluster: &dyn ClusterStore, keys: &KeyDir) -> io::Result<Vec<String>> {
    wait_for_turn(cluster, TURN, START_MS).await?;
    let fetched = fetch_each(cluster, keys).await;
    if fetched.is_err() {
        // The others need not wait until it runs out, as it does if this fails too.
        drop(cluster.end_turn(TURN.into()).await);
    }
    fetched
}

async fn fetch_each(cluster: &dyn ClusterStore, keys: &KeyDir) -> io::Result<Vec<String>> {
    drop_retired(cluster, keys).await?;
    for (name, bytes) in cluster.all(KEYS.into()).await? {
        let name = name.strip_prefix(KEYS).unwrap_or(&name);
        let kept: [u8; 32] = bytes.as_slice().try_into().map_err(|_| {
            io::Error::other(format!("the shared key {name} has not 32 bytes; restore it"))
        })?;
        let is_new = keys.load(name)?.is_none();
        keys.store_new(name, &kept)?;
        if keys.load(name)? != Some(kept) {
            return Err(other_key(name));
        }
        if is_new {
            tracing::info!(name, "a key was copied from the database into this node's directory");
        }
    }
    keys.names("")
}

/// Has nobody share or believe keys that are retired in the directory of any node. What is noted stays:
/// whoever was away has its own copy, and would put it back.
async fn drop_retired(cluster: &dyn ClusterStore, keys: &KeyDir) -> io::Result<()> {
    for name in keys.retired()? {
        cluster.keep(format!("{RETIRED}{name}"), Vec::new()).await?;
    }
    let shared: BTreeSet<_> =
        cluster.all(KEYS.into()).await?.into_iter().map(|(name, _)| name).collect();
    for (noted, _) in cluster.all(RETIRED.into()).await? {
        let name = noted.strip_prefix(RETIRED).unwrap_or(&noted);
        let file = format!("{KEYS}{name}");
        let was_shared = shared.contains(&file);
        if was_shared {
            cluster.forget(vec![file]).await?;
        }
        if keys.retire(name)? || was_shared {
            tracing::warn!(name, "a key is retired: what it signed is not believed from here on");
        }
    }
    Ok(())
}

/// Ends a start that began with these keys in the directory: shares the others, which were drawn
/// during it.
///
/// # Errors
/// If the database or the directory cannot be used, or if another node has shared another key of the
/// same name meanwhile. What one of two such nodes signs the other does not know, so none goes on with
/// its own: nothing was done yet with keys that were just drawn, and all of them go; the next start
/// finds the other node's. The caller's start has to end with this error.
pub async fn share_keys(
    cluster: &dyn ClusterStore,
    keys: &KeyDir,
    before: &[String],
) -> io::Result<()> {
    let shared = share_each(cluster, keys, before).await;
    // Whoever starts next need not wait until it runs out.
    let ended = cluster.end_turn(TURN.into()).await;
    shared.and(ended)
}

async fn share_each(
    cluster: &dyn ClusterStore,
    keys: &KeyDir,
    before: &[String],
) -> io::Result<()> {
    let mut ours = Vec::new();
    for name in keys.names("")? {
        if let Some(bytes) = keys.load(&name)? {
            ours.push((name, bytes));
        }
    }
    // All are looked at before any is shared: of a node that starts again nobody shall have a key.
    let theirs: BTreeMap<_, _> = cluster.all(KEYS.into()).await?.into_iter().collect();
    for (name, bytes) in &ours {
        let kept = theirs.get(&format!("{KEYS}{name}"));
        if kept.is_some_and(|kept| kept != bytes) {
            return Err(begin_again(keys, name, &ours, before));
        }
    }
    for (name, bytes) in &ours {
        let kept = cluster.keep(format!("{KEYS}{name}"), bytes.to_vec()).await?;
        if kept != bytes {
            return Err(begin_again(keys, name, &ours, before));
        }
    }
    Ok(())
}

/// Another node has another key of this name: forgets all that were drawn since the start began, also
/// those that nobody else has, which a node with the others' keys would not have drawn.
fn begin_again(
    keys: &KeyDir,
    name: &str,
    ours: &[(String, [u8; 32])],
    before: &[String],
) -> io::Error {
    if before.iter().any(|known| known == name) {
        return other_key(name);
    }
    let drawn = ours.iter().filter(|(drawn, _)| !before.contains(drawn));
    for (drawn, _) in drawn {
        if let Err(error) = keys.forget(drawn) {
            let why = format!("another node has drawn the key {name}, and ours cannot go: {error}");
            return io::Error::new(error.kind(), why);
        }
    }
    io::Error::other(format!(
        "another node has drawn the key {name} while this one started; start it again, and it takes \
         that one"
    ))
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
    use onrush_testkit::Log;
    use std::future::ready;
    use std::sync::atomic::{AtomicI32, Ordering};
    use std::sync::{Mutex, PoisonError};

    /// What all nodes share, in memory, and how many turns have been taken and not ended.
    #[derive(Default)]
    struct InMemory(Mutex<BTreeMap<String, Vec<u8>>>, AtomicI32);

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

        fn forget(&self, names: Vec<String>) -> Pending<()> {
            self.answer(|files| files.retain(|name, _| !names.contains(name)))
        }

        fn take_turn(&self, _: String, _: u32) -> Pending<bool> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.answer(|_| true)
        }

        fn end_turn(&self, _: String) -> Pending<()> {
            self.1.fetch_sub(1, Ordering::Relaxed);
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

    /// Their names begin alike and end in the second they were drawn, or are alike.
    #[tokio::test]
    async fn node_that_was_overtaken_has_nothing_of_its_own_when_it_starts_again() {
        let store = InMemory::default();
        let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let [quick, slow] = [&dirs[0], &dirs[1]].map(key_dir);
        let of_slow = fetch_keys(&store, &slow).await.expect("there are none");
        for name in ["a-1790000000.key", "ids.key", "link-1790000000.key", "token.key"] {
            slow.load_or_draw(name).expect("drawn");
        }
        let of_quick = fetch_keys(&store, &quick).await.expect("there are none");
        let names = ["ids.key", "link-1790000031.key", "token.key"];
        for name in names {
            quick.load_or_draw(name).expect("drawn");
        }
        share_keys(&store, &quick, &of_quick).await.expect("nobody was quicker");

        let refused = share_keys(&store, &slow, &of_slow).await.expect_err("another was quicker");
        assert!(refused.to_string().contains("start it again"), "{refused}");
        assert_eq!(slow.names("").expect("they can be listed"), [""; 0]);
        let shared = store.all(KEYS.into()).await.expect("they can be listed");
        assert_eq!(shared.len(), names.len(), "nobody has a key of the one that starts again");
        let before = fetch_keys(&store, &slow).await.expect("it takes what there is");
        assert_eq!(before, names);
        share_keys(&store, &slow, &before).await.expect("they have the same");
        for name in names {
            let both = [&quick, &slow].map(|keys| keys.load(name).expect("it can be read"));
            assert_eq!(both[0], both[1], "{name}");
        }
        assert_eq!(store.1.load(Ordering::Relaxed), 0, "whoever starts ends their turn");
    }

    #[tokio::test]
    async fn key_that_is_retired_at_one_node_goes_from_all_and_nobody_brings_it_back() {
        let store = InMemory::default();
        let dirs = [(); 3].map(|()| tempfile::tempdir().expect("a directory"));
        let nodes = [&dirs[0], &dirs[1], &dirs[2]].map(key_dir);
        let [first, second, fresh] = &nodes;
        let (lost, newer, seed) =
            ("link-001790000000.key", "link-001790000031.key", "seed-show.retired");
        let start = async |keys: &KeyDir| {
            let before = fetch_keys(&store, keys).await.expect("it starts");
            share_keys(&store, keys, &before).await.expect("they have the same");
            keys.names("").expect("they can be listed")
        };
        for name in ["ids.key", lost, newer, seed] {
            first.load_or_draw(name).expect("drawn");
        }
        let (all, left) = (["ids.key", lost, newer, seed], ["ids.key", newer, seed]);
        assert_eq!(start(first).await, all);
        assert_eq!(start(second).await, all);

        let (log, _guard) = Log::begin(tracing::Level::INFO);
        let file = |name: String| dirs[0].path().join("keys").join(name);
        let renamed = std::fs::rename(file(lost.into()), file(format!("{lost}.retired")));
        renamed.expect("renamed");
        assert_eq!(start(first).await, left);
        let shared = store.all(KEYS.into()).await.expect("they can be listed");
        assert_eq!(shared.len(), left.len(), "{shared:?}");
        // It has its own copy, as every node that was there before.
        assert_eq!(start(second).await, left);
        assert_eq!((log.count("a key is retired"), log.count("was copied")), (2, 0));
        for keys in [fresh, first, second, fresh] {
            assert_eq!(start(keys).await, left);
        }
        assert_eq!((log.count("a key is retired"), log.count("was copied")), (2, 3));
        assert!(fresh.retired().expect("they can be listed").is_empty());
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
        let refused = fetch_keys(&store, &keys).await.expect_err("it has another");
        assert!(refused.to_string().contains("use an empty data directory"), "{refused}");
        assert_eq!(store.1.load(Ordering::Relaxed), 0, "the others do not wait for it");
    }
}
