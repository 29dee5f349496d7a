//! What is asked of the engine and not taken up yet.

use super::sync::{Condvar, Mutex, MutexGuard};
use crate::engine::{Answer, Failure};
use onrush_core::command::Traits;
use onrush_core::ids::EventId;
use onrush_core::{Command, Query, Reply, View};
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};

/// What an asker gets.
pub(super) type Result<T> = std::result::Result<Answer<T>, Failure>;

/// Where an answer goes, and the answer, once there is one. Without one the engine has stopped.
#[derive(Debug)]
pub(super) struct Slot<T> {
    pub(super) answer: Result<T>,
    to: oneshot::Sender<Result<T>>,
}

impl<T> Slot<T> {
    pub(super) fn new() -> (Self, oneshot::Receiver<Result<T>>) {
        let (to, answer) = oneshot::channel();
        (Self { answer: Err(Failure::Stopped), to }, answer)
    }
}

/// Something asked. It travels with its answer, so that what it is made of is freed by those who made it.
#[derive(Debug)]
pub(super) enum Ask {
    Command(EventId, Command, Slot<Reply>),
    Query(EventId, Query, Slot<View>),
    Events(Slot<Vec<EventId>>),
}

impl Ask {
    /// Gives the asker their answer. One who does not wait any more is no concern of ours.
    pub(super) fn deliver(self) {
        match self {
            Self::Command(_, _, Slot { answer, to }) => drop(to.send(answer)),
            Self::Query(_, _, Slot { answer, to }) => drop(to.send(answer)),
            Self::Events(Slot { answer, to }) => drop(to.send(answer)),
        }
    }

    /// What is so of it; nothing in particular of a question.
    fn traits(&self) -> Traits {
        match self {
            Self::Command(_, command, _) => command.traits(),
            Self::Query(..) | Self::Events(_) => Traits::default(),
        }
    }
}

/// Why something was not let in.
pub(super) enum NotTaken {
    /// Too much is waiting, or it waits for too long.
    Full,
    Closed,
}

/// Empty vectors kept for later at most.
const MAX_SPARE: usize = 8;

/// What woke the engine thread.
#[derive(PartialEq, Eq)]
pub(super) enum Woken {
    /// There is something to do, or a deadline may be due.
    Work,
    /// Nothing more will come, and everything was taken.
    Closed,
}

#[derive(Debug, Default)]
struct State {
    asks: Vec<Ask>,
    /// When the first of `asks` came.
    since: Option<Instant>,
    /// What was taken up and is not answered yet, in order: when its first ask came, and how many there are.
    unanswered: VecDeque<(Instant, usize)>,
    /// Empty ones with space in them, to be filled next.
    spare: Vec<Vec<Ask>>,
    closed: bool,
    /// The engine thread waits: whoever brings something wakes it.
    sleeping: bool,
    nudged: bool,
}

impl State {
    /// How long the oldest ask without an answer has been waiting; zero if there is none.
    fn waiting(&self) -> Duration {
        let taken = self.unanswered.front().map(|(since, _)| *since);
        taken.or(self.since).map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Notes that as many asks, the oldest ones, have their answers.
    fn answered(&mut self, mut count: usize) {
        while let Some((_, left)) = self.unanswered.front_mut() {
            if *left > count {
                *left -= count;
                return;
            }
            count -= *left;
            self.unanswered.pop_front();
        }
    }
}

/// One queue for all askers, so that what one of them asks in turn is done in turn.
///
/// Its bounds hold only for what may be refused. The engine takes all of it at once.
#[derive(Debug)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    wake: Condvar,
    /// Rings beside `wake`, for those who wait without a thread of their own.
    bell: Notify,
    capacity: usize,
    longest_wait: Duration,
}

impl Mailbox {
    pub(super) fn new(capacity: usize, longest_wait: Duration) -> Self {
        Self {
            state: Mutex::default(),
            wake: Condvar::new(),
            bell: Notify::new(),
            capacity,
            longest_wait,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, ask: Ask) -> std::result::Result<(), NotTaken> {
        let traits = ask.traits();
        let mut state = self.lock();
        if state.closed {
            return Err(NotTaken::Closed);
        }
        if state.asks.len() >= self.capacity && !traits.always_let_in {
            return Err(NotTaken::Full);
        }
        // What waits already is let down by nobody; whoever would wait behind it is better told at once.
        if traits.begins_business && state.waiting() > self.longest_wait {
            return Err(NotTaken::Full);
        }
        if state.asks.is_empty() {
            state.since = Some(Instant::now());
        }
        state.asks.push(ask);
        let sleeping = std::mem::take(&mut state.sleeping);
        drop(state);
        if sleeping {
            self.ring();
        }
        Ok(())
    }

    fn ring(&self) {
        self.wake.notify_one();
        self.bell.notify_one();
    }

    /// Waits until there is something to take, or the clock was moved.
    pub(super) async fn asked(&self) {
        loop {
            {
                let mut state = self.lock();
                if !state.asks.is_empty() || state.closed || state.nudged {
                    return;
                }
                state.sleeping = true;
            }
            self.bell.notified().await;
        }
    }

    /// Lets nothing more in.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.ring();
    }

    /// Drops what is left: its askers learn that the engine has stopped.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.unanswered.clear();
        state.since = None;
        let asks = std::mem::take(&mut state.asks);
        drop(state);
        self.ring();
        drop(asks);
    }

    /// Makes the engine thread look at the clock.
    pub(super) fn nudge(&self) {
        self.lock().nudged = true;
        self.ring();
    }

    /// Whether nobody waits for an answer, and more may come.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.asks.is_empty() && state.unanswered.is_empty() && !state.closed
    }

    /// How long the oldest ask without an answer has been waiting; zero if there is none.
    pub(super) fn waiting(&self) -> Duration {
        self.lock().waiting()
    }

    /// Notes that as many asks, the oldest ones, are given their answers now.
    pub(super) fn answered(&self, count: usize) {
        self.lock().answered(count);
    }

    /// Takes back the space that asks were in.
    pub(super) fn recycle(&self, empty: Vec<Ask>) {
        assert!(empty.is_empty(), "what was taken was dealt with");
        let mut state = self.lock();
        if state.spare.len() < MAX_SPARE {
            state.spare.push(empty);
        }
    }

    /// Takes everything; waits for something up to `patience`, or without end.
    pub(super) fn take(&self, patience: Option<Duration>) -> (Vec<Ask>, Woken) {
        let mut state = self.lock();
        if state.asks.is_empty()
            && !state.closed
            && !state.nudged
            && patience != Some(Duration::ZERO)
        {
            state.sleeping = true;
            let nothing =
                |state: &mut State| state.asks.is_empty() && !state.closed && !state.nudged;
            state = match patience {
                Some(patience) => self
                    .wake
                    .wait_timeout_while(state, patience, nothing)
                    .map(|(state, _)| state)
                    .unwrap_or_else(|poisoned| poisoned.into_inner().0),
                None => {
                    self.wake.wait_while(state, nothing).unwrap_or_else(PoisonError::into_inner)
                }
            };
            state.sleeping = false;
        }
        state.nudged = false;
        if state.asks.is_empty() {
            let woken = if state.closed { Woken::Closed } else { Woken::Work };
            return (Vec::new(), woken);
        }
        let empty = state.spare.pop().unwrap_or_default();
        if let Some(since) = state.since.take() {
            let count = state.asks.len();
            state.unanswered.push_back((since, count));
        }
        (std::mem::replace(&mut state.asks, empty), Woken::Work)
    }
}
