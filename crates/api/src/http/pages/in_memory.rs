//! What nodes share, in memory, for tests.

use super::versions::{LIST, Versions};
use onrush_base::cluster_store::{ClusterStore, Pending, WantedPool};
use onrush_core::ids::EventId;
use std::collections::BTreeMap;
use std::future::{pending, ready};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::Notify;

/// How the database is.
#[derive(Clone, Copy, Default)]
pub(super) enum Health {
    #[default]
    Well,
    /// Nobody gets an answer.
    Hangs,
    /// Everybody hears that it is away.
    Away,
}

/// The files of all nodes.
#[derive(Clone, Default)]
pub(super) struct InMemory {
    shared: Arc<Mutex<Shared>>,
    replaced: Arc<Notify>,
}

#[derive(Default)]
struct Shared {
    health: Health,
    files: BTreeMap<String, Vec<u8>>,
    /// How often the list was read and replaced.
    looks: usize,
    lists: usize,
    /// Another node is quicker the next time that something is replaced.
    loses_turn: bool,
}

impl InMemory {
    pub(super) fn node(&self) -> Versions {
        Versions::new(Some(Arc::new(self.clone())))
    }

    pub(super) fn be(&self, health: Health) {
        self.lock().health = health;
    }

    pub(super) fn lose_turn(&self) {
        self.lock().loses_turn = true;
    }

    pub(super) fn lose_files(&self) {
        self.lock().files.clear();
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.lock().files.keys().cloned().collect()
    }

    pub(super) fn looks(&self) -> usize {
        self.lock().looks
    }

    pub(super) fn lists(&self) -> usize {
        self.lock().lists
    }

    /// Waits until a list was put there; one that nobody waited for counts.
    pub(super) async fn replaced(&self) {
        self.replaced.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap()
    }

    fn answer<T: Send + 'static>(&self, make: impl FnOnce(&mut Shared) -> T) -> Pending<T> {
        let mut shared = self.lock();
        match shared.health {
            Health::Well => Box::pin(ready(Ok(make(&mut shared)))),
            Health::Hangs => Box::pin(pending()),
            Health::Away => Box::pin(ready(Err(io::Error::other("it is away")))),
        }
    }
}

impl ClusterStore for InMemory {
    fn keep(&self, name: String, bytes: Vec<u8>) -> Pending<Vec<u8>> {
        self.answer(|shared| shared.files.entry(name).or_insert(bytes).clone())
    }

    fn fetch(&self, name: String) -> Pending<Option<Vec<u8>>> {
        self.lock().looks += usize::from(name == LIST);
        self.answer(|shared| shared.files.get(&name).cloned())
    }

    fn all(&self, _: String) -> Pending<Vec<(String, Vec<u8>)>> {
        unreachable!("nobody asks for all of them")
    }

    fn replace(&self, name: String, before: Option<Vec<u8>>, bytes: Vec<u8>) -> Pending<bool> {
        self.answer(|shared| {
            let is_same = shared.files.get(&name) == before.as_ref();
            if !is_same || std::mem::take(&mut shared.loses_turn) {
                return false;
            }
            shared.files.insert(name, bytes);
            shared.lists += 1;
            self.replaced.notify_one();
            true
        })
    }

    fn forget(&self, names: Vec<String>) -> Pending<()> {
        self.answer(|shared| shared.files.retain(|name, _| !names.contains(name)))
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
