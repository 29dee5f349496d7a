//! What this node knows of each event: its keys, how far it has come, and how far it is archived.

use super::archive::{Archive, ArchiveError};
use super::head::{Head, Mark};
use super::keys::EventKeys;
use crate::engine::Seq;
use onrush_core::ids::EventId;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// For how long the archive's list of events tells whether an event that this node never met is in
/// it. An event that is made meanwhile is found at once all the same, for Redis is asked whatever the
/// list says; only if Redis loses it within this time, it is not missed as long.
const LIST_IS_GOOD_FOR: Duration = Duration::from_secs(1);

/// Marks that are kept of each event, so that whoever waits for the archive finds theirs.
const MARKS: usize = 2_048;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One event, as far as this node knows.
pub(super) struct KnownEvent {
    pub(super) event: EventId,
    pub(super) keys: EventKeys,
    /// The last decision that anybody here was told of.
    head: Mutex<Head>,
    /// The last decision in the archive.
    archived: watch::Sender<Head>,
    marks: Mutex<Marks>,
    /// Whether a task archives its decisions, or rebuilds it.
    pub(super) tasks: Mutex<Tasks>,
    /// Wakes the task that archives.
    pub(super) decided: Notify,
    /// Held by whoever archives because somebody waits.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// Held by whoever runs a transaction.
    pub(super) transaction: tokio::sync::Mutex<()>,
}

/// The marks of the decisions of one epoch that were archived latest, as far as this node has seen them
/// there, in order. Another epoch may have others under the same numbers.
#[derive(Default)]
struct Marks {
    epoch: u64,
    latest: VecDeque<(Seq, Option<Mark>)>,
}

/// Which tasks of an event run on this node; of each kind one at most.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub(super) archiving: bool,
    pub(super) rebuilding: bool,
}

impl KnownEvent {
    fn new(event: EventId, archived: Head) -> Self {
        Self {
            keys: EventKeys::new(&event),
            event,
            head: Mutex::new(archived),
            archived: watch::Sender::new(archived),
            marks: Mutex::default(),
            tasks: Mutex::default(),
            decided: Notify::new(),
            turn: tokio::sync::Mutex::default(),
            transaction: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn head(&self) -> Head {
        *lock(&self.head)
    }

    /// Takes note of how far the event has come; whether that is news.
    pub(super) fn saw(&self, head: Head) -> bool {
        let mut known = lock(&self.head);
        let is_news = head > *known;
        if is_news || (head == *known && known.mark.is_none()) {
            *known = head;
        }
        is_news
    }

    /// Takes over how far the event has come where it is told what counts: another decision may stand at
    /// the place of the one that this node knows.
    pub(super) fn adopt(&self, head: Head) {
        let mut known = lock(&self.head);
        if head >= *known {
            *known = head;
        }
    }

    /// Forgets how far it had come: nothing of it was archived, and Redis has lost it.
    pub(super) fn forget(&self) {
        *lock(&self.head) = Head::default();
        self.archived.send_replace(Head::default());
        *lock(&self.marks) = Marks::default();
    }

    pub(super) fn archived(&self) -> Head {
        *self.archived.borrow()
    }

    /// Takes note of how far the event is archived.
    pub(super) fn saw_archived(&self, head: Head) {
        self.archived.send_if_modified(|known| {
            let is_news = head > *known;
            if is_news {
                *known = head;
            }
            is_news
        });
        self.saw(head);
    }

    /// Takes note that the archive has less than it had.
    pub(super) fn archive_is_back_at(&self, head: Head) {
        self.archived.send_replace(head);
        lock(&self.marks).latest.retain(|(seq, _)| *seq <= head.seq);
    }

    /// Takes note of marks that the archive has in an epoch, in order.
    pub(super) fn saw_marks(&self, epoch: u64, of: impl IntoIterator<Item = (Seq, Option<Mark>)>) {
        let mut marks = lock(&self.marks);
        if epoch < marks.epoch {
            return;
        }
        if epoch > marks.epoch {
            *marks = Marks { epoch, ..Marks::default() };
        }
        let latest = &mut marks.latest;
        for (seq, mark) in of {
            while latest.back().is_some_and(|(known, _)| *known >= seq) {
                latest.pop_back();
            }
            latest.push_back((seq, mark));
        }
        let too_many = latest.len().saturating_sub(MARKS);
        latest.drain(..too_many);
    }

    /// The mark that the archive has at this number, if this node has seen it there in this epoch.
    pub(super) fn archived_mark(&self, epoch: u64, seq: Seq) -> Option<Option<Mark>> {
        let marks = lock(&self.marks);
        let latest = (marks.epoch == epoch).then_some(&marks.latest)?;
        latest.binary_search_by_key(&seq, |(seq, _)| *seq).ok().map(|at| latest[at].1)
    }

    /// Waits until the event is archived as far as `head`.
    pub(super) async fn wait_archived(&self, head: Head) {
        let mut archived = self.archived.subscribe();
        // The sender is here, so that it does not end before this does.
        drop(archived.wait_for(|archived| *archived >= head).await);
    }

    pub(super) fn tasks(&self) -> MutexGuard<'_, Tasks> {
        lock(&self.tasks)
    }
}

/// All events that this node has had to do with.
#[derive(Default)]
pub(super) struct Known {
    events: Mutex<HashMap<EventId, Arc<KnownEvent>>>,
    /// What the archive said last that it has. Whoever has it asks again.
    listed: tokio::sync::Mutex<Option<Listed>>,
}

/// The events that the archive said that it has, or why it said nothing.
struct Listed {
    /// When it was asked; where it said nothing, when that was known.
    at: Instant,
    events: Result<HashSet<EventId>, ArchiveError>,
}

impl Listed {
    fn has(&self, event: &EventId) -> Result<bool, ArchiveError> {
        self.events.as_ref().map(|events| events.contains(event)).map_err(Clone::clone)
    }
}

impl Known {
    /// The event; one that this node meets for the first time is looked up in the archive, so that
    /// decisions that Redis has lost are missed.
    pub(super) async fn get(
        &self,
        event: &EventId,
        archive: &dyn Archive,
    ) -> Result<Arc<KnownEvent>, ArchiveError> {
        if let Some(known) = lock(&self.events).get(event) {
            return Ok(Arc::clone(known));
        }
        let archived = archive.head(event.clone()).await?;
        let found = KnownEvent::new(event.clone(), archived);
        if found.head() == Head::default() {
            // Anybody can ask for events that do not exist: they are not kept.
            return Ok(Arc::new(found));
        }
        Ok(self.keep(&Arc::new(found)))
    }

