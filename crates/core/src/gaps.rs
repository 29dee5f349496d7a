//! When the engine was away, and for how long: what counts from a hold's beginning leaves that out.

use crate::time::Time;
use serde::{Deserialize, Serialize};

/// So many are known one by one, the latest; all before are added to the first of these. So a crash
/// loop takes no time from a hold. One that began between those before may last longer than it should.
const KNOWN: usize = 32;

/// The times from which an event went on, each with how long nothing was decided, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gaps(Vec<(Time, i64)>);

impl Gaps {
    /// Gaps in the order of their times.
    #[must_use]
    pub fn restore(gaps: Vec<(Time, i64)>) -> Self {
        let mut restored = Self::default();
        gaps.into_iter().for_each(|(at, gap_ms)| restored.note(at, gap_ms));
        restored
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of them are among others, as far as those go back. Some may lack, also in the sum
    /// that the first of many is: an older version noted none, or dropped what came before.
    pub(crate) fn are_among(&self, others: &Self) -> bool {
        let begin = others.0.first().map_or(Time::MIN, |(at, _)| *at);
        let is_sum = |at: Time| at == begin && others.0.len() == KNOWN;
        self.0.iter().all(|gap| gap.0 < begin || is_sum(gap.0) || others.0.contains(gap))
    }

    /// Those that are known, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Time, i64)> + '_ {
        self.0.iter().copied()
    }

    /// The engine went on at a time, after a gap.
    pub(crate) fn note(&mut self, at: Time, gap_ms: i64) {
        self.0.push((at, gap_ms));
        if self.0.len() > KNOWN {
            let (_, before_ms) = self.0.remove(0);
            self.0[0].1 = self.0[0].1.saturating_add(before_ms);
        }
    }

    /// By how many milliseconds the deadlines of what began then were moved on since.
    pub(crate) fn since_ms(&self, begun: Time) -> i64 {
        let later = self.0.iter().filter(|(at, _)| *at > begun);
        later.fold(0_i64, |sum_ms, (_, gap_ms)| sum_ms.saturating_add(*gap_ms))
    }
}
