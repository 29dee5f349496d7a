//! An engine that only answers questions, as a test says.

use onrush_core::ids::EventId;
use onrush_core::{Command, Query, Reply, Time, View};
use onrush_store::{Answer, Engine, Failure, Feed, Figures, Pending, Seq};
use std::future::{pending, ready};
use std::time::Duration;

/// What it answers; `None` is no answer at all.
type Told = Option<Result<View, Failure>>;

/// An engine with these events, which is asked and never changed.
pub(crate) struct EngineStub<F> {
    pub(crate) events: Vec<EventId>,
    /// What is told of an event.
    pub(crate) told: F,
}

impl<F: Fn(&EventId) -> Told + Send + Sync + 'static> Engine for EngineStub<F> {
    fn execute(&self, _: EventId, _: Command) -> Pending<Reply> {
        unreachable!("nothing is changed here")
    }

    fn query(&self, event: EventId, _: Query) -> Pending<View> {
        match (self.told)(&event) {
            Some(told) => answered(told),
            None => Box::pin(pending()),
        }
    }

    fn events(&self) -> Pending<Vec<EventId>> {
        answered(Ok(self.events.clone()))
    }

    fn subscribe(&self, _: Seq) -> Box<dyn Feed> {
        unreachable!("nothing is followed here")
    }

    fn committed(&self) -> Seq {
        Seq::default()
    }

    fn waiting(&self) -> Duration {
        Duration::ZERO
    }

    fn figures(&self) -> Figures {
        Figures::default()
    }
}

fn answered<T: Send + 'static>(value: Result<T, Failure>) -> Pending<T> {
    Box::pin(ready(value.map(|value| Answer { at: Time(1), as_of: None, value })))
}
