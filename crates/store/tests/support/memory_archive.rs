//! An archive in memory, with the promises of a real one, and a switch that makes it unavailable.

use onrush_core::ids::EventId;
use onrush_store::redis::{
    Archive, ArchiveError, ArchivePending, Archived, Head, Mark, ToArchive, ToArchiveEntry, differ,
};
use onrush_store::{FeedEntry, Seq};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

#[derive(Default)]
struct State {
    /// Decisions of all events; the first one has number 1.
    entries: Vec<(FeedEntry, Option<Mark>)>,
    /// The changes that came last with an event's own number, to the letter.
    texts: HashMap<(EventId, Seq), String>,
    /// Numbers whose decisions are in files.
    filed: HashSet<usize>,
    /// A decision on its way, which comes in just before an epoch begins.
    late: Option<(FeedEntry, Option<Mark>)>,
    /// How far each event has come, in the order they were created.
    heads: Vec<(EventId, Head)>,
    /// Each lease's holder, fencing number and end.
    leases: HashMap<String, (u64, u64, Instant)>,
    away: bool,
    /// Attempts to append while it was away.
    turned_away: u64,
    unreadable: bool,
}

/// All that an archive had.
pub(crate) struct Forgotten {
    entries: Vec<(FeedEntry, Option<Mark>)>,
    heads: Vec<(EventId, Head)>,
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

    /// Loses its last decisions, all of one event, as a standby does that lagged behind.
    pub(crate) fn forget_last(&self, count: usize) {
        let mut state = self.state();
        let kept = state.entries.len() - count;
        state.entries.truncate(kept);
        let (last, mark) = state.entries.last().cloned().expect("some are left");
        let head = state.head_mut(&last.event);
        *head = Head { seq: last.seq, mark, ..*head };
    }

    /// Loses its last decisions, all of one event, and with them that the event's epoch began.
    pub(crate) fn forget_epoch(&self, count: usize) {
        self.forget_last(count);
        let mut state = self.state();
        let event = state.entries.last().expect("some are left").0.event.clone();
        state.head_mut(&event).epoch -= 1;
    }

    /// Loses all it has, as a standby does that lagged behind for longer than that.
    pub(crate) fn forget_all(&self) -> Forgotten {
        let mut state = self.state();
        state.filed.clear();
        let entries = std::mem::take(&mut state.entries);
        Forgotten { entries, heads: std::mem::take(&mut state.heads) }
    }

    /// Has again what it lost, as from a backup.
    pub(crate) fn restore(&self, Forgotten { entries, heads }: Forgotten) {
        let mut state = self.state();
        assert!(state.entries.is_empty(), "nothing was archived since");
        (state.entries, state.heads) = (entries, heads);
    }

    /// Has its last decision come in only when another epoch is about to begin.
    pub(crate) fn bring_last_late(&self) {
        let last = self.state().entries.last().cloned();
        self.forget_last(1);
        self.state().late = last;
    }

    /// Has it hold something that only a later version understands.
    pub(crate) fn set_unreadable(&self) {
        self.state().unreadable = true;
    }

    /// How often somebody wanted to append while it was away.
    pub(crate) fn turned_away(&self) -> u64 {
        self.state().turned_away
    }

    /// How often a lease was taken by somebody who did not have it.
    pub(crate) fn terms(&self, lease: &str) -> u64 {
        self.state().leases.get(lease).map_or(0, |(_, fence, _)| *fence)
    }

    /// Has an event's history leave for a file, but for the first decision and the last.
    pub(crate) fn file(&self, event: &EventId) {
        let mut state = self.state();
        let numbered = state.entries.iter().enumerate();
        let of_event = numbered.filter(|(_, (entry, _))| entry.event == *event);
        let mut between: Vec<_> = of_event.map(|(index, _)| index).skip(1).collect();
        between.pop();
        state.filed.extend(between);
    }

    /// The event's decisions.
    pub(crate) fn of_event(&self, event: &EventId) -> Vec<FeedEntry> {
        let state = self.state();
        let of_event = |entry: &&FeedEntry| entry.event == *event;
        state.entries.iter().map(|(entry, _)| entry).filter(of_event).cloned().collect()
    }

