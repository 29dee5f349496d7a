//! Parts of pages that other versions have. While a cluster is updated, documents of one node name
//! parts that another was not built with; so each node puts its own where all find them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use onrush_base::cluster_store::{ClusterStore, wait_for_turn};
use onrush_core::Time;
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

/// What has its contents' digest in its name is below this: the same name is the same file in all versions.
pub const PARTS: &str = "assets/";
/// The list of versions with when a node had each, and where their parts are, among the shared files.
pub(super) const LIST: &str = "pages/versions.json";
const VERSIONS: &str = "pages/";
/// Beside the versions that nodes have, parts of so many are kept: whoever has had a page open for
/// longer loads it anew.
const KEPT: usize = 4;
/// So many versions are kept in all.
const MOST: usize = 16;
/// After so long a node says again that it has a version.
const SAID_MS: i64 = 600_000;
/// A version of which no node said so for so long is one that no node has.
const LIVING_MS: i64 = 3_600_000;
/// How often the list is read, at most. Strangers may ask for parts that nobody has.
const LIST_AGE: Duration = Duration::from_secs(1);
/// How many may wait for the list at a time, and for how long.
const WAITING: usize = 1_024;
const PATIENCE: Duration = Duration::from_secs(10);
/// For how long a node that shares its parts keeps others from it, at most.
const SHARE_MS: u32 = 30_000;

/// Parts of pages that nodes of other versions have shared; nothing where there is one process.
pub struct Versions {
    cluster: Option<Arc<dyn ClusterStore>>,
    known: RwLock<Known>,
    /// Whoever looks has it; the others who wait for what is seen then queue for it.
    looks: Mutex<Looks>,
    waiting: Semaphore,
}

/// What is known here.
#[derive(Default)]
struct Known {
    /// This node's version, whose parts need not be read.
    own: String,
    /// The parts of the others.
    parts: HashMap<String, HashMap<String, Bytes>>,
}

/// Looks at the list.
#[derive(Default)]
struct Looks {
    /// When the last one began, which whoever wanted it may have left in the middle.
    began: Option<Instant>,
    /// Whoever asked until then has their answer.
    answered: Option<Instant>,
    trouble: Trouble,
}

/// Whether attempts fail. The log has the first that does, and not each of those that follow.
#[derive(Default)]
pub(super) struct Trouble(bool);

impl Trouble {
    /// Another attempt has ended: whether that is news.
    pub(super) fn is_news(&mut self, has_failed: bool) -> bool {
        std::mem::replace(&mut self.0, has_failed) != has_failed
    }
}

impl Versions {
    /// None is known yet.
    #[must_use]
    pub fn new(cluster: Option<Arc<dyn ClusterStore>>) -> Self {
        let (known, looks) = (RwLock::default(), Mutex::default());
        Self { cluster, known, looks, waiting: Semaphore::new(WAITING) }
    }

    /// Sees to it that the parts of this node's version are where the others find them, and stay there
    /// while it has them. `packed` is awaited if they are to be put there; see [`pack`].
    ///
    /// # Errors
    /// If they cannot be packed, the database cannot be used, or this node's turn ran out.
    pub(super) async fn keep_shared(
        &self,
        own: &str,
        now: Time,
        packed: impl Future<Output = io::Result<Vec<u8>>>,
    ) -> io::Result<()> {
        let Some(cluster) = self.cluster.as_deref() else { return Ok(()) };
        own.clone_into(&mut self.known_mut().own);
        let listed = list(cluster.fetch(LIST.to_owned()).await?.as_deref())?;
        if listed.get(own).is_some_and(|seen| !is_older(*seen, now, SAID_MS)) {
            return Ok(());
        }
        let packed = packed.await?;
        wait_for_turn(cluster, "pages", SHARE_MS).await?;
        let shared = share(cluster, own, packed, now).await;
        let ended = cluster.end_turn("pages".to_owned()).await;
        shared.and(ended)
    }

    /// A part that some version has, as far as is known here.
    pub(super) fn part(&self, name: &str) -> Option<Bytes> {
        self.known().parts.values().find_map(|parts| parts.get(name).cloned())
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
        if looks.trouble.is_news(learned.is_err())
            && let Err(error) = learned
        {
            tracing::warn!(%error, "pages of other versions may lack parts: they cannot be read");
        }
        known()
    }

