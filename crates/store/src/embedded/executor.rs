//! The engine thread: it runs the rules, one command at a time.

use super::clock::{Clock, Turn};
use super::disk::Need;
use super::dispatch::Dispatch;
use super::events::{Events, Index};
use super::mailbox::{Ask, Result, Woken};
use super::outbox::{Batch, Decided};
use super::shared::Shared;
use crate::engine::{Answer, Failure, Seq};
use onrush_core::event::Decision;
use onrush_core::ids::EventId;
use onrush_core::limits::MAX_TICKS_PER_TURN;
use onrush_core::{Command, Event, Query, Refusal, Reply, Time, View};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Commands between two looks at the deadlines at most.
const MAX_ASKS_PER_TURN: usize = 2_048;
/// Engine time may jump after a clock that was set forward, so the thread looks at least this often.
const LONGEST_SLEEP_MS: i64 = 60_000;

/// What the engine thread works with. It alone touches the state.
pub(super) struct Executor {
    pub(super) events: Events,
    /// The time of the last turn; it never goes back.
    pub(super) at: Time,
    /// The last decision made, committed or not.
    pub(super) decided: Seq,
    pub(super) clock: Clock,
    pub(super) shared: Arc<Shared>,
    pub(super) dispatch: Dispatch,
    pub(super) batch: Batch,
}

impl Executor {
    /// Moves all deadlines on by the time the engine was away, in one transaction, before anything
    /// else is decided.
    pub(super) fn make_up_for(&mut self, gap_ms: i64) {
        self.at = self.at.max(self.clock.now());
        for index in 0..self.events.len() {
            let decision = self.events.get(index).decide(self.at, &Command::Recover { gap_ms });
            // An event that has nothing to move may refuse.
            if let Ok(decision) = decision {
                drop(self.apply(index, decision));
            }
        }
        self.hand_over();
    }

    /// Runs until the mailbox is closed and empty, or the journal has failed. Returns the state and its time.
    pub(super) fn run(mut self) -> (Events, Time) {
        loop {
            let (asks, woken) = self.shared.mailbox.take(self.patience());
            if !self.decide(asks) || woken == Woken::Closed {
                return (self.events, self.at);
            }
        }
    }

    /// Decides what was asked and what is due by now, and passes it on. False if the journal has failed.
    pub(super) fn decide(&mut self, mut asks: Vec<Ask>) -> bool {
        loop {
            let rest = asks.split_off(asks.len().min(MAX_ASKS_PER_TURN));
            let begun = Instant::now();
            self.begin_turn();
            // What is due by now comes first, so that nobody is told of a hold whose time is up.
            self.tick();
            for ask in &mut asks {
                self.serve(ask);
            }
            if !asks.is_empty() {
                self.batch.answered.push(asks);
            }
            self.tick();
            if !self.batch.is_empty() {
                self.shared.decide.note(begun.elapsed());
            }
            if !self.hand_over() {
                return false;
            }
            if rest.is_empty() {
                return true;
            }
            asks = rest;
        }
    }

    /// Looks at the clock. Time that the process stood still counts as time away.
    fn begin_turn(&mut self) {
        let Turn { now, missed_ms } = self.clock.turn();
        if missed_ms > 0 {
            self.make_up_for(missed_ms);
        }
        self.at = self.at.max(now);
    }

    /// How long to wait for commands: until the next deadline.
    fn patience(&self) -> Option<Duration> {
        let (deadline, _) = self.events.next_deadline()?;
        let now = self.at.max(self.clock.now());
        if deadline <= now {
            Some(Duration::ZERO)
        } else if self.clock.runs() {
            let ms = deadline.since_ms(now).min(LONGEST_SLEEP_MS);
            Some(Duration::from_millis(ms.unsigned_abs()))
        } else {
            None
        }
    }

