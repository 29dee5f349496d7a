//! What this node knows of each event: its keys, how far it has come, and how far it is archived.

use super::archive::{Archive, ArchiveError};
use super::head::{Head, Mark};
use super::keys::EventKeys;
use crate::engine::Seq;
use onrush_core::ids::EventId;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

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
    use super::*;

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
