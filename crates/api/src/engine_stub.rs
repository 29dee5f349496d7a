//! Engines for tests: one that only answers questions, as a test says, and counts signs of life; one
//! that others are quicker to use.

use onrush_core::ids::EventId;
use onrush_core::{Command, Query, Reply, Time, View};
use onrush_store::{
    Answer, AsOf, Engine, Failure, Feed, FeedPage, Figures, Hindrance, Pending, Seq,
};
use std::collections::VecDeque;
use std::future::{Future, pending, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What it answers; `None` is no answer at all.
type Told = Option<Result<View, Failure>>;

/// The next page of a feed.
type NextPage<'a> = Pin<Box<dyn Future<Output = Result<Option<FeedPage>, String>> + Send + 'a>>;

/// An engine with these events, which is asked and never changed otherwise.
pub(crate) struct EngineStub<F> {
    pub(crate) events: Vec<EventId>,
    /// Whether it can be reached; `None` is no answer at all.
    pub(crate) reach: Option<Result<(), Failure>>,
    /// What keeps it from changing anything.
    pub(crate) hindrance: Option<Hindrance>,
    /// Whether its servers have no memory left.
    pub(crate) is_full: bool,
    /// What is told of an event when this is asked.
    pub(crate) told: F,
    /// What its feed has; after that nothing comes.
    pub(crate) feed: FeedPage,
    /// The last decision, also if its feed does not have it.
    pub(crate) committed: AtomicU64,
    /// How far every event has come, if it tells.
    pub(crate) as_of: Option<AsOf>,
    /// How many signs of life it was given.
    pub(crate) signs: AtomicU32,
}

impl<F: Fn(&EventId, &Query) -> Told> EngineStub<F> {
    /// One that can be reached, without events in its list.
    pub(crate) fn telling(told: F) -> Self {
        Self {
            events: Vec::new(),
            reach: Some(Ok(())),
            hindrance: None,
            is_full: false,
            told,
            feed: FeedPage::new(),
            committed: AtomicU64::default(),
            as_of: None,
            signs: AtomicU32::default(),
        }
    }
}

impl<F: Fn(&EventId, &Query) -> Told + Send + Sync + 'static> Engine for EngineStub<F> {
    fn execute(&self, _: EventId, command: Command) -> Pending<Reply> {
        assert!(matches!(command, Command::See { .. }), "nothing is changed here: {command:?}");
        self.signs.fetch_add(1, Ordering::Relaxed);
        answered(Ok(Reply::Done))
    }

    fn query(&self, event: EventId, query: Query) -> Pending<View> {
        match (self.told)(&event, &query) {
            Some(told) => {
                let (at, as_of) = (Time(1), self.as_of);
                Box::pin(ready(told.map(|value| Answer { at, as_of, value })))
            }
            None => Box::pin(pending()),
        }
    }

    fn events(&self) -> Pending<Vec<EventId>> {
        answered(Ok(self.events.clone()))
    }

    fn reach(&self) -> Pending<()> {
        match self.reach.clone() {
            Some(told) => answered(told),
            None => Box::pin(pending()),
        }
    }

    fn hindrance(&self) -> Option<Hindrance> {
        self.hindrance
    }

    fn is_full(&self) -> bool {
        self.is_full
    }

    fn subscribe(&self, after: Seq) -> Box<dyn Feed> {
        let left = self.feed.iter().filter(|entry| entry.seq > after).cloned();
        Box::new(Remaining(left.collect()))
    }

    fn committed(&self) -> Seq {
        Seq(self.committed.load(Ordering::Relaxed))
    }

    fn settled(&self, _: EventId) -> Pending<Seq> {
        answered(Ok(Seq::default()))
    }

    fn waiting(&self) -> Duration {
        Duration::ZERO
    }

    fn figures(&self) -> Figures {
        Figures::default()
    }
}

/// A feed in which nothing happens after this page.
struct Remaining(FeedPage);

impl Feed for Remaining {
    fn next(&mut self) -> NextPage<'_> {
        if self.0.is_empty() {
            return Box::pin(pending());
        }
        Box::pin(ready(Ok(Some(std::mem::take(&mut self.0)))))
    }

    fn next_if_any(&mut self) -> NextPage<'_> {
        if self.0.is_empty() {
            return Box::pin(ready(Ok(None)));
        }
        self.next()
    }
}

fn answered<T: Send + 'static>(value: Result<T, Failure>) -> Pending<T> {
    Box::pin(ready(value.map(|value| Answer { at: Time(1), as_of: None, value })))
}

/// What others do meanwhile.
pub(crate) type Meanwhile = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An engine that others are quicker to use: each time that it is asked, they do something, or nothing,
/// before it does what a command says, or between its answer to a question and whoever asked.
pub(crate) struct Overtaken {
    engine: Arc<dyn Engine>,
    others: Mutex<VecDeque<Option<Meanwhile>>>,
}

impl Overtaken {
    /// One beside which others do these in turn, and nothing after that.
    pub(crate) fn new(
        engine: Arc<dyn Engine>,
        others: impl IntoIterator<Item = Option<Meanwhile>>,
    ) -> Self {
        Self { engine, others: Mutex::new(others.into_iter().collect()) }
    }

    fn others(&self) -> Meanwhile {
        let next = self.others.lock().expect("nobody panicked").pop_front();
        next.flatten().unwrap_or_else(|| Box::pin(ready(())))
    }
}

impl Engine for Overtaken {
    fn execute(&self, event: EventId, command: Command) -> Pending<Reply> {
        let (engine, others) = (self.engine.clone(), self.others());
        Box::pin(async move {
            others.await;
            engine.execute(event, command).await
        })
    }

    fn query(&self, event: EventId, query: Query) -> Pending<View> {
        let (asked, others) = (self.engine.query(event, query), self.others());
        Box::pin(async move {
            let answer = asked.await;
            others.await;
            answer
        })
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
