//! The engine on Redis as a subject: its scripts, one a command, and what they leave in Redis.

use crate::memory_archive::MemoryArchive;
use crate::play::{Subject, Trouble};
use crate::truth::{Decided, Outcome};
use crate::world::id;
use onrush_core::ids::{EventId, SeatId};
use onrush_core::snapshot::SnapshotRow;
use onrush_core::spec::SeatSpec;
use onrush_core::{Command, Event, Query, Refusal, Time, View};
use onrush_store::flags::{Flag, Flags};
use onrush_store::redis::{Options, Probe, RedisEngine};
use onrush_store::{Engine, Failure, Seq};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::Runtime;

/// Events of all subjects of this process, so that each sequence has keys of its own.
static EVENTS: AtomicU64 = AtomicU64::new(0);

/// How commands reach Redis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    /// Through the engine, with all that a node does.
    Engine,
    /// The same with every flag on for half of the users.
    HalfFlags,
    /// The same with joins and holds as optimistic transactions.
    Transactions,
    /// The same with every flag switched after every command.
    Switching,
    /// Straight to the scripts, so that a request can come twice. Draws need a node and are not for this.
    Scripts,
}

pub(crate) struct RedisSubject {
    runtime: Runtime,
    engine: Option<RedisEngine>,
    way: Way,
    flags: Arc<Flags>,
    event: EventId,
    probe: Probe,
    read: Seq,
    clock: Time,
    requests: u64,
    looks: u64,
    last: Option<Command>,
    fault: Option<Fault>,
}

/// What is done to Redis behind the rules' back after a command: some words for it, or nothing.
pub(crate) type Fault = fn(&Command, &Probe) -> Option<Vec<String>>;

impl RedisSubject {
    pub(crate) fn new(urls: &[String], is_cluster: bool, way: Way) -> Self {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let probe = runtime.block_on(Probe::open(urls, is_cluster)).expect("Redis answers");
        let archive = Arc::new(MemoryArchive::new());
        // What is said is compared here, not how soon: a machine that is busy may stand still.
        let options = Options {
            ticks: false,
            timeout_ms: 120_000,
            archive_timeout_ms: 240_000,
            ..Options::new(urls.to_vec(), is_cluster, archive)
        };
        let flags = Arc::clone(&options.flags);
        if way == Way::HalfFlags {
            Flag::ALL.into_iter().for_each(|flag| flags.set(flag, 50));
        }
        if way == Way::Transactions {
            flags.set(Flag::LuaAtomic, 0);
        }
        let engine = (way != Way::Scripts)
            .then(|| runtime.block_on(RedisEngine::open(options)).expect("the engine begins"));
        let (read, clock) = (Seq::default(), Time(0));
        let event = id("nothing");
        let (requests, looks, last, fault) = (0, 0, None, None);
        Self {
            runtime,
            engine,
            way,
            flags,
            event,
            probe,
            read,
            clock,
            requests,
            looks,
            last,
            fault,
        }
    }

