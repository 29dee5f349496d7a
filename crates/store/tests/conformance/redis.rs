//! The engine on Redis as a subject: its scripts, one a command, and what they leave in Redis.

use crate::play::{Subject, Trouble};
use crate::truth::{Decided, Outcome};
use crate::world::id;
use onrush_core::command::SeatSpec;
use onrush_core::ids::{EventId, SeatId};
use onrush_core::snapshot::SnapshotRow;
use onrush_core::{Command, Event, Query, Refusal, Time, View};
use onrush_store::Seq;
use onrush_store::redis::Probe;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::Runtime;

/// Events of all subjects of this process, so that each sequence has keys of its own.
static EVENTS: AtomicU64 = AtomicU64::new(0);

pub(crate) struct RedisSubject {
    runtime: Runtime,
    probe: Probe,
    read: Seq,
    clock: Time,
    requests: u64,
    last: Option<Command>,
}

impl RedisSubject {
    pub(crate) fn new(urls: &[String], is_cluster: bool) -> Self {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let probe = runtime.block_on(Probe::open(urls, is_cluster)).expect("Redis answers");
        Self { runtime, probe, read: Seq::default(), clock: Time(0), requests: 0, last: None }
    }

    /// What was decided since the last time.
    fn decided(&mut self) -> Result<Vec<Decided>, Trouble> {
        let entries = self.runtime.block_on(self.probe.feed(self.read))?;
        if let Some((seq, ..)) = entries.last() {
            self.read = *seq;
        }
        Ok(entries.into_iter().map(|(_, at, changes)| (at, changes)).collect())
    }

    fn send(&mut self, command: &Command) -> Result<Outcome, Trouble> {
        let request = format!("{:032x}", self.requests);
        let answer = self.runtime.block_on(self.probe.run(command, &request))?;
        Ok(Outcome { answer, decided: self.decided()? })
    }

    /// Puts this state in place of whatever is there.
    pub(crate) fn fill(&mut self, event: &Event) -> Result<(), Trouble> {
        self.runtime.block_on(self.probe.fill(event, self.clock))
    }

    /// Where counts, indexes and deadlines are not those of this state.
    pub(crate) fn differences(&mut self, event: &Event) -> Result<Vec<String>, Trouble> {
        self.runtime.block_on(self.probe.differences(event))
    }
}

impl Subject for RedisSubject {
    fn begin(&mut self, clock: Time) -> EventId {
        let event: EventId = id(&format!("e{}", EVENTS.fetch_add(1, Ordering::Relaxed)));
        self.probe.look_at(event.clone());
        (self.read, self.last) = (Seq::default(), None);
        self.set_clock(clock).expect("Redis answers");
        event
    }

    fn set_clock(&mut self, clock: Time) -> Result<Vec<Decided>, Trouble> {
        self.clock = clock;
        self.runtime.block_on(self.probe.set_clock(clock))?;
        Ok(Vec::new())
    }

    fn run(&mut self, command: &Command) -> Result<Outcome, Trouble> {
        self.requests += 1;
        self.last = Some(command.clone());
        self.send(command)
    }

    fn resend(&mut self) -> Result<Option<Outcome>, Trouble> {
        match self.last.clone() {
            Some(last) => self.send(&last).map(Some),
            None => Ok(None),
        }
    }

    fn query(&mut self, _query: &Query) -> Result<Option<Result<View, Refusal>>, Trouble> {
        Ok(None)
    }

    fn next_deadline(&mut self) -> Result<Option<Option<Time>>, Trouble> {
        Ok(None)
    }

    fn rows(
        &mut self,
        seats: &BTreeMap<SeatId, SeatSpec>,
    ) -> Result<Option<Vec<SnapshotRow>>, Trouble> {
        self.runtime.block_on(self.probe.rows(seats)).map(Some)
    }

    fn leftovers(&mut self, event: &Event) -> Result<Vec<String>, Trouble> {
        if event.snapshot().next().is_none() {
            return Ok(Vec::new());
        }
        self.differences(event)
    }
}
