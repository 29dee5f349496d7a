//! An archive in memory, with the promises of a real one, and a switch that makes it unavailable.

use onrush_core::ids::EventId;
use onrush_store::redis::{Archive, ArchiveError, ArchivePending, Archived, ToArchive};
use onrush_store::{FeedEntry, Seq};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

#[derive(Default)]
struct State {
    /// Decisions of all events; the first one has number 1.
    entries: Vec<FeedEntry>,
    /// Each event's epoch and its last own number, in the order they were created.
    heads: Vec<(EventId, u64, Seq)>,
    /// Each lease's holder, fencing number and end.
    leases: HashMap<String, (u64, u64, Instant)>,
    away: bool,
}

/// An archive that ends with its last handle. Each handle is a node of its own: leases are between handles.
pub(crate) struct MemoryArchive {
    shared: Arc<Shared>,
    node: u64,
}

struct Shared {
    state: Mutex<State>,
    newest: watch::Sender<Seq>,
    nodes: Mutex<u64>,
}

impl MemoryArchive {
    /// An empty archive.
    pub(crate) fn new() -> Self {
        let (newest, _) = watch::channel(Seq::default());
        let shared = Shared { state: Mutex::default(), newest, nodes: Mutex::new(0) };
        Self { shared: Arc::new(shared), node: 0 }
    }

    /// The same archive, as another node sees it.
    pub(crate) fn other_node(&self) -> Self {
        let mut nodes = self.shared.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        *nodes += 1;
        Self { shared: Arc::clone(&self.shared), node: *nodes }
    }

    /// Makes it unavailable, or available again.
    pub(crate) fn set_away(&self, away: bool) {
        self.state().away = away;
    }

    /// The event's decisions.
    pub(crate) fn of_event(&self, event: &EventId) -> Vec<FeedEntry> {
        let state = self.state();
        state.entries.iter().filter(|entry| entry.event == *event).cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn here(&self) -> Result<MutexGuard<'_, State>, ArchiveError> {
        let state = self.state();
        if state.away { Err(ArchiveError::Unavailable("it is away".to_owned())) } else { Ok(state) }
    }
}

impl State {
    fn head_mut(&mut self, event: &EventId) -> &mut (EventId, u64, Seq) {
        let known = self.heads.iter().position(|(id, ..)| id == event);
        let index = known.unwrap_or_else(|| {
            self.heads.push((event.clone(), 0, Seq::default()));
            self.heads.len() - 1
        });
        &mut self.heads[index]
    }

    fn append(&mut self, what: ToArchive) -> Result<(), ArchiveError> {
        let head = self.head_mut(&what.event);
        if what.epoch < head.1 {
            return Err(ArchiveError::Superseded);
        }
        head.1 = what.epoch;
        let last = head.2;
        let fresh: Vec<_> = what.entries.into_iter().filter(|entry| entry.seq > last).collect();
        assert!(fresh.is_sorted_by_key(|entry| entry.seq), "decisions come in order");
        if let Some(newest) = fresh.last() {
            self.head_mut(&what.event).2 = newest.seq;
        }
        self.entries.extend(fresh);
        Ok(())
    }

    fn after(&self, after: Seq, limit: usize, wanted: impl Fn(&Archived) -> bool) -> Vec<Archived> {
        let numbered = (1..).map(Seq).zip(&self.entries).skip(after.0 as usize);
        let archived = numbered.map(|(number, entry)| Archived { number, entry: entry.clone() });
        archived.filter(wanted).take(limit).collect()
    }
}

fn ready<T: Send + 'static>(result: Result<T, ArchiveError>) -> ArchivePending<T> {
    Box::pin(std::future::ready(result))
}

impl Archive for MemoryArchive {
    fn append(&self, what: ToArchive) -> ArchivePending<()> {
        let (result, newest) = match self.here() {
            Ok(mut state) => (state.append(what), Seq(state.entries.len() as u64)),
            Err(error) => return ready(Err(error)),
        };
        self.shared.newest.send_if_modified(|known| std::mem::replace(known, newest) != newest);
        ready(result)
    }

    fn read(&self, after: Seq, limit: usize) -> ArchivePending<Vec<Archived>> {
        ready(self.here().map(|state| state.after(after, limit, |_| true)))
    }

    fn read_event(
        &self,
        event: EventId,
        after: Seq,
        limit: usize,
    ) -> ArchivePending<Vec<Archived>> {
        let wanted = |a: &Archived| a.entry.event == event && a.entry.seq > after;
        ready(self.here().map(|state| state.after(Seq::default(), limit, wanted)))
    }

    fn head(&self, event: EventId) -> ArchivePending<(u64, Seq)> {
        ready(self.here().map(|state| {
            let head = state.heads.iter().find(|(id, ..)| *id == event);
            head.map_or((0, Seq::default()), |(_, epoch, seq)| (*epoch, *seq))
        }))
    }

    fn begin_epoch(&self, event: EventId, epoch: u64) -> ArchivePending<(u64, Seq)> {
        ready(self.here().and_then(|mut state| {
            let head = state.head_mut(&event);
            if head.1 != epoch {
                return Err(ArchiveError::Superseded);
            }
            head.1 += 1;
            Ok((head.1, head.2))
        }))
    }

    fn events(&self) -> ArchivePending<Vec<EventId>> {
        ready(self.here().map(|state| {
            let archived = state.heads.iter().filter(|(_, _, seq)| *seq > Seq::default());
            archived.map(|(id, ..)| id.clone()).collect()
        }))
    }

    fn newest(&self) -> watch::Receiver<Seq> {
        self.shared.newest.subscribe()
    }

    fn lease(&self, name: String, ttl_ms: u32) -> ArchivePending<Option<u64>> {
        let node = self.node;
        ready(self.here().map(|mut state| {
            let until = Instant::now() + Duration::from_millis(u64::from(ttl_ms));
            match state.leases.get(&name).copied() {
                Some((holder, _, end)) if holder != node && Instant::now() < end => None,
                Some((holder, fence, _)) if holder == node => {
                    state.leases.insert(name, (node, fence, until));
                    Some(fence)
                }
                known => {
                    let fence = known.map_or(1, |(_, fence, _)| fence + 1);
                    state.leases.insert(name, (node, fence, until));
                    Some(fence)
                }
            }
        }))
    }

    fn release(&self, name: String) -> ArchivePending<()> {
        let node = self.node;
        ready(self.here().map(|mut state| {
            // The fencing number outlives the lease.
            if let Some(lease) = state.leases.get_mut(&name).filter(|lease| lease.0 == node) {
                lease.2 = Instant::now();
                lease.0 = u64::MAX;
            }
        }))
    }
}
