//! How fast lines move: what a visitor's wait is estimated by.
//!
//! Each node counts, as it follows the feed, the places that leave each line in buckets of ten
//! seconds. It knows nothing of what was before it started, and nothing here is state that anyone
//! relies on.

use onrush_core::change::{QueueChange, SaleChange};
use onrush_core::ids::EventId;
use onrush_core::{Change, Time};
use onrush_store::FeedEntry;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The length of a bucket.
const BUCKET_MS: i64 = 10_000;
/// Buckets that are kept: five minutes.
const BUCKETS: usize = 30;
/// Buckets of the shorter look back: a minute.
const SHORT: i64 = 6;
/// A line must have been seen for so long before anything is said of it.
const MIN_SEEN_MS: i64 = 30_000;
/// Fewer places than this tell too little.
const MIN_PLACES: u32 = 5;
/// Lines that are kept; beyond, those are forgotten that did not move for five minutes.
const MAX_LINES: usize = 1_024;

/// How many places a line moves on in a minute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerMin {
    /// At least, most likely.
    pub from: f64,
    /// At most, most likely.
    pub to: f64,
}

/// The pace of all lines.
#[derive(Default)]
pub struct Paces {
    lines: Mutex<HashMap<EventId, Line>>,
}

impl Paces {
    /// Counts what a decision changed.
    pub fn note(&self, entry: &FeedEntry) {
        for change in &entry.changes {
            let Some(step) = step(change) else { continue };
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.len() >= MAX_LINES && !lines.contains_key(&entry.event) {
                lines.retain(|_, line| !line.is_old(entry.at));
            }
            let line = lines.entry(entry.event.clone()).or_insert_with(|| Line::new(entry.at));
            match step {
                Step::Started => *line = Line::new(entry.at),
                Step::Served => line.bucket(entry.at).served += 1,
                Step::Left => line.bucket(entry.at).left += 1,
            }
        }
    }

    /// The pace of an event's line at this time; `None` while too little is known.
    #[must_use]
    pub fn per_min(&self, event: &EventId, at: Time) -> Option<PerMin> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.get(event)?.per_min(at)
    }
}

/// What a change means for a line.
enum Step {
    /// It begins to move, or does so again: what was before says nothing about it.
    Started,
    /// Its first was admitted.
    Served,
    /// A place was given up, or lapsed.
    Left,
}

fn step(change: &Change) -> Option<Step> {
    match change {
        Change::Sale(change) => match change {
            SaleChange::SaleOpened { .. }
            | SaleChange::SaleResumed
            | SaleChange::Resumed { .. } => Some(Step::Started),
            SaleChange::PrequeueOpened
            | SaleChange::SalePaused
            | SaleChange::SaleClosed
            | SaleChange::EventArchived { .. } => None,
        },
        Change::Queue(change) => match change {
            QueueChange::Admitted { .. } => Some(Step::Served),
            QueueChange::PlaceLeft { .. } => Some(Step::Left),
            QueueChange::PlaceTaken { .. }
            | QueueChange::PlaceSeen { .. }
            | QueueChange::PrequeueClosed { .. } => None,
        },
        Change::Setup(_)
        | Change::Visitor(_)
        | Change::Hold(_)
        | Change::Booking(_)
        | Change::Claim(_) => None,
    }
}

/// Places that left a line in ten seconds.
#[derive(Clone, Copy, Default)]
struct Bucket {
    served: u32,
    left: u32,
}

/// One event's line.
struct Line {
    /// Since when it is known how it moves.
    since: Time,
    /// The newest bucket, counted from 1970 on; its place in the ring is the remainder.
    newest: i64,
    buckets: [Bucket; BUCKETS],
}

impl Line {
    fn new(at: Time) -> Self {
        Self { since: at, newest: at.0.div_euclid(BUCKET_MS), buckets: Default::default() }
    }

    /// The bucket of this time. A time before the newest bucket counts as now: clocks of nodes
    /// differ a little.
    fn bucket(&mut self, at: Time) -> &mut Bucket {
        let number = at.0.div_euclid(BUCKET_MS).max(self.newest);
        if number - self.newest >= BUCKETS as i64 {
            self.buckets = Default::default();
        } else {
            for passed in self.newest + 1..=number {
                self.buckets[slot(passed)] = Bucket::default();
            }
        }
        self.newest = number;
        &mut self.buckets[slot(number)]
    }