    /// The same for whoever only looks. Anybody can look at events that do not exist, as many as they
    /// can make up: for all of them the archive is asked once in a while which events it has.
    pub(super) async fn look(
        &self,
        event: &EventId,
        archive: &dyn Archive,
    ) -> Result<Arc<KnownEvent>, ArchiveError> {
        if let Some(known) = lock(&self.events).get(event) {
            return Ok(Arc::clone(known));
        }
        if self.is_archived(event, archive).await? {
            return self.get(event, archive).await;
        }
        Ok(Arc::new(KnownEvent::new(event.clone(), Head::default())))
    }

    /// Whether the archive has anything of an event, or had none a moment ago.
    async fn is_archived(
        &self,
        event: &EventId,
        archive: &dyn Archive,
    ) -> Result<bool, ArchiveError> {
        let asked = Instant::now();
        let mut listed = self.listed.lock().await;
        if let Some(last) = &*listed {
            let is_good = match last.events {
                Ok(_) => last.at.elapsed() < LIST_IS_GOOD_FOR,
                // Those who waited while it was asked in vain do not each wait as long again.
                Err(_) => last.at >= asked,
            };
            if is_good {
                return last.has(event);
            }
        }
        let began = Instant::now();
        let events = archive.events().await.map(|events| events.into_iter().collect());
        let at = if events.is_ok() { began } else { Instant::now() };
        listed.insert(Listed { at, events }).has(event)
    }

    /// Keeps an event that turned out to exist.
    pub(super) fn keep(&self, found: &Arc<KnownEvent>) -> Arc<KnownEvent> {
        let mut events = lock(&self.events);
        Arc::clone(events.entry(found.event.clone()).or_insert_with(|| Arc::clone(found)))
    }

    pub(super) fn is_kept(&self, event: &EventId) -> bool {
        lock(&self.events).contains_key(event)
    }

