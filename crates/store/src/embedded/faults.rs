//! Points at which a test may kill the engine or let the disk fail.

use std::fmt;
use std::sync::Arc;

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