    async fn learn(&self, cluster: &dyn ClusterStore) -> io::Result<()> {
        let listed = list(cluster.fetch(LIST.to_owned()).await?.as_deref())?;
        for version in listed.keys() {
            if self.has(version) {
                continue;
            }
            if let Some(shared) = cluster.fetch(format!("{VERSIONS}{version}")).await? {
                let parts = unpack(&shared)?;
                // At once: with a slow database it may be the only one before patience ends.
                self.known_mut().parts.insert(version.clone(), parts);
            }
        }
        self.known_mut().parts.retain(|version, _| listed.contains_key(version));
        Ok(())
    }

    fn has(&self, version: &str) -> bool {
        let known = self.known();
        known.own == version || known.parts.contains_key(version)
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts a version's parts there, and its name into the list.
async fn share(
    cluster: &dyn ClusterStore,
    own: &str,
    packed: Vec<u8>,
    now: Time,
) -> io::Result<()> {
    let before = cluster.fetch(LIST.to_owned()).await?;
    let mut listed = list(before.as_deref())?;
    cluster.keep(format!("{VERSIONS}{own}"), packed).await?;
    listed.insert(own.to_owned(), now);
    let gone = take_old(&mut listed, now);
    let bytes = serde_json::to_vec(&listed).map_err(io::Error::other)?;
    if !cluster.replace(LIST.to_owned(), before, bytes).await? {
        return Err(io::Error::other("this node's turn ran out, and another one took it"));
    }
    cluster.forget(gone.iter().map(|version| format!("{VERSIONS}{version}")).collect()).await
}

fn list(bytes: Option<&[u8]>) -> io::Result<BTreeMap<String, Time>> {
    let read = |bytes| serde_json::from_slice(bytes).map_err(io::Error::other);
    bytes.map_or(Ok(BTreeMap::new()), read)
}

/// Whether it is so long ago. What is ahead of us by as much was written by a clock that was wrong.
fn is_older(seen: Time, now: Time, ms: i64) -> bool {
    now.since_ms(seen).saturating_abs() >= ms
}

/// Takes those out of the list that are not kept.
fn take_old(listed: &mut BTreeMap<String, Time>, now: Time) -> Vec<String> {
    let is_left = |seen: Time| is_older(seen, now, LIVING_MS);
    let living = listed.values().filter(|seen| !is_left(**seen)).count();
    let mut versions: Vec<(String, Time)> = listed.clone().into_iter().collect();
    versions.sort_by_key(|(_, seen)| (is_left(*seen), Reverse(*seen)));
    let gone = versions.into_iter().skip((living + KEPT).min(MOST)).map(|(version, _)| version);
    let gone: Vec<String> = gone.collect();
    listed.retain(|version, _| !gone.contains(version));
    gone
}

/// The name of what has parts of these names.
pub(super) fn version_of(names: &BTreeSet<String>) -> String {
    let mut digest = Sha256::new();
    for name in names {
        digest.update(name);
        digest.update([0]);
    }
    digest.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// Parts as they are kept among the shared files.
pub(super) fn pack(parts: &BTreeMap<String, Bytes>) -> Vec<u8> {
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
    use super::super::in_memory::{Health, InMemory};
    use super::*;
    use tokio::task::{JoinSet, yield_now};

    /// A look of a node whose version has this one part, which says so.
    async fn keep(node: &Versions, part: &str, now: Time) -> io::Result<()> {
        let parts = BTreeMap::from([(format!("{PARTS}{part}"), Bytes::from(part.to_owned()))]);
        let own = version_of(&parts.keys().cloned().collect::<BTreeSet<_>>());
        node.keep_shared(&own, now, async { Ok(pack(&parts)) }).await
    }

    /// Such a node starts and ends.
    async fn start(shared: &InMemory, part: &str, now: Time) {
        keep(&shared.node(), part, now).await.unwrap();
    }

    async fn found(node: &Versions, part: &str) -> Option<Bytes> {
        let name = format!("{PARTS}{part}");
        node.find(|| node.part(&name)).await
    }

    #[tokio::test(start_paused = true)]
    async fn parts_of_a_version_that_starts_elsewhere_are_found_a_second_later_at_most() {
        let shared = InMemory::default();
        let node = shared.node();
        assert_eq!(found(&node, "none.js").await, None);
        start(&shared, "new.js", Time(0)).await;
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
        start(&shared, "new.js", Time(0)).await;
        assert_eq!(found(&node, "new.js").await, Some(Bytes::from("new.js")));
        tokio::time::advance(2 * LIST_AGE).await;
        shared.be(Health::Hangs);
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
        shared.be(Health::Hangs);
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
        shared.be(Health::Hangs);
        let begun = Instant::now();
        assert!(timeout(Duration::from_millis(1), found(&node, "new.js")).await.is_err());
        shared.be(Health::Well);
        start(&shared, "new.js", Time(0)).await;
        assert_eq!(found(&node, "new.js").await, Some(Bytes::from("new.js")));
        assert!(begun.elapsed() >= LIST_AGE, "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn parts_of_the_latest_versions_are_kept_and_one_that_comes_again_is_the_latest() {
        let shared = InMemory::default();
        let starts = ["0.js", "1.js", "2.js", "3.js", "4.js", "1.js", "1.js", "5.js"];
        for (part, hours) in starts.into_iter().zip(0..) {
            start(&shared, part, Time(hours * LIVING_MS)).await;
        }
        let node = shared.node();
        assert_eq!(found(&node, "none.js").await, None);
        let is_known = |part: &&str| node.part(&format!("{PARTS}{part}")).is_some();
        let all = ["0.js", "1.js", "2.js", "3.js", "4.js", "5.js"];
        let kept: Vec<_> = all.into_iter().filter(is_known).collect();
        assert_eq!(kept, ["1.js", "2.js", "3.js", "4.js", "5.js"]);
        assert_eq!(shared.names().len(), kept.len() + 1, "the list, and those in it");
        start(&shared, "6.js", Time(8 * LIVING_MS)).await;
        tokio::time::advance(LIST_AGE).await;
        assert_eq!(found(&node, "6.js").await, Some(Bytes::from("6.js")));
        assert!(node.part("assets/2.js").is_none() && node.part("assets/1.js").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_version_that_nodes_have_stays_while_others_come_and_go() {
        let shared = InMemory::default();
        let node = shared.node();
        for (part, hours) in ["2.js", "3.js", "4.js", "5.js", "6.js", "7.js"].into_iter().zip(0..) {
            let now = Time(hours * LIVING_MS);
            keep(&node, "1.js", now).await.unwrap();
            start(&shared, part, now).await;
        }
        let other = shared.node();
        assert_eq!(found(&other, "1.js").await, Some(Bytes::from("1.js")));
        assert!(other.part("assets/2.js").is_none() && other.part("assets/3.js").is_some());
        assert_eq!(found(&node, "7.js").await, Some(Bytes::from("7.js")));
        assert_eq!(node.part("assets/1.js"), None, "it reads no parts of its own");
    }

    #[tokio::test]
    async fn so_many_versions_are_kept_even_if_nodes_have_all_of_them() {
        let shared = InMemory::default();
        for number in 0..20 {
            start(&shared, &format!("{number}.js"), Time(number)).await;
        }
        assert_eq!(shared.names().len(), MOST + 1);
        let node = shared.node();
        assert_eq!(found(&node, "19.js").await, Some(Bytes::from("19.js")));
        assert!(node.part("assets/3.js").is_none() && node.part("assets/4.js").is_some());
    }

    #[tokio::test]
    async fn a_version_that_was_seen_lately_is_not_written_again() {
        let shared = InMemory::default();
        let node = shared.node();
        for (now, lists) in [(0, 1), (60_000, 1), (SAID_MS - 1, 1), (SAID_MS, 2), (SAID_MS + 1, 2)]
        {
            keep(&node, "1.js", Time(now)).await.unwrap();
            assert_eq!(shared.lists(), lists, "at {now}");
        }
        // A clock that was wrong does not keep a version for ever.
        keep(&node, "1.js", Time(-LIVING_MS)).await.unwrap();
        assert_eq!(shared.lists(), 3);
    }

    #[tokio::test]
    async fn a_version_that_was_not_shared_or_was_lost_is_shared_at_the_next_look() {
        let shared = InMemory::default();
        let node = shared.node();
        shared.be(Health::Away);
        assert!(keep(&node, "1.js", Time(0)).await.is_err());
        shared.be(Health::Well);
        shared.lose_turn();
        assert!(keep(&node, "1.js", Time(0)).await.is_err(), "another node was quicker");
        assert!(!shared.names().contains(&LIST.to_owned()));
        for _ in 0..2 {
            keep(&node, "1.js", Time(0)).await.unwrap();
            assert_eq!(found(&shared.node(), "1.js").await, Some(Bytes::from("1.js")));
            shared.lose_files();
        }
    }

    #[test]
    fn trouble_is_news_once_and_so_is_its_end() {
        let mut trouble = Trouble::default();
        let attempts = [false, true, true, false, false, true];
        let news = attempts.map(|has_failed| trouble.is_news(has_failed));
        assert_eq!(news, [false, true, false, true, false, true]);
    }
}