    /// Keeps an event no longer: who asks for it again has it looked up again.
    pub(super) fn let_go(&self, event: &EventId) {
        lock(&self.events).remove(event);
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Arc<KnownEvent>> {
        lock(&self.events).values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::archive::{Archived, Pending, ToArchive};
    use super::*;
    use std::future::ready;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// An archive with one event, which counts what it is asked.
    #[derive(Default)]
    struct Counting {
        heads: AtomicUsize,
        lists: AtomicUsize,
    }

    const HEAD: Head = Head { epoch: 0, seq: Seq(7), mark: None };

    fn gala() -> EventId {
        "gala".parse().expect("an id")
    }

    impl Archive for Counting {
        fn append(&self, _: ToArchive) -> Pending<()> {
            unreachable!("nothing is archived here")
        }

        fn read(&self, _: Seq, _: usize) -> Pending<Vec<Archived>> {
            unreachable!("nobody reads")
        }

        fn read_event(&self, _: EventId, _: Seq, _: usize) -> Pending<Vec<Archived>> {
            unreachable!("nobody reads")
        }

        fn head(&self, event: EventId) -> Pending<Head> {
            self.heads.fetch_add(1, Ordering::Relaxed);
            Box::pin(ready(Ok(if event == gala() { HEAD } else { Head::default() })))
        }

        fn begin_epoch(&self, _: EventId, _: u64) -> Pending<Head> {
            unreachable!("nothing is lost")
        }

        fn events(&self) -> Pending<Vec<EventId>> {
            self.lists.fetch_add(1, Ordering::Relaxed);
            Box::pin(ready(Ok(vec![gala()])))
        }

        fn newest(&self) -> watch::Receiver<Seq> {
            unreachable!("nobody reads")
        }

        fn lease(&self, _: String, _: u32) -> Pending<Option<u64>> {
            unreachable!("nobody archives")
        }

        fn release(&self, _: String) -> Pending<()> {
            unreachable!("nobody archives")
        }
    }

    #[tokio::test]
    async fn looks_at_made_up_events_cost_the_archive_a_list_now_and_then() {
        let (known, archive) = (Known::default(), Counting::default());
        let begun = Instant::now();
        for number in 0..100 {
            let made_up: EventId = format!("made-up-{number}").parse().expect("an id");
            let found = known.look(&made_up, &archive).await.expect("an archive");
            assert_eq!(found.head(), Head::default());
        }
        // One a second, on a machine that may be slow.
        let lists = 1 + usize::try_from(begun.elapsed().as_secs()).expect("not for long");
        assert!(archive.lists.load(Ordering::Relaxed) <= lists);
        assert_eq!(archive.heads.load(Ordering::Relaxed), 0);
        // One that is there is looked up, once, and whoever decides does not go by the list.
        for _ in 0..2 {
            assert_eq!(known.look(&gala(), &archive).await.expect("an archive").head(), HEAD);
        }
        assert_eq!(archive.heads.load(Ordering::Relaxed), 1);
        known.get(&"new".parse().expect("an id"), &archive).await.expect("an archive");
        assert_eq!(archive.heads.load(Ordering::Relaxed), 2);
        assert_eq!(known.all().len(), 1, "what is made up is not kept");
    }

    /// It was rebuilt, and another node archived both decisions: this one hears of the last alone.
    #[test]
    fn mark_of_an_epoch_that_is_over_is_not_taken_for_the_archives() {
        let known = KnownEvent::new("gala".parse().expect("an id"), Head::default());
        let head = |epoch, seq, mark| Head { epoch, seq: Seq(seq), mark: Some(Mark(mark)) };
        let saw = |head: Head| {
            known.saw_archived(head);
            known.saw_marks(head.epoch, [(head.seq, head.mark)]);
        };
        saw(head(0, 5, 105));
        assert_eq!(known.archived_mark(0, Seq(5)), Some(Some(Mark(105))));
        saw(head(1, 6, 206));
        assert_eq!(known.archived_mark(1, Seq(5)), None, "the archive has to be asked");
        assert_eq!(known.archived_mark(1, Seq(6)), Some(Some(Mark(206))));
        // Nor does one who was late bring them back.
        known.saw_marks(0, [(Seq(5), Some(Mark(105)))]);
        assert_eq!(known.archived_mark(1, Seq(5)), None);
    }
}