    fn is_old(&self, at: Time) -> bool {
        at.0.div_euclid(BUCKET_MS) - self.newest >= BUCKETS as i64
    }

    /// What the line did in the last whole buckets, so many, and in the part of one that has passed since.
    fn look_back(&self, at: Time, buckets: i64) -> Seen {
        let now = at.0.div_euclid(BUCKET_MS).max(self.newest);
        let oldest = now - buckets;
        let mut seen = Seen { served: 0, left: 0, ms: 0 };
        // The ring has no bucket older than these.
        for number in oldest.max(self.newest - BUCKETS as i64 + 1)..=self.newest {
            let Bucket { served, left } = self.buckets[slot(number)];
            seen.served += served;
            seen.left += left;
        }
        seen.ms = at.0.saturating_sub(self.since.0.max(oldest * BUCKET_MS)).max(0);
        seen
    }

    /// The slower and the faster of what the last five minutes and the last one say.
    ///
    /// The last minute has a say where it had, or should have had, enough places to tell anything:
    /// a line that has just come to a halt is not promised the pace of before, and one that moves
    /// every half minute is not taken for halted.
    fn per_min(&self, at: Time) -> Option<PerMin> {
        // One bucket of the ring is the part that has just begun.
        let long = self.look_back(at, BUCKETS as i64 - 1);
        if long.ms < MIN_SEEN_MS || long.all() < MIN_PLACES {
            return None;
        }
        let mut pace = long.per_min();
        let short = self.look_back(at, SHORT);
        let expected = f64::from(long.all()) * short.ms as f64 / long.ms as f64;
        if short.all() >= MIN_PLACES || expected >= f64::from(MIN_PLACES) {
            let recent = short.per_min();
            pace = PerMin { from: pace.from.min(recent.from), to: pace.to.max(recent.to) };
        }
        (pace.from > 0.0).then_some(pace)
    }
}

fn slot(number: i64) -> usize {
    // The remainder is 0 to 29.
    number.rem_euclid(BUCKETS as i64) as usize
}

/// What a line did in a stretch of time.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    served: u32,
    left: u32,
    ms: i64,
}

impl Seen {
    fn all(&self) -> u32 {
        self.served + self.left
    }

