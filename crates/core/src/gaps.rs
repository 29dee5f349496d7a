//! When the engine was away, and for how long: what counts from a hold's beginning leaves that out.

use crate::time::Time;
use serde::{Deserialize, Serialize};

/// So many are known, the latest. A hold that has seen more of them ends that much earlier.
const KNOWN: usize = 32;

/// The times from which an event went on, each with how long nothing was decided, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gaps(Vec<(Time, i64)>);

impl Gaps {
    /// Gaps in the order of their times, of which the latest are kept.
    #[must_use]
    pub fn restore(mut gaps: Vec<(Time, i64)>) -> Self {
        gaps.drain(..gaps.len().saturating_sub(KNOWN));
        Self(gaps)
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of them are among others, as far as those go back. Some may lack: an older version
    /// noted none.
    pub(crate) fn are_among(&self, others: &Self) -> bool {
        let begin = others.0.first().map_or(Time::MIN, |(at, _)| *at);
        self.0.iter().all(|gap| gap.0 < begin || others.0.contains(gap))
    }

    /// Those that are known, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Time, i64)> + '_ {
        self.0.iter().copied()
    }

    /// The engine went on at a time, after a gap.
    pub(crate) fn note(&mut self, at: Time, gap_ms: i64) {
        if self.0.len() == KNOWN {
            self.0.remove(0);
        }
        self.0.push((at, gap_ms));
    }

    /// By how many milliseconds the deadlines of what began then were moved on since.
    pub(crate) fn since_ms(&self, begun: Time) -> i64 {
        let later = self.0.iter().filter(|(at, _)| *at > begun);
        later.fold(0_i64, |sum_ms, (_, gap_ms)| sum_ms.saturating_add(*gap_ms))
    }
}
