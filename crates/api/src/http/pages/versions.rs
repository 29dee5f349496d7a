//! Parts of pages that other versions have. While a cluster is updated, documents of one node name
//! parts that another was not built with; so each node puts its own where all find them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use onrush_base::cluster_store::{ClusterStore, wait_for_turn};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

/// What has its contents' digest in its name is below this: the same name is the same file in all versions.
pub const PARTS: &str = "assets/";
/// The list of versions, the latest last, and where their parts are, among the shared files.
const LIST: &str = "pages.json";
const VERSIONS: &str = "pages/";
/// Of so many versions parts are kept: whoever has had a page open for longer loads it anew.
const KEPT: usize = 4;
/// How often the list is read, at most. Strangers may ask for parts that nobody has.
const LIST_AGE: Duration = Duration::from_secs(1);
/// How many may wait for the list at a time, and for how long.
const WAITING: usize = 1_024;
const PATIENCE: Duration = Duration::from_secs(10);
/// For how long a node that shares its parts keeps others from it, at most.
const SHARE_MS: u32 = 30_000;

/// The parts of each version that is known here.
type Known = HashMap<String, HashMap<String, Bytes>>;

/// Parts of pages that nodes of other versions have shared; nothing where there is one process.
pub struct Versions {
    cluster: Option<Arc<dyn ClusterStore>>,
    known: RwLock<Known>,
    /// Whoever looks has it; the others who wait for what is seen then queue for it.
    looks: Mutex<Looks>,
    waiting: Semaphore,
}

/// Looks at the list.
#[derive(Default)]
struct Looks {
    /// When the last one began, which whoever wanted it may have left in the middle.
    began: Option<Instant>,
    /// Whoever asked until then has their answer.
    answered: Option<Instant>,
}

impl Versions {
    /// None is known yet.
    #[must_use]
    pub fn new(cluster: Option<Arc<dyn ClusterStore>>) -> Self {
        let (known, looks) = (RwLock::default(), Mutex::default());
        Self { cluster, known, looks, waiting: Semaphore::new(WAITING) }
    }

    /// Puts the parts of this node's pages where the others find them.
    ///
    /// # Errors
    /// If the database cannot be used.
    pub async fn share(&self, parts: &BTreeMap<String, Bytes>) -> io::Result<()> {
        let Some(cluster) = self.cluster.as_ref().filter(|_| !parts.is_empty()) else {
            return Ok(());
        };
        wait_for_turn(&**cluster, "pages", SHARE_MS).await?;
        let shared = share(&**cluster, parts).await;
        cluster.end_turn("pages".to_owned()).await?;
        // Our own need not be read.
        self.known_mut().insert(shared?, HashMap::new());
        Ok(())
    }

    /// A part that some version has, as far as is known here.
    pub(super) fn part(&self, name: &str) -> Option<Bytes> {
        self.known().values().find_map(|parts| parts.get(name).cloned())
    }

    /// What `known` finds among the parts that are known here. If that is nothing, it waits for a look at
    /// the list that begins later: the document that names a part may be younger than the last look.
    pub(super) async fn find<T>(&self, known: impl Fn() -> Option<T>) -> Option<T> {
        let found = known();
        let Some(cluster) = self.cluster.as_deref().filter(|_| found.is_none()) else {
            return found;
        };
        let Ok(_waits) = self.waiting.try_acquire() else { return None };
        let looked = timeout(PATIENCE, self.look(cluster, &known)).await;
        looked.unwrap_or_else(|_| known())
    }

    /// One looks for all who wait meanwhile.
    async fn look<T>(
        &self,
        cluster: &dyn ClusterStore,
        known: &impl Fn() -> Option<T>,
    ) -> Option<T> {
        let asked = Instant::now();
        let mut looks = self.looks.lock().await;
        let found = known();
        if found.is_some() || looks.answered.is_some_and(|until| asked <= until) {
            return found;
        }
        if let Some(began) = looks.began {
            sleep_until(began + LIST_AGE).await;
        }
        let began = Instant::now();
        looks.began = Some(began);
        let learned = self.learn(cluster).await;
        // Nobody waits twice for a database that does not answer.
        looks.answered = Some(if learned.is_ok() { began } else { Instant::now() });
        if let Err(error) = learned {
            tracing::warn!(%error, "pages of other versions may lack parts: they cannot be read");
        }
        known()
    }

