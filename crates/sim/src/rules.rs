//! The rules under test, and the one place where a planted bug can come between.

#[cfg(feature = "planted")]
use crate::planted::Planted;
use onrush_core::event::Decision;
use onrush_core::ids::EventId;
use onrush_core::question::{Query, View};
use onrush_core::snapshot::SnapshotRow;
use onrush_core::{Change, Command, Event, Refusal, Time};

/// One event of the rules, as the run sees it.
#[derive(Debug)]
pub struct Rules {
    event: Event,
    #[cfg(feature = "planted")]
    planted: Planted,
}

#[cfg(not(feature = "planted"))]
impl Rules {
    /// An event that does not exist yet.
    #[must_use]
    pub fn new(id: EventId) -> Self {
        Self { event: Event::new(id) }
    }

    /// See [`Event::decide`].
    ///
    /// # Errors
    /// The refusal.
    pub fn decide(&mut self, at: Time, command: &Command) -> Result<Decision, Refusal> {
        self.event.decide(at, command)
    }

    /// See [`Event::evolve`].
    pub fn evolve(&mut self, at: Time, change: &Change) {
        self.event.evolve(at, change);
    }

    /// See [`Event::query`].
    ///
    /// # Errors
    /// The refusal.
    pub fn query(&self, at: Time, query: &Query) -> Result<View, Refusal> {
        self.event.query(at, query)
    }

    /// Starts again from these rows of a snapshot, or from nothing.
    pub fn restart(&mut self, rows: Vec<SnapshotRow>) {
        self.event = start(self.event.id().clone(), rows);
    }
}

#[cfg(feature = "planted")]
impl Rules {
    /// An event that does not exist yet.
    #[must_use]
    pub fn new(id: EventId) -> Self {
        Self { event: Event::new(id), planted: Planted::default() }
    }

    /// Plants a bug.
    pub fn plant(&mut self, bug: crate::planted::Bug) {
        self.planted.plant(bug);
    }

    /// See [`Event::decide`], with the planted bug.
    ///
    /// # Errors
    /// The refusal.
    pub fn decide(&mut self, at: Time, command: &Command) -> Result<Decision, Refusal> {
        self.planted.decide(&self.event, at, command)
    }

    /// See [`Event::evolve`], with the planted bug.
    pub fn evolve(&mut self, at: Time, change: &Change) {
        self.planted.evolve(&mut self.event, at, change);
    }

    /// See [`Event::query`], with the planted bug.
    ///
    /// # Errors
    /// The refusal.
    pub fn query(&self, at: Time, query: &Query) -> Result<View, Refusal> {
        self.planted.query(&self.event, at, query)
    }

    /// Starts again from these rows of a snapshot, or from nothing.
    pub fn restart(&mut self, rows: Vec<SnapshotRow>) {
        let rows = self.planted.rows(rows);
        self.event = start(self.event.id().clone(), rows);
    }
}

impl Rules {
    /// See [`Event::next_deadline`].
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.event.next_deadline()
    }

    /// The state as rows.
    pub fn snapshot(&self) -> impl Iterator<Item = SnapshotRow> + '_ {
        self.event.snapshot()
    }

    /// See [`Event::check`].
    ///
    /// # Errors
    /// What is broken.
    pub fn check(&self) -> Result<(), Vec<String>> {
        self.event.check()
    }
}

fn start(id: EventId, rows: Vec<SnapshotRow>) -> Event {
    if rows.is_empty() {
        return Event::new(id);
    }
    Event::restore(id, rows).expect("a snapshot begins with the event's own row")
}
