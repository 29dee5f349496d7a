//! The embedded engine as a subject.

use crate::play::{Subject, Trouble};
use crate::truth::{Decided, Outcome};
use crate::world::{START, id};
use onrush_core::ids::{EventId, SeatId};
use onrush_core::question::EventNow;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::spec::SeatSpec;
use onrush_core::{Command, Event, Query, Refusal, Time, View};
use onrush_store::embedded::{Clock, Embedded, ManualClock, Options};
use onrush_store::{Engine, Failure, Feed, Seq};
use std::collections::BTreeMap;
use tempfile::TempDir;
use tokio::runtime::Runtime;

struct Running {
    engine: Embedded,
    feed: Box<dyn Feed>,
    read: Seq,
    _dir: TempDir,
}

/// One engine a sequence: its clock is the same for all of its events.
pub(crate) struct EmbeddedSubject {
    runtime: Runtime,
    clock: ManualClock,
    running: Option<Running>,
}

impl EmbeddedSubject {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .expect("a runtime");
        Self { runtime, clock: ManualClock::new(START), running: None }
    }

    fn event() -> EventId {
        id("show")
    }

    /// What was decided since the last time.
    fn decided(&mut self) -> Result<Vec<Decided>, Trouble> {
        let running = self.running.as_mut().ok_or("no sequence has begun")?;
        let mut decided = Vec::new();
        while running.read < running.engine.committed() {
            let page =
                self.runtime.block_on(running.feed.next())?.ok_or("the engine has stopped")?;
            for entry in page {
                running.read = entry.seq;
                decided.push((entry.at, entry.changes.clone()));
            }
        }
        Ok(decided)
    }
}

impl Subject for EmbeddedSubject {
    fn begin(&mut self, clock: Time) -> EventId {
        self.running = None;
        self.clock = ManualClock::new(clock);
        let dir = tempfile::tempdir().expect("a directory");
        let options = Options {
            clock: Clock::Manual(self.clock.clone()),
            runtime: Some(self.runtime.handle().clone()),
            ..Options::default()
        };
        let engine = Embedded::open(dir.path(), options).expect("the engine opens");
        let feed = engine.subscribe(Seq::default());
        self.running = Some(Running { engine, feed, read: Seq::default(), _dir: dir });
        Self::event()
    }

    fn set_clock(&mut self, clock: Time) -> Result<Vec<Decided>, Trouble> {
        self.clock.set(clock);
        // The answer to a question comes after everything that is due by then.
        drop(self.query(&EventNow.into())?);
        self.decided()
    }

    fn run(&mut self, command: &Command) -> Result<Outcome, Trouble> {
        let running = self.running.as_mut().ok_or("no sequence has begun")?;
        let pending = running.engine.execute(Self::event(), command.clone());
        let answer = match self.runtime.block_on(pending) {
            Ok(answer) => Ok((answer.at, answer.value)),
            Err(Failure::Refused(refusal)) => Err(refusal),
            Err(failure) => return Err(failure.to_string()),
        };
        Ok(Outcome { answer, decided: self.decided()? })
    }

    fn resend(&mut self) -> Result<Option<Outcome>, Trouble> {
        Ok(None)
    }

    fn refill(&mut self, _event: &Event) -> Result<bool, Trouble> {
        Ok(false)
    }

    fn query(&mut self, query: &Query) -> Result<Option<Result<View, Refusal>>, Trouble> {
        let running = self.running.as_mut().ok_or("no sequence has begun")?;
        match self.runtime.block_on(running.engine.query(Self::event(), query.clone())) {
            Ok(answer) => Ok(Some(Ok(answer.value))),
            Err(Failure::Refused(refusal)) => Ok(Some(Err(refusal))),
            Err(failure) => Err(failure.to_string()),
        }
    }

    fn next_deadline(&mut self) -> Result<Option<Option<Time>>, Trouble> {
        Ok(None)
    }

    fn rows(
        &mut self,
        _seats: &BTreeMap<SeatId, SeatSpec>,
    ) -> Result<Option<Vec<SnapshotRow>>, Trouble> {
        Ok(None)
    }

    fn leftovers(&mut self, _event: &Event) -> Result<Vec<String>, Trouble> {
        Ok(Vec::new())
    }
}