    /// From now on this goes wrong.
    pub(crate) fn plant(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// What was decided since the last time.
    fn decided(&mut self) -> Result<Vec<Decided>, Trouble> {
        let entries = self.runtime.block_on(self.probe.feed(self.read))?;
        if let Some((seq, ..)) = entries.last() {
            self.read = *seq;
        }
        Ok(entries.into_iter().map(|(_, at, changes)| (at, changes)).collect())
    }

    /// Switches the flags: each goes through its settings at a pace of its own.
    fn switch_flags(&self) {
        for (flag, pace) in Flag::ALL.into_iter().zip([2, 1, 3]) {
            self.flags.set(flag, [0, 50, 100][(self.requests / pace % 3) as usize]);
        }
    }

    fn send(&mut self, command: &Command) -> Result<Outcome, Trouble> {
        let answer = match &self.engine {
            Some(engine) => {
                let _entered = self.runtime.enter();
                let pending = engine.execute(self.event.clone(), command.clone());
                decided_or_refused(self.runtime.block_on(pending))?
                    .map(|answer| (answer.at, answer.value))
            }
            None => {
                let request = format!("{:032x}", self.requests);
                self.runtime.block_on(self.probe.run(command, &request))?
            }
        };
        if let Some(words) = self.fault.and_then(|fault| fault(command, &self.probe)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.runtime.block_on(self.probe.raw(&words))?;
        }
        Ok(Outcome { answer, decided: self.decided()? })
    }

    /// Keys of this event that no document knows, and streams of users who do not wait.
    fn strange_keys(&mut self, event: &Event) -> Result<Vec<String>, Trouble> {
        let id = &self.event;
        let waits: BTreeSet<String> = event
            .snapshot()
            .filter_map(|row| match row {
                SnapshotRow::Place(row) => Some(format!("stream:event:{{{id}}}:user:{}", row.user)),
                _ => None,
            })
            .collect();
        let parts = [
            "meta",
            "pools",
            "blocked",
            "seats",
            "categories",
            "holds",
            "users",
            "sessions",
            "queue",
            "parked",
            "lapses",
            "deadlines",
            "claims",
            "feed",
            "recent0",
            "recent1",
            "gone",
            "bans",
            "segments",
            "segments_free",
            "segments_open",
            "access",
            "channels",
            "payers",
            "extended",
        ];
        let declared: BTreeSet<String> = parts.iter().map(|part| self.probe.key(part)).collect();
        let keys = self.runtime.block_on(self.probe.keys(&format!("*{{{id}}}*")))?;
        let strange = |key: &String| !declared.contains(key) && !waits.contains(key);
        Ok(keys.into_iter().filter(strange).map(|key| format!("key {key}")).collect())
    }
}

fn decided_or_refused<T>(answer: Result<T, Failure>) -> Result<Result<T, Refusal>, Trouble> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(Failure::Refused(refusal)) => Ok(Err(refusal)),
        Err(failure) => Err(failure.to_string()),
    }
}

impl Subject for RedisSubject {
    fn begin(&mut self, clock: Time) -> EventId {
        let nth = EVENTS.fetch_add(1, Ordering::Relaxed);
        let event: EventId = id(&format!("e{}-{nth}", std::process::id()));
        self.probe.look_at(event.clone());
        self.event = event.clone();
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
        if self.way == Way::Switching {
            self.switch_flags();
        }
        self.last = Some(command.clone());
        self.send(command)
    }

    fn resend(&mut self) -> Result<Option<Outcome>, Trouble> {
        match self.last.clone() {
            Some(_) if self.engine.is_some() => Ok(None),
            Some(last) => self.send(&last).map(Some),
            None => Ok(None),
        }
    }

    fn refill(&mut self, event: &Event) -> Result<bool, Trouble> {
        self.runtime.block_on(self.probe.fill(event, self.clock))?;
        self.read = Seq::default();
        Ok(true)
    }

    fn query(&mut self, query: &Query) -> Result<Option<Result<View, Refusal>>, Trouble> {
        let Some(engine) = &self.engine else { return Ok(None) };
        let _entered = self.runtime.enter();
        let pending = engine.query(self.event.clone(), query.clone());
        let view = decided_or_refused(self.runtime.block_on(pending))?;
        Ok(Some(view.map(|answer| answer.value)))
    }

    fn next_deadline(&mut self) -> Result<Option<Option<Time>>, Trouble> {
        self.runtime.block_on(self.probe.next_deadline()).map(Some)
    }

    fn rows(
        &mut self,
        seats: &BTreeMap<SeatId, SeatSpec>,
    ) -> Result<Option<Vec<SnapshotRow>>, Trouble> {
        self.runtime.block_on(self.probe.rows(seats)).map(Some)
    }

    fn leftovers(&mut self, event: &Event) -> Result<Vec<String>, Trouble> {
        let mut found = if event.snapshot().next().is_some() {
            self.runtime.block_on(self.probe.differences(event))?
        } else {
            Vec::new()
        };
        // Keys are as many as sequences were played: looking at all of them is done seldom.
        self.looks += 1;
        if self.looks.is_multiple_of(8) {
            found.extend(self.strange_keys(event)?);
        }
        Ok(found)
    }
}