    /// The range in which the pace is most likely to be.
    ///
    /// Who is served brings everybody behind them forward; who leaves does so only for those behind
    /// them, and nobody knows where that was. So the slow end counts who was served alone, and the
    /// fast end all. Both allow for chance by two standard deviations: the square root of a count
    /// that comes about by chance (Poisson's law) is off by one half, whatever the count, so that n
    /// seen are most likely (√n - 1)² to (√(n + 1) + 1)² meant.
    fn per_min(&self) -> PerMin {
        let minutes = self.ms as f64 / 60_000.0;
        let fewest = (f64::from(self.served).sqrt() - 1.0).max(0.0).powi(2);
        let most = (f64::from(self.all() + 1).sqrt() + 1.0).powi(2);
        PerMin { from: fewest / minutes, to: most / minutes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::change::LeftHow;
    use onrush_core::ids::PlaceId;
    use onrush_store::Seq;

    const START: i64 = 1_790_000_000_000;

    fn event() -> EventId {
        "e".parse().unwrap()
    }

    fn note(paces: &Paces, at_ms: i64, change: Change) {
        let (seq, event) = (Seq(1), event());
        paces.note(&FeedEntry { seq, at: Time(START + at_ms), event, changes: vec![change] });
    }

    fn serve(paces: &Paces, at_ms: i64) {
        let (place, user) = (PlaceId::from_u128(1), "ann".parse().unwrap());
        let until = Time(START);
        note(
            paces,
            at_ms,
            Change::Queue(QueueChange::Admitted { place, user, until, arrive_by: until }),
        );
    }

    fn leave(paces: &Paces, at_ms: i64) {
        let (place, user) = (PlaceId::from_u128(1), "ann".parse().unwrap());
        note(
            paces,
            at_ms,
            Change::Queue(QueueChange::PlaceLeft { place, user, how: LeftHow::Lapsed }),
        );
    }

    /// A line that serves one each so many milliseconds, within a stretch of time.
    fn steady(paces: &Paces, stretch_ms: std::ops::Range<i64>, every_ms: usize) {
        for at_ms in stretch_ms.step_by(every_ms) {
            serve(paces, at_ms);
        }
    }

    fn pace(paces: &Paces, at_ms: i64) -> Option<PerMin> {
        paces.per_min(&event(), Time(START + at_ms))
    }

    #[test]
    fn nothing_is_said_of_a_line_that_was_hardly_seen() {
        let paces = Paces::default();
        assert_eq!(pace(&paces, 0), None);
        steady(&paces, 0..29_000, 1_000);
        assert_eq!(pace(&paces, 29_999), None, "too short a time");
        assert!(pace(&paces, 30_000).is_some());
        let few = Paces::default();
        steady(&few, 0..40_000, 10_000);
        assert_eq!(pace(&few, 60_000), None, "too few");
    }

    #[test]
    fn a_steady_pace_is_in_the_range_and_more_time_narrows_it() {
        let mut width = f64::MAX;
        for seen_ms in [60_000, 120_000, 300_000, 3_600_000] {
            let paces = Paces::default();
            steady(&paces, 0..seen_ms, 500);
            let PerMin { from, to } = pace(&paces, seen_ms).unwrap();
            assert!(from < 120.0 && 120.0 < to, "{seen_ms}: {from} to {to}");
            assert!(to - from <= width, "{seen_ms}: {from} to {to}");
            width = to - from;
        }
        assert!(width < 60.0, "{width}");
    }

    #[test]
    fn who_leaves_makes_the_line_faster_at_best() {
        let served = Paces::default();
        steady(&served, 0..300_000, 1_000);
        let (before, both) = (pace(&served, 300_000).unwrap(), served);
        (0..300_000).step_by(1_000).for_each(|at_ms| leave(&both, at_ms));
        let after = pace(&both, 300_000).unwrap();
        assert!(after.from <= before.from && after.to > 120.0 && before.to < 120.0, "{after:?}");
        // Nobody is served: nobody can say how long it takes.
        let left = Paces::default();
        (0..300_000).step_by(1_000).for_each(|at_ms| leave(&left, at_ms));
        assert_eq!(pace(&left, 300_000), None);
    }

    #[test]
    fn a_line_that_slows_down_is_not_promised_the_pace_of_before() {
        let paces = Paces::default();
        steady(&paces, 0..240_000, 500);
        steady(&paces, 240_000..310_000, 6_000);
        let PerMin { from, to } = pace(&paces, 310_000).unwrap();
        assert!(from < 10.0 && to > 80.0, "{from} to {to}");
        // It stands still: how long it will is not known.
        let halted = Paces::default();
        steady(&halted, 0..240_000, 500);
        assert_eq!(pace(&halted, 310_000), None);
    }

    #[test]
    fn a_slow_line_is_not_taken_for_a_halted_one() {
        let paces = Paces::default();
        steady(&paces, 0..300_000, 30_000);
        let PerMin { from, to } = pace(&paces, 299_000).unwrap();
        assert!(from > 0.5 && from < 2.0 && to > 2.0, "{from} to {to}");
    }

    #[test]
    fn what_was_before_an_opening_or_five_minutes_ago_counts_no_more() {
        let paces = Paces::default();
        steady(&paces, 0..300_000, 100);
        note(&paces, 300_000, Change::Sale(SaleChange::SaleResumed));
        assert_eq!(pace(&paces, 360_000), None);
        steady(&paces, 300_000..360_000, 1_000);
        assert!(pace(&paces, 360_000).unwrap().to < 100.0);
        let old = Paces::default();
        steady(&old, 0..300_000, 100);
        assert_eq!(pace(&old, 600_000), None);
        steady(&old, 700_000..1_000_000, 1_000);
        assert!(pace(&old, 1_000_000).unwrap().to < 100.0);
    }

    #[test]
    fn lines_that_stopped_moving_are_forgotten_when_there_are_many() {
        let paces = Paces::default();
        let started = |event: usize, at_ms: i64| {
            let event = format!("e{event}").parse().unwrap();
            let changes = vec![Change::Sale(SaleChange::SaleResumed)];
            paces.note(&FeedEntry { seq: Seq(1), at: Time(START + at_ms), event, changes });
        };
        (0..MAX_LINES).for_each(|event| started(event, 0));
        started(MAX_LINES, 400_000);
        assert_eq!(paces.lines.lock().unwrap().len(), 1);
    }
}