    /// The changes of a decision, to the letter.
    pub(crate) fn text_of(&self, event: &EventId, seq: Seq) -> Option<String> {
        self.state().texts.get(&(event.clone(), seq)).cloned()
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
    fn head_mut(&mut self, event: &EventId) -> &mut Head {
        let known = self.heads.iter().position(|(id, _)| id == event);
        let index = known.unwrap_or_else(|| {
            self.heads.push((event.clone(), Head::default()));
            self.heads.len() - 1
        });
        &mut self.heads[index].1
    }

    /// A decision's mark; `None` if it is in a file.
    fn mark_of(&self, event: &EventId, seq: Seq) -> Option<Option<Mark>> {
        let mut here = self.entries.iter().enumerate();
        let found = here.find(|(_, (entry, _))| entry.event == *event && entry.seq == seq);
        found.filter(|(index, _)| !self.filed.contains(index)).map(|(_, (_, mark))| *mark)
    }

    fn append(&mut self, what: ToArchive) -> Result<(), ArchiveError> {
        let head = *self.head_mut(&what.event);
        if what.epoch < head.epoch {
            return Err(ArchiveError::Superseded);
        }
        let first = what.decisions.first().map_or(head.seq, |first| first.entry.seq);
        if first.0 > head.seq.0 + 1 {
            return Err(ArchiveError::Diverged);
        }
        let known = what.decisions.iter().rfind(|decision| decision.entry.seq <= head.seq);
        let is_other = match known {
            Some(known) => self
                .mark_of(&what.event, known.entry.seq)
                .is_none_or(|mark| differ(known.mark, mark)),
            None => head.seq > Seq::default() && differ(what.before, head.mark),
        };
        if is_other {
            return Err(ArchiveError::Diverged);
        }
        let fresh: Vec<_> =
            what.decisions.into_iter().filter(|decision| decision.entry.seq > head.seq).collect();
        assert!(fresh.is_sorted_by_key(|decision| decision.entry.seq), "decisions come in order");
        let newest = fresh.last().map_or(head, |newest| Head {
            seq: newest.entry.seq,
            mark: newest.mark,
            ..head
        });
        *self.head_mut(&what.event) = Head { epoch: what.epoch, ..newest };
        for ToArchiveEntry { entry, text, mark } in fresh {
            self.texts.insert((entry.event.clone(), entry.seq), text);
            self.entries.push((entry, mark));
        }
        Ok(())
    }

    fn after(&self, after: Seq, limit: usize, wanted: impl Fn(&Archived) -> bool) -> Vec<Archived> {
        let here = self.entries.iter().enumerate().filter(|(index, _)| !self.filed.contains(index));
        let numbered = here.map(|(index, entry)| (Seq(index as u64 + 1), entry));
        let numbered = numbered.filter(|(number, _)| *number > after);
        let archived = numbered.map(|(number, (entry, mark))| Archived {
            number,
            entry: entry.clone(),
            mark: *mark,
        });
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
            Err(error) => {
                self.state().turned_away += 1;
                return ready(Err(error));
            }
        };
        self.shared.newest.send_if_modified(|known| std::mem::replace(known, newest) != newest);
        ready(result)
    }

    fn read(&self, after: Seq, limit: usize) -> ArchivePending<Vec<Archived>> {
        if self.state().unreadable {
            return ready(Err(ArchiveError::Unreadable(
                "decision 1 is of another kind".to_owned(),
            )));
        }
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

    fn head(&self, event: EventId) -> ArchivePending<Head> {
        ready(self.here().map(|state| {
            let head = state.heads.iter().find(|(id, _)| *id == event);
            head.map(|(_, head)| *head).unwrap_or_default()
        }))
    }

    fn begin_epoch(&self, event: EventId, epoch: u64) -> ArchivePending<Head> {
        ready(self.here().and_then(|mut state| {
            if let Some((entry, mark)) = state.late.take() {
                let head = state.head_mut(&entry.event);
                (head.seq, head.mark) = (entry.seq, mark);
                state.entries.push((entry, mark));
            }
            let head = state.head_mut(&event);
            if head.epoch != epoch {
                return Err(ArchiveError::Superseded);
            }
            head.epoch += 1;
            Ok(*head)
        }))
    }

    fn events(&self) -> ArchivePending<Vec<EventId>> {
        ready(self.here().map(|state| {
            let archived = state.heads.iter().filter(|(_, head)| head.seq > Seq::default());
            archived.map(|(id, _)| id.clone()).collect()
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
