//! An engine for tests, which does what the rules say, or fails as a test says.

use onrush_core::ids::EventId;
use onrush_core::{Command, Query, Reply, View};
use onrush_store::embedded::Embedded;
use onrush_store::{Engine, Failure, Feed, Figures, Pending, Seq};
use std::future::ready;
use std::sync::Mutex;
use std::time::Duration;

/// What it is asked.
pub(super) enum Asked<'a> {
    /// To do this.
    Command(&'a Command),
    /// About this event.
    Question(&'a EventId),
}

/// What it says instead of an answer, if anything.
type Instead = Box<dyn FnMut(&Asked<'_>) -> Option<Failure> + Send>;

/// An engine that fails now and then; what is decided is in its feed all the same.
pub(super) struct EngineStub {
    engine: Embedded,
    instead: Mutex<Instead>,
}

impl EngineStub {
    /// One that says this instead of an answer.
    pub(super) fn failing(
        engine: Embedded,
        instead: impl FnMut(&Asked<'_>) -> Option<Failure> + Send + 'static,
    ) -> Self {
        Self { engine, instead: Mutex::new(Box::new(instead)) }
    }

    /// Has it say this instead of an answer from now on.
    pub(super) fn fail(&self, instead: impl FnMut(&Asked<'_>) -> Option<Failure> + Send + 'static) {
        *self.instead.lock().expect("nobody panicked") = Box::new(instead);
    }

    fn instead(&self, asked: &Asked<'_>) -> Option<Failure> {
        let mut instead = self.instead.lock().expect("nobody panicked");
        instead(asked)
    }
}

impl Engine for EngineStub {
    fn execute(&self, event: EventId, command: Command) -> Pending<Reply> {
        match self.instead(&Asked::Command(&command)) {
            Some(failure) => Box::pin(ready(Err(failure))),
            None => self.engine.execute(event, command),
        }
    }

    fn query(&self, event: EventId, query: Query) -> Pending<View> {
        match self.instead(&Asked::Question(&event)) {
            Some(failure) => Box::pin(ready(Err(failure))),
            None => self.engine.query(event, query),
        }
    }

    fn events(&self) -> Pending<Vec<EventId>> {
        self.engine.events()
    }

    fn subscribe(&self, after: Seq) -> Box<dyn Feed> {
        self.engine.subscribe(after)
    }

    fn committed(&self) -> Seq {
        self.engine.committed()
    }

    fn settled(&self, event: EventId) -> Pending<Seq> {
        self.engine.settled(event)
    }

    fn waiting(&self) -> Duration {
        self.engine.waiting()
    }

    fn figures(&self) -> Figures {
        self.engine.figures()
    }
}