    async fn learn(&self, cluster: &dyn ClusterStore) -> io::Result<()> {
        let listed = list(cluster.fetch(LIST.to_owned()).await?.as_deref())?;
        for version in &listed {
            if self.known().contains_key(version) {
                continue;
            }
            if let Some(shared) = cluster.fetch(format!("{VERSIONS}{version}")).await? {
                let parts = unpack(&shared)?;
                // At once: with a slow database it may be the only one before patience ends.
                self.known_mut().insert(version.clone(), parts);
            }
        }
        self.known_mut().retain(|version, _| listed.contains(version));
        Ok(())
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts a version's parts there, and its name into the list; the name.
async fn share(cluster: &dyn ClusterStore, parts: &BTreeMap<String, Bytes>) -> io::Result<String> {
    let before = cluster.fetch(LIST.to_owned()).await?;
    let mut versions = list(before.as_deref())?;
    let ours = version_of(parts);
    if versions.last() == Some(&ours) {
        return Ok(ours);
    }
    cluster.keep(format!("{VERSIONS}{ours}"), pack(parts)).await?;
    versions.retain(|version| *version != ours);
    versions.push(ours.clone());
    let gone: Vec<String> = versions.drain(..versions.len().saturating_sub(KEPT)).collect();
    let list = serde_json::to_vec(&versions).map_err(io::Error::other)?;
    if cluster.replace(LIST.to_owned(), before, list).await? {
        let gone = gone.iter().map(|version| format!("{VERSIONS}{version}")).collect();
        cluster.forget(gone).await?;
    }
    Ok(ours)
}

fn list(bytes: Option<&[u8]>) -> io::Result<Vec<String>> {
    bytes.map_or(Ok(Vec::new()), |bytes| serde_json::from_slice(bytes).map_err(io::Error::other))
}

/// The name of what has these parts.
fn version_of(parts: &BTreeMap<String, Bytes>) -> String {
    let mut digest = Sha256::new();
    for name in parts.keys() {
        digest.update(name);
        digest.update([0]);
    }
    digest.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

fn pack(parts: &BTreeMap<String, Bytes>) -> Vec<u8> {
    let texts = parts.iter().map(|(name, bytes)| (name.as_str(), BASE64.encode(bytes)));
    serde_json::to_vec(&texts.collect::<BTreeMap<_, _>>()).expect("texts are JSON")
}

fn unpack(shared: &[u8]) -> io::Result<HashMap<String, Bytes>> {
    let texts: HashMap<String, String> =
        serde_json::from_slice(shared).map_err(io::Error::other)?;
    let part = |(name, text): (String, String)| {
        Ok((name, BASE64.decode(text).map_err(io::Error::other)?.into()))
    };
    texts.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_base::cluster_store::{Pending, WantedPool};
    use onrush_core::ids::EventId;
    use tokio::task::{JoinSet, yield_now};

    /// What nodes share, in memory; it counts looks at the list.
    #[derive(Clone, Default)]
    struct InMemory(Arc<std::sync::Mutex<Shared>>);

    #[derive(Default)]
    struct Shared {
        files: HashMap<String, Vec<u8>>,
        looks: usize,
        /// Nobody is told the list.
        hangs: bool,
    }

    impl InMemory {
        fn looks(&self) -> usize {
            self.0.lock().unwrap().looks
        }

        fn hang(&self, hangs: bool) {
            self.0.lock().unwrap().hangs = hangs;
        }

        fn node(&self) -> Versions {
            Versions::new(Some(Arc::new(self.clone())))
        }

        /// A node whose pages have this one part, which says so, starts and ends.
        async fn start(&self, part: &str) {
            let parts = BTreeMap::from([(format!("{PARTS}{part}"), part.to_owned().into())]);
            self.node().share(&parts).await.unwrap();
        }
    }

    async fn found(node: &Versions, part: &str) -> Option<Bytes> {
        let name = format!("{PARTS}{part}");
        node.find(|| node.part(&name)).await
    }

    fn ready<T: Send + 'static>(value: T) -> Pending<T> {
        Box::pin(async { Ok(value) })
    }

    impl ClusterStore for InMemory {
        fn keep(&self, name: String, bytes: Vec<u8>) -> Pending<Vec<u8>> {
            ready(self.0.lock().unwrap().files.entry(name).or_insert(bytes).clone())
        }

        fn fetch(&self, name: String) -> Pending<Option<Vec<u8>>> {
            let mut shared = self.0.lock().unwrap();
            shared.looks += usize::from(name == LIST);
            if shared.hangs {
                return Box::pin(std::future::pending());
            }
            ready(shared.files.get(&name).cloned())
        }

        fn all(&self, _: String) -> Pending<Vec<(String, Vec<u8>)>> {
            unreachable!("nobody asks for all of them")
        }

        fn replace(&self, name: String, before: Option<Vec<u8>>, bytes: Vec<u8>) -> Pending<bool> {
            let files = &mut self.0.lock().unwrap().files;
            let is_same = files.get(&name) == before.as_ref();
            if is_same {
                files.insert(name, bytes);
            }
            ready(is_same)
        }

        fn forget(&self, names: Vec<String>) -> Pending<()> {
            self.0.lock().unwrap().files.retain(|name, _| !names.contains(name));
            ready(())
        }

        fn take_turn(&self, _: String, _: u32) -> Pending<bool> {
            ready(true)
        }

        fn end_turn(&self, _: String) -> Pending<()> {
            ready(())
        }

        fn inventory(&self, _: Option<EventId>) -> Pending<Vec<WantedPool>> {
            unreachable!("nobody asks for an inventory")
        }

        fn set_flag(&self, _: String, _: u8) -> Pending<()> {
            unreachable!("nobody sets a flag")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn parts_of_a_version_that_starts_elsewhere_are_found_a_second_later_at_most() {
        let shared = InMemory::default();
        let node = shared.node();
        assert_eq!(found(&node, "none.js").await, None);
        shared.start("new.js").await;
        tokio::time::advance(Duration::from_millis(1)).await;
        let asked = Instant::now();
        assert_eq!(node.part("assets/new.js"), None, "it looked a moment ago");
        assert_eq!(found(&node, "new.js").await, Some(Bytes::from("new.js")));
        assert!(asked.elapsed() <= LIST_AGE, "{:?}", asked.elapsed());
        assert_eq!(found(&node, "none.js").await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_that_is_known_does_not_wait_for_the_database() {
        let shared = InMemory::default();
        let node = shared.node();
        shared.start("new.js").await;
        assert_eq!(found(&node, "new.js").await, Some(Bytes::from("new.js")));
        tokio::time::advance(2 * LIST_AGE).await;
        shared.hang(true);
        let before = shared.looks();
        let known = timeout(LIST_AGE, found(&node, "new.js"));
        tokio::select! {
            biased;
            found = found(&node, "none.js") => panic!("nobody was told the list: {found:?}"),
            known = known => assert_eq!(known, Ok(Some(Bytes::from("new.js")))),
        }
        assert_eq!(shared.looks(), before + 1, "for the one that is not known");
    }

    /// So many who ask for what nobody has.
    fn strangers(node: &Arc<Versions>, number: usize) -> JoinSet<Option<Bytes>> {
        let mut strangers = JoinSet::new();
        for _ in 0..number {
            let node = node.clone();
            strangers.spawn(async move { found(&node, "none.js").await });
        }
        strangers
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_asks_for_what_nobody_has_costs_a_look_a_second() {
        let shared = InMemory::default();
        let node = Arc::new(shared.node());
        let begun = Instant::now();
        assert!(strangers(&node, 100).join_all().await.iter().all(Option::is_none));
        assert_eq!(shared.looks(), 1);
        for looks in [2, 3, 4] {
            tokio::time::advance(Duration::from_millis(1)).await;
            assert!(strangers(&node, 100).join_all().await.iter().all(Option::is_none));
            assert_eq!(shared.looks(), looks);
        }
        assert!(begun.elapsed() >= 3 * LIST_AGE, "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_wait_for_the_list_at_a_time_and_not_for_ever() {
        let shared = InMemory::default();
        let node = Arc::new(shared.node());
        shared.hang(true);
        let begun = Instant::now();
        let strangers = strangers(&node, WAITING);
        while node.waiting.available_permits() > 0 {
            yield_now().await;
        }
        assert_eq!(found(&node, "none.js").await, None);
        assert_eq!(begun.elapsed(), Duration::ZERO, "there was no room to wait");
        assert!(strangers.join_all().await.iter().all(Option::is_none));
        assert!(begun.elapsed() < PATIENCE + LIST_AGE, "{:?}", begun.elapsed());
        assert_eq!(node.waiting.available_permits(), WAITING);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_whose_asker_has_gone_answers_nobody_and_another_follows_a_second_later() {
        let shared = InMemory::default();
        let node = shared.node();
        shared.hang(true);
        let begun = Instant::now();
        assert!(timeout(Duration::from_millis(1), found(&node, "new.js")).await.is_err());
        shared.hang(false);
        shared.start("new.js").await;
        assert_eq!(found(&node, "new.js").await, Some(Bytes::from("new.js")));
        assert!(begun.elapsed() >= LIST_AGE, "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn parts_of_the_latest_versions_are_kept_and_one_that_comes_again_is_the_latest() {
        let shared = InMemory::default();
        for part in ["1.js", "2.js", "3.js", "4.js", "1.js", "1.js", "5.js"] {
            shared.start(part).await;
        }
        let node = shared.node();
        assert_eq!(found(&node, "none.js").await, None);
        let found = |part: &&str| node.part(&format!("{PARTS}{part}")).is_some();
        let all = ["1.js", "2.js", "3.js", "4.js", "5.js"];
        let kept: Vec<_> = all.into_iter().filter(found).collect();
        assert_eq!(kept, ["1.js", "3.js", "4.js", "5.js"]);
        assert_eq!(
            shared.0.lock().unwrap().files.len(),
            kept.len() + 1,
            "the list, and those in it"
        );
        shared.start("6.js").await;
        tokio::time::advance(LIST_AGE).await;
        assert_eq!(node.find(|| node.part("assets/6.js")).await, Some(Bytes::from("6.js")));
        assert!(node.part("assets/3.js").is_none() && node.part("assets/6.js").is_some());
    }
}
