//! All events of one engine, and which of them is due next.

use crate::engine::FeedEntry;
use onrush_core::ids::EventId;
use onrush_core::{Change, Event, Time};
use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Where an event stands among the others: events are numbered in the order they were created.
pub(super) type Index = usize;

struct Slot {
    event: Event,
    /// The deadline that `deadlines` has for it.
    deadline: Option<Time>,
    /// Whether decisions were passed over whose changes are in its archive file: until the one that
    /// archived it, its state is not what it was.
    is_behind: bool,
}

/// The state that the journal adds up to.
#[derive(Default)]
pub(super) struct Events {
    slots: Vec<Slot>,
    by_id: HashMap<EventId, Index>,
    deadlines: BTreeSet<(Time, Index)>,
}

impl Events {
    pub(super) fn find(&self, id: &EventId) -> Option<Index> {
        self.by_id.get(id).copied()
    }

    pub(super) fn get(&self, index: Index) -> &Event {
        &self.slots[index].event
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Event> {
        self.slots.iter().map(|slot| &slot.event)
    }

    pub(super) fn ids(&self) -> Vec<EventId> {
        self.iter().map(|event| event.id().clone()).collect()
    }

    /// The ids of those that were not archived.
    pub(super) fn live_ids(&self) -> Vec<EventId> {
        let live = self.iter().filter(|event| event.archived_at().is_none());
        live.map(|event| event.id().clone()).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds an event that is not among them yet.
    pub(super) fn insert(&mut self, event: Event) -> Index {
        let index = self.slots.len();
        let known = self.by_id.insert(event.id().clone(), index);
        assert!(known.is_none(), "an event is inserted once");
        self.slots.push(Slot { event, deadline: None, is_behind: false });
        index
    }

    pub(super) fn evolve(&mut self, index: Index, at: Time, changes: &[Change]) {
        let event = &mut self.slots[index].event;
        for change in changes {
            event.evolve(at, change);
        }
    }

    /// Applies a decision from the journal. One without changes is passed over: they are in a file,
    /// and the event is archived later on.
    ///
    /// # Errors
    /// If it cannot have been made in this state, which then is good for nothing any more.
    pub(super) fn replay(&mut self, entry: &FeedEntry) -> Result<(), String> {
        let index = match self.find(&entry.event) {
            Some(index) => index,
            None if entry.changes.first().is_some_and(Change::creates_event) => {
                self.insert(Event::new(entry.event.clone()))
            }
            None => return Err(format!("event {} changes before it is created", entry.event)),
        };
        if entry.changes.is_empty() {
            self.slots[index].is_behind = true;
            return Ok(());
        }
        guarded(|| self.evolve(index, entry.at, &entry.changes))
            .map_err(|why| format!("it contradicts what was before: {why}"))
    }

    /// Whether decisions of an event were passed over, and it is not archived yet.
    pub(super) fn is_behind(&self, index: Index) -> bool {
        self.slots[index].is_behind && self.slots[index].event.archived_at().is_none()
    }

    /// An event that is behind in the end: the decision that archived it is missing.
    pub(super) fn one_behind(&self) -> Option<&EventId> {
        let behind = (0..self.len()).find(|index| self.is_behind(*index));
        behind.map(|index| self.get(index).id())
    }

    /// Looks up again when an event is due; to be called once it has changed.
    pub(super) fn schedule(&mut self, index: Index) {
        let slot = &mut self.slots[index];
        let deadline = slot.event.next_deadline();
        if deadline != slot.deadline {
            if let Some(old) = slot.deadline {
                self.deadlines.remove(&(old, index));
            }
            if let Some(new) = deadline {
                self.deadlines.insert((new, index));
            }
            slot.deadline = deadline;
        }
    }

    pub(super) fn schedule_all(&mut self) {
        for index in 0..self.slots.len() {
            self.schedule(index);
        }
    }

    /// The earliest deadline of all, and whose it is.
    pub(super) fn next_deadline(&self) -> Option<(Time, Index)> {
        self.deadlines.first().copied()
    }
}

/// Turns a panic of the rules, which is how they meet what contradicts their state, into a sentence.
pub(super) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let why = panic.downcast_ref::<String>().map(String::as_str);
        let why = why.or_else(|| panic.downcast_ref::<&str>().copied());
        why.unwrap_or("no reason given").to_owned()
    })
}
