//! Points at which a test may kill the engine or let the disk fail, and answers that get lost.

use crate::engine::{Failure, Pending};
use onrush_core::{Command, Query};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A point in the life of a batch, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KillPoint {
    /// Nothing of the batch is written.
    BeforeInsert,
    /// All rows are inserted, and the transaction is open.
    BeforeCommit,
    /// The batch is durable, and nobody knows.
    AfterCommit,
    /// The answers are on their way.
    AfterAnswers,
}

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing.
    GoOn,
    /// The engine ends there and then, as if the process were killed.
    Die,
    /// The disk fails.
    Fail,
}

/// Decides what happens, given the point and the number of the batch, from 1.
#[derive(Clone, Default)]
pub struct Faults(Option<Arc<dyn Fn(KillPoint, u64) -> Fate + Send + Sync>>);

impl Faults {
    /// Faults as `decide` says. It runs on the journal thread, so the files stand still meanwhile.
    pub fn new(decide: impl Fn(KillPoint, u64) -> Fate + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(decide)))
    }

    pub(super) fn at(&self, point: KillPoint, batch: u64) -> Fate {
        self.0.as_ref().map_or(Fate::GoOn, |decide| decide(point, batch))
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Faults" } else { "no faults" })
    }
}

/// What the engine was asked.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// To do something.
    Command(&'a Command),
    /// How something is.
    Query(&'a Query),
}

type Loses = dyn Fn(Asked<'_>) -> Option<Failure> + Send;

/// Decides which answers get lost: what was asked is done, and its asker is told of a failure.
#[derive(Clone, Default)]
pub struct LostAnswers(Arc<Mutex<Option<Box<Loses>>>>);

impl LostAnswers {
    /// Has answers get lost as `decide` says, from now on.
    pub fn lose(&self, decide: impl Fn(Asked<'_>) -> Option<Failure> + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(decide));
    }

    /// Has no more answers get lost.
    pub fn lose_none(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What is told instead of the answer.
    pub(super) fn instead(&self, asked: Asked<'_>) -> Option<Failure> {
        let decide = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        decide.as_ref().and_then(|decide| decide(asked))
    }
}

impl fmt::Debug for LostAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LostAnswers")
    }
}

/// The same answer, if it says no; else this failure.
pub(super) fn lost<T: 'static>(answer: Pending<T>, instead: Failure) -> Pending<T> {
    Box::pin(async move { answer.await.and(Err(instead)) })
}
