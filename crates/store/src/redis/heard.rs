//! Whether a master may have stood still since it answered last.
//!
//! Sentinels replace one that was silent to them for `down-after-milliseconds`. One that stands still is
//! silent to nodes as well, and does not know it when it goes on: the first answer after a silence may be
//! that of a master of before. An answer that follows another at once is not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The longest silence that means nothing: half the shortest `down-after-milliseconds` that
/// docs/operating.md allows.
const SILENCE: Duration = Duration::from_millis(500);

/// When a master was heard last, kept without a lock: all numbers are microseconds since `origin`.
#[derive(Debug)]
pub(super) struct Heard {
    origin: Instant,
    /// 0 if it never was.
    last: AtomicU64,
}

impl Default for Heard {
    fn default() -> Self {
        Self { origin: Instant::now(), last: AtomicU64::new(0) }
    }
}

impl Heard {
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Whether what is heard at this time comes after no silence.
    pub(super) fn goes_on(&self, at: u64) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        last > 0 && Duration::from_micros(at.saturating_sub(last)) <= SILENCE
    }

    /// When the master was heard last, 0 if it never was.
    pub(super) fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// Notes that the master was heard at this time.
    pub(super) fn note(&self, at: u64) {
        self.last.fetch_max(at.max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000;

    #[test]
    fn first_answer_after_a_silence_does_not_go_on_from_the_one_before() {
        let heard = Heard::default();
        assert!(!heard.goes_on(MS), "nothing was heard before");
        heard.note(MS);
        assert!(heard.goes_on(501 * MS));
        assert!(!heard.goes_on(501 * MS + 1));
        heard.note(501 * MS);
        assert!(heard.goes_on(1_001 * MS));
    }

    #[test]
    fn answer_that_is_noted_late_takes_nothing_back() {
        let heard = Heard::default();
        heard.note(700 * MS);
        heard.note(100 * MS);
        assert!(heard.goes_on(1_200 * MS));
        assert!(heard.goes_on(600 * MS), "it came before the last one");
    }
}
