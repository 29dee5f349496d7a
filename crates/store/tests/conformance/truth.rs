//! The rules themselves, and what they decide: the truth that every engine is measured by.

use onrush_core::event::Changes;
use onrush_core::{Change, Command, Event, Refusal, Reply, Time};
use serde::{Deserialize, Serialize};

/// One thing that happens in a sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Op {
    /// The clock shows this.
    Clock(Time),
    /// Somebody asks for this.
    Command(Box<Command>),
    /// The last command reaches the engine again, as it does when a client resends after a dropped
    /// connection.
    Resend,
    /// What the engine has is thrown away, and written anew from the rules' state.
    Refill,
}

/// One decision: when, and what changed.
pub(crate) type Decided = (Time, Vec<Change>);

/// What a command led to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The answer and the time it was decided at, or the refusal.
    pub(crate) answer: Result<(Time, Reply), Refusal>,
    /// The decisions it brought about, ticks included.
    pub(crate) decided: Vec<Decided>,
}

/// One event as the rules know it.
pub(crate) struct Truth {
    pub(crate) event: Event,
    pub(crate) clock: Time,
    /// The time of the last change.
    at: Time,
    /// Whether everything that is due is dealt with at once, as the embedded engine does; if not, a
    /// sequence's own ticks do.
    settles: bool,
}

impl Truth {
    pub(crate) fn new(event: Event, clock: Time, settles: bool) -> Self {
        Self { event, clock, at: Time::MIN, settles }
    }

    /// The time a decision is made at.
    pub(crate) fn now(&self) -> Time {
        self.clock.max(self.at)
    }

    /// Whether a tick would do something now.
    pub(crate) fn is_due(&self) -> bool {
        self.event.next_deadline().is_some_and(|due| due <= self.now())
    }

    pub(crate) fn set_clock(&mut self, clock: Time) -> Vec<Decided> {
        self.clock = clock;
        self.settle()
    }

    pub(crate) fn run(&mut self, command: &Command) -> Outcome {
        let at = self.now();
        let answer = self.event.decide(at, command);
        let mut decided = Vec::new();
        let answer = answer.map(|decision| {
            decided.extend(self.apply(at, decision.changes));
            (at, decision.reply)
        });
        decided.extend(self.settle());
        Outcome { answer, decided }
    }

    fn settle(&mut self) -> Vec<Decided> {
        let mut decided = Vec::new();
        while self.settles && self.is_due() {
            let at = self.now();
            let tick = self.event.decide(at, &Command::Tick).expect("a tick is never refused");
            decided.extend(self.apply(at, tick.changes));
        }
        decided
    }

    fn apply(&mut self, at: Time, changes: Changes) -> Option<Decided> {
        if changes.is_empty() {
            return None;
        }
        self.at = at;
        changes.iter().for_each(|change| self.event.evolve(at, change));
        Some((at, changes.into_vec()))
    }
}