    fn serve(&mut self, ask: &mut Ask) {
        match ask {
            Ask::Command(event, command, slot) => slot.answer = self.execute(event, command),
            Ask::Query(event, query, slot) => slot.answer = self.query(event, query),
            Ask::Events(slot) => slot.answer = self.answer(self.events.live_ids()),
        }
    }

    fn answer<T>(&self, value: T) -> Result<T> {
        Ok(Answer { at: self.at, as_of: None, value })
    }

    fn query(&self, event: &EventId, query: &Query) -> Result<View> {
        let index = self.events.find(event).ok_or(Refusal::EventNotFound)?;
        self.answer(self.events.get(index).query(self.at, query)?)
    }

    fn execute(&mut self, event: &EventId, command: &Command) -> Result<Reply> {
        let Some(index) = self.events.find(event) else {
            return self.create(event, command);
        };
        let decision = self.events.get(index).decide(self.at, command)?;
        self.refuse_on_low_disk(command, &decision)?;
        self.apply(index, decision)
    }

    /// Only an event's creation is possible before there is one; anything else leaves no trace.
    fn create(&mut self, id: &EventId, command: &Command) -> Result<Reply> {
        if !matches!(command, Command::CreateEvent { .. }) {
            return Err(Refusal::EventNotFound.into());
        }
        let event = Event::new(id.clone());
        let decision = event.decide(self.at, command)?;
        self.refuse_on_low_disk(command, &decision)?;
        let index = self.events.insert(event);
        self.apply(index, decision)
    }

    fn apply(&mut self, index: Index, decision: Decision) -> Result<Reply> {
        if !decision.changes.is_empty() {
            self.events.evolve(index, self.at, &decision.changes);
            self.events.schedule(index);
            self.decided = Seq(self.decided.0 + 1);
            self.batch.decided.push(Decided {
                seq: self.decided,
                at: self.at,
                event: self.events.get(index).id().clone(),
                changes: decision.changes,
            });
        }
        self.answer(decision.reply)
    }

    fn refuse_on_low_disk(
        &self,
        command: &Command,
        decision: &Decision,
    ) -> std::result::Result<(), Failure> {
        let enough = || need_of(command).is_none_or(|need| self.shared.space.is_enough_for(need));
        if decision.changes.is_empty() || enough() { Ok(()) } else { Err(Failure::DiskLow) }
    }

    /// Decides what is due by now, up to a limit, so that commands get their turn.
    fn tick(&mut self) {
        for _ in 0..MAX_TICKS_PER_TURN {
            let Some((deadline, index)) = self.events.next_deadline() else { return };
            if deadline > self.at {
                return;
            }
            let event = self.events.get(index);
            match event.decide(self.at, &Command::Tick) {
                Ok(decision) => {
                    assert!(
                        !decision.changes.is_empty(),
                        "event {}: a tick that is due at {deadline:?} changes something",
                        event.id()
                    );
                    drop(self.apply(index, decision));
                }
                Err(refusal) => panic!("event {}: a tick is never refused: {refusal}", event.id()),
            }
        }
    }

    /// Passes the turn's decisions on to be committed. False if the journal has failed.
    fn hand_over(&mut self) -> bool {
        if self.batch.is_empty() {
            return true;
        }
        // Nobody sees state that a crash could undo: an answer waits for everything decided before it.
        // It also waits for the answers to that, and for the feed to have it: readers are woken for each
        // decision once, and one who looked too early would not be woken again.
        if self.batch.decided.is_empty() && self.decided == self.shared.delivered() {
            let answered = std::mem::take(&mut self.batch.answered);
            self.dispatch.deliver(answered, self.decided);
            return true;
        }
        self.shared.outbox.put(&mut self.batch)
    }
}

/// What a command wants space for.
fn need_of(command: &Command) -> Option<Need> {
    let traits = command.traits();
    let business = traits.needs_space.then_some(Need::Business);
    business.or(traits.begins_payment.then_some(Need::Payment))
}
