//! How long things take, counted without a lock: for instruments, on paths where each nanosecond counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Where one bucket ends and the next begins, in microseconds: from what memory takes to what nobody
/// waits for.
pub const BOUNDS_US: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// One for each bound, and one for what takes longer than all of them.
const BUCKETS: usize = BOUNDS_US.len() + 1;

/// How long one thing took, each time that it was done.
#[derive(Debug, Default)]
pub struct Durations {
    buckets: [AtomicU64; BUCKETS],
    sum_us: AtomicU64,
}

/// What was counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// How often it took up to each of [`BOUNDS_US`] and longer than the one before; what took
    /// longest comes last.
    pub buckets: [u64; BUCKETS],
    /// How long it took altogether.
    pub sum: Duration,
}

impl Durations {
    /// Counts one more: two additions, whoever else counts at the same time.
    pub fn note(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.partition_point(|bound| *bound < us);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(us, Ordering::Relaxed);
    }

    /// What was counted so far. While others count, the sum may be ahead of the buckets by as many.
    #[must_use]
    pub fn counted(&self) -> Counted {
        Counted {
            buckets: std::array::from_fn(|nth| self.buckets[nth].load(Ordering::Relaxed)),
            sum: Duration::from_micros(self.sum_us.load(Ordering::Relaxed)),
        }
    }
}

impl Counted {
    /// How often it was done.
    #[must_use]
    pub fn times(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_as_long_as_a_bound_is_within_it_and_what_takes_longer_is_not() {
        let durations = Durations::default();
        for us in [0, 100, 101, 10_000_000, 10_000_001] {
            durations.note(Duration::from_micros(us));
        }
        let counted = durations.counted();
        assert_eq!(counted.buckets[..3], [2, 1, 0]);
        assert_eq!(counted.buckets[15..], [1, 1]);
        assert_eq!(counted.times(), 5);
        assert_eq!(counted.sum, Duration::from_micros(20_000_202));
    }
}
