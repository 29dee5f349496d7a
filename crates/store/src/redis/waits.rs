//! A look at how long commands take on Redis just now.
//!
//! Nobody sees the queues inside a server that others share. What can be seen from here is how long
//! the last command took, and whether any was answered of late although some are under way.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A command that took long says nothing about now after so long.
const RECENT: Duration = Duration::from_secs(1);
/// How much a single command counts against those before it: one slow answer is no overload.
const WEIGHT: u64 = 8;

/// How long commands take, kept without a lock: all numbers are microseconds since `origin`, or of
/// a duration.
#[derive(Debug)]
pub(super) struct Waits {
    origin: Instant,
    under_way: AtomicU64,
    /// When something began while nothing was under way, or was answered.
    progress: AtomicU64,
    /// When the last command was answered, and how long the last ones took, smoothed.
    answered: AtomicU64,
    took: AtomicU64,
}

/// A command under way.
pub(super) struct UnderWay<'a> {
    waits: &'a Waits,
    since: u64,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            origin: Instant::now(),
            under_way: AtomicU64::new(0),
            progress: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            took: AtomicU64::new(0),
        }
    }
}

impl Waits {
    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Notes a command from now until what this returns is dropped.
    pub(super) fn begin(&self) -> UnderWay<'_> {
        let since = self.now();
        if self.under_way.fetch_add(1, Ordering::Relaxed) == 0 {
            self.progress.store(since, Ordering::Relaxed);
        }
        UnderWay { waits: self, since }
    }

    /// How long commands take just now; zero if none was asked of late.
    pub(super) fn waiting(&self) -> Duration {
        self.waiting_at(self.now())
    }

    fn waiting_at(&self, now: u64) -> Duration {
        let since = |then: &AtomicU64| {
            Duration::from_micros(now.saturating_sub(then.load(Ordering::Relaxed)))
        };
        let recent = since(&self.answered) <= RECENT;
        let took = if recent { self.took.load(Ordering::Relaxed) } else { 0 };
        let stalled = if self.under_way.load(Ordering::Relaxed) > 0 {
            since(&self.progress)
        } else {
            Duration::ZERO
        };
        Duration::from_micros(took).max(stalled)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let now = self.waits.now();
        let (took, before) =
            (now.saturating_sub(self.since), self.waits.took.load(Ordering::Relaxed));
        // Two at a time may count as one; nothing hangs on it.
        let smoothed = (before * (WEIGHT - 1) + took) / WEIGHT;
        self.waits.took.store(smoothed, Ordering::Relaxed);
        self.waits.answered.store(now, Ordering::Relaxed);
        self.waits.progress.store(now, Ordering::Relaxed);
        self.waits.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn command_without_an_answer_waits_from_its_beginning_on() {
        let waits = Waits::default();
        let under_way = waits.begin();
        let begun = under_way.since;
        assert_eq!(waits.waiting_at(begun + 3 * SECOND), Duration::from_secs(3));
        drop(under_way);
        assert_eq!(waits.waiting_at(waits.now() + 3 * SECOND), Duration::ZERO);
    }

    #[test]
    fn one_slow_answer_is_no_overload() {
        let begun = Instant::now().checked_sub(Duration::from_millis(800)).expect("a time");
        let waits = Waits { origin: begun, ..Waits::default() };
        waits.under_way.store(1, Ordering::Relaxed);
        drop(UnderWay { waits: &waits, since: 0 });
        let took = Duration::from_micros(waits.took.load(Ordering::Relaxed));
        let whole = begun.elapsed();
        assert!(took >= Duration::from_millis(100) && took <= whole / 8, "{took:?} of {whole:?}");
    }

    #[test]
    fn answer_of_long_ago_says_nothing_about_now() {
        let waits = Waits::default();
        drop(waits.begin());
        waits.took.store(SECOND / 2, Ordering::Relaxed);
        let answered = waits.answered.load(Ordering::Relaxed);
        assert_eq!(waits.waiting_at(answered), Duration::from_millis(500));
        assert_eq!(waits.waiting_at(answered + 2 * SECOND), Duration::ZERO);
    }
}
